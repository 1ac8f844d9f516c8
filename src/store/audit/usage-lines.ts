/** Duty: read what model calls used and cost by hour, kind and model, as commits keep it. A line that another program wrote over is left out. */
import { msOfDay, msOfHour } from '../../core/hours.ts'
import { type PartitionKeys, usageKey } from '../keys.ts'
import { allFields } from '../redis/large-keys.ts'
import type { Redis } from '../redis/redis.ts'
import { orElse } from '../script/replies.ts'

/** What the calls of one model by workers of one kind used and cost in one hour. */
export interface UsageLine {
  /** When that hour began. */
  readonly at: number
  readonly kind: string
  readonly model: string
  readonly modelCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costMicroUsd: number
  readonly unpricedModelCalls: number
}

/** The lines of the hours that began at `since` or later. */
export async function usageLines(redis: Redis, keys: PartitionKeys, since: number, now: number): Promise<UsageLine[]> {
  const [first, last] = [since, now].map((time) => Math.floor(time / msOfDay)) as [number, number]
  const days = Array.from({ length: last - first + 1 }, (_, index) => first + index)
  const found = await Promise.all(days.map((day) => orElse(allFields(redis, usageKey(keys.tag, day)), {})))
  return found.flatMap((fields, index) => {
    const lines = Object.entries(fields).flatMap((line) => usageLine((days[index] as number) * msOfDay, line))
    return lines.filter(({ at }) => at >= since)
  })
}

function usageLine(dayAt: number, [name, text]: readonly [string, string]): UsageLine | [] {
  const [, hour, kind, model] = /^(\d{1,2}) (\S+) (.+)$/.exec(name) ?? []
  if (hour === undefined || kind === undefined || model === undefined || !/^\d+( \d+){4}$/.test(text)) return []
  const numbers = text.split(' ').map(Number)
  const [modelCalls = 0, inputTokens = 0, outputTokens = 0, costMicroUsd = 0, unpricedModelCalls = 0] = numbers
  const at = dayAt + Number(hour) * msOfHour
  return { at, kind, model, modelCalls, inputTokens, outputTokens, costMicroUsd, unpricedModelCalls }
}
