/**
 * Duty: what model calls used and cost, by day or hour, kind and model. The numbers are kept as calls are recorded, so reading them costs a
 * command for each day and partition.
 * USAGE-1 Days and hours are those of UTC, by the clock of Redis. They are kept for 400 days, also when their sessions are pruned.
 */
import { type Rules, wholeNumberRule } from '../core/check/check-options.ts'
import { InputError } from '../core/errors.ts'
import { msOfDay, msOfHour } from '../core/hours.ts'
import type { InspectStore } from '../store/audit/inspect-store.ts'
import type { UsageLine } from '../store/audit/usage-lines.ts'
import { type OnAway, ofEach, onAwayRule } from './fleet/each-partition.ts'

export const usageParts = ['day', 'hour', 'kind', 'model'] as const
export type UsagePart = (typeof usageParts)[number]

export interface UsageQuery {
  /** What the rows are about. Default: day, kind and model; with `hours`: hour, kind and model. Not both day and hour. */
  readonly by?: readonly UsagePart[] | undefined
  /** How many days of UTC, today among them. Default 30, at most 400. Not with rows by hour. */
  readonly days?: number | undefined
  /** How many hours, this one among them. Default 24 with rows by hour, at most 744. */
  readonly hours?: number | undefined
  /** Called for each partition of a cluster that is away: the rows lack what was used there then. Default: the call throws. */
  readonly onAway?: OnAway | undefined
}

export interface UsageRow {
  /** `2026-11-27`, a day of UTC. Absent if the rows are not by day. */
  readonly day?: string
  /** The beginning of the hour: `2026-11-27T14:00Z`. Absent if the rows are not by hour. */
  readonly hour?: string
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
  hours: wholeNumberRule(1, 744),
  onAway: onAwayRule,
}

const defaultParts = (hours: number | undefined): readonly UsagePart[] =>
  hours === undefined ? ['day', 'kind', 'model'] : ['hour', 'kind', 'model']

export async function readUsage(
  stores: readonly InspectStore[],
  { days, hours, by = defaultParts(hours), onAway }: UsageQuery,
): Promise<UsageRow[]> {
  const isByHour = by.includes('hour') || hours !== undefined
  if (isByHour && (days !== undefined || by.includes('day')))
    throw new InputError('usage is by days or by hours: leave out days and "day", or hours and "hour".')
  const [ms, count] = isByHour ? [msOfHour, hours ?? 24] : [msOfDay, days ?? 30]
  const lines = (await ofEach(stores, (store) => store.usage(ms, count), onAway)).flat()
  const rows = [...Map.groupBy(lines, (line) => JSON.stringify(partsOf(line, by)))].map(([, group]) => rowOf(group, by))
  return rows.sort((a, b) => momentOf(a).localeCompare(momentOf(b)) || b.costMicroUsd - a.costMicroUsd)
}

const momentOf = ({ day, hour }: UsageRow) => day ?? hour ?? ''

function partsOf({ at, kind, model }: UsageLine, by: readonly UsagePart[]): Partial<Record<UsagePart, string>> {
  const moment = new Date(at).toISOString()
  const parts = { day: moment.slice(0, 10), hour: `${moment.slice(0, 16)}Z`, kind, model }
  return Object.fromEntries(usageParts.filter((part) => by.includes(part)).map((part) => [part, parts[part]]))
}

function rowOf(lines: readonly UsageLine[], by: readonly UsagePart[]): UsageRow {
  const sum = (of: (line: UsageLine) => number) => lines.reduce((total, line) => total + of(line), 0)
  return {
    ...partsOf(lines[0] as UsageLine, by),
    modelCalls: sum((line) => line.modelCalls),
    inputTokens: sum((line) => line.inputTokens),
    outputTokens: sum((line) => line.outputTokens),
    costMicroUsd: sum((line) => line.costMicroUsd),
    unpricedModelCalls: sum((line) => line.unpricedModelCalls),
  }
}
