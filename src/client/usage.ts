/**
 * Duty: what model calls used and cost, by day, kind and model. The numbers are kept as calls are recorded, so reading them costs a command for each
 * day and partition.
 * USAGE-1 A day is one of UTC, by the clock of Redis. Days are kept for 400 days, also when their sessions are pruned.
 */
import { type Rules, wholeNumberRule } from '../core/check/check-options.ts'
import type { InspectStore } from '../store/audit/inspect-store.ts'
import type { UsageLine } from '../store/audit/usage-lines.ts'

export const usageParts = ['day', 'kind', 'model'] as const
export type UsagePart = (typeof usageParts)[number]

export interface UsageQuery {
  /** What the rows are of. Default: all three. */
  readonly by?: readonly UsagePart[] | undefined
  /** How many days, today among them. Default 30, at most 400. */
  readonly days?: number | undefined
}

export interface UsageRow {
  /** `2026-11-27`. Absent if the rows are not by day. */
  readonly day?: string
  readonly kind?: string
  readonly model?: string
  readonly modelCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** In millionths of a dollar, by the prices at the time of each call. */
  readonly costMicroUsd: number
  /** Calls that are not in the cost, because nobody knew the price of their model. */
  readonly unpricedModelCalls: number
}

export const usageRules: Rules<UsageQuery> = {
  by: {
    expects: `a list of ${usageParts.join(', ')}`,
    fits: (value) => Array.isArray(value) && value.every((part) => usageParts.includes(part as UsagePart)),
  },
  days: wholeNumberRule(1, 400),
}

const msOfDay = 86_400_000

export async function readUsage(
  stores: readonly InspectStore[],
  { by = usageParts, days = 30 }: UsageQuery,
): Promise<UsageRow[]> {
  const today = Math.floor((await (stores[0] as InspectStore).now()) / msOfDay)
  const wanted = Array.from({ length: days }, (_, index) => today - days + 1 + index)
  const lines = (await Promise.all(stores.map((store) => store.usage(wanted)))).flat()
  const groups = Map.groupBy(lines, (line) => usageParts.map((part) => (by.includes(part) ? line[part] : '')).join(' '))
  const rows = [...groups.values()].map((group) => rowOf(group, by))
  return rows.sort((a, b) => (a.day ?? '').localeCompare(b.day ?? '') || b.costMicroUsd - a.costMicroUsd)
}

function rowOf(lines: readonly UsageLine[], by: readonly UsagePart[]): UsageRow {
  const [{ day, kind, model }] = lines as readonly [UsageLine]
  const sum = (of: (line: UsageLine) => number) => lines.reduce((total, line) => total + of(line), 0)
  return {
    ...(by.includes('day') && { day: new Date(day * msOfDay).toISOString().slice(0, 10) }),
    ...(by.includes('kind') && { kind }),
    ...(by.includes('model') && { model }),
    modelCalls: sum((line) => line.modelCalls),
    inputTokens: sum((line) => line.inputTokens),
    outputTokens: sum((line) => line.outputTokens),
    costMicroUsd: sum((line) => line.costMicroUsd),
    unpricedModelCalls: sum((line) => line.unpricedModelCalls),
  }
}
