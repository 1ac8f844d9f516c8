/** Duty: read what model calls used and cost by day or hour, kind and model, as commits keep it. A line that another program wrote over is left out. */
import { type PartitionKeys, usageHourKey, usageKey } from '../keys.ts'
import type { Redis } from '../redis/redis.ts'
import { type RecordFields, repliesOf } from '../script/replies.ts'

/** What the calls of one model by workers of one kind used and cost in one day or hour. */
export interface UsageLine {
  /** When that began. */
  readonly at: number
  readonly kind: string
  readonly model: string
  readonly modelCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costMicroUsd: number
  readonly unpricedModelCalls: number
}

/** What the numbers are kept of, how long one lasts, and its key. */
export const usagePeriods = {
  day: { ms: 86_400_000, key: usageKey },
  hour: { ms: 3_600_000, key: usageHourKey },
} as const
export type UsagePeriod = keyof typeof usagePeriods

/** Of the last so many. */
export async function usageLines(
  redis: Redis,
  keys: PartitionKeys,
  period: UsagePeriod,
  count: number,
  now: number,
): Promise<UsageLine[]> {
  const { ms, key } = usagePeriods[period]
  const last = Math.floor(now / ms)
  const wanted = Array.from({ length: count }, (_, index) => last - count + 1 + index)
  const reading = redis.pipeline()
  for (const one of wanted) reading.hgetall(key(keys.tag, one))
  const found = (await repliesOf(reading)) as (RecordFields | Error)[]
  return found.flatMap((fields, index) =>
    fields instanceof Error
      ? []
      : Object.entries(fields).flatMap((line) => usageLine((wanted[index] as number) * ms, line)),
  )
}

function usageLine(at: number, [name, text]: readonly [string, string]): UsageLine | [] {
  const [, kind, model] = /^(\S+) (.+)$/.exec(name) ?? []
  if (kind === undefined || model === undefined || !/^\d+( \d+){4}$/.test(text)) return []
  const numbers = text.split(' ').map(Number)
  const [modelCalls = 0, inputTokens = 0, outputTokens = 0, costMicroUsd = 0, unpricedModelCalls = 0] = numbers
  return { at, kind, model, modelCalls, inputTokens, outputTokens, costMicroUsd, unpricedModelCalls }
}
