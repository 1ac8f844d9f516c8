/** Duty: read what model calls used and cost by day, kind and model, as commits keep it. A line that another program wrote over is left out. */
import { type PartitionKeys, usageKey } from '../keys.ts'
import type { Redis } from '../redis/redis.ts'
import { type RecordFields, repliesOf } from '../script/replies.ts'

/** What the calls of one model by workers of one kind used and cost on one day. */
export interface UsageLine {
  /** Counted from 1970. */
  readonly day: number
  readonly kind: string
  readonly model: string
  readonly modelCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costMicroUsd: number
  readonly unpricedModelCalls: number
}

export async function usageLines(redis: Redis, keys: PartitionKeys, days: readonly number[]): Promise<UsageLine[]> {
  const reading = redis.pipeline()
  for (const day of days) reading.hgetall(usageKey(keys.tag, day))
  const found = (await repliesOf(reading)) as (RecordFields | Error)[]
  return found.flatMap((fields, index) =>
    fields instanceof Error ? [] : Object.entries(fields).flatMap((line) => usageLine(days[index] as number, line)),
  )
}

function usageLine(day: number, [name, text]: readonly [string, string]): UsageLine | [] {
  const [, kind, model] = /^(\S+) (.+)$/.exec(name) ?? []
  if (kind === undefined || model === undefined || !/^\d+( \d+){4}$/.test(text)) return []
  const numbers = text.split(' ').map(Number)
  const [modelCalls = 0, inputTokens = 0, outputTokens = 0, costMicroUsd = 0, unpricedModelCalls = 0] = numbers
  return { day, kind, model, modelCalls, inputTokens, outputTokens, costMicroUsd, unpricedModelCalls }
}
