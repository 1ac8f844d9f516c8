/** Duty: the model calls and tokens of agents, and their sums: of one model call, of one agent, of all agents of a session. */

import type { Spending } from '../../policy.ts'
import type { Cost } from './cost.ts'

export interface UsageReport {
  /** How many requests a model answered. */
  readonly modelCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  /** How many requests failed or were broken off. They count towards the limit of model calls too; those that a busy provider refused, or that never left, do not, and are not among them. Absent if there was none. */
  readonly failedModelCalls?: number | undefined
  /** How many tool calls there were, without those that were refused one by one. Absent if there was none. */
  readonly toolCalls?: number | undefined
  /** What its model calls cost, each at the price of its time, in millionths of a dollar. Absent before the first call. */
  readonly costMicroUsd?: number | undefined
  /** How many model calls are not in the cost, because nobody knows the price of their model. Absent if there was none. */
  readonly unpricedModelCalls?: number | undefined
}

/** A number that a provider did not report counts as 0. */
export type SomeUsage = { readonly [Name in keyof UsageReport]?: number | undefined }

export const noUsage: Omit<UsageReport, 'failedModelCalls' | 'toolCalls' | keyof Cost> = {
  modelCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
}

/** The tokens that count towards the limits of a session. Tokens read from a cache are among the input tokens, so they are not added again. */
export function tokensOf({ inputTokens, outputTokens }: Pick<UsageReport, 'inputTokens' | 'outputTokens'>): number {
  return inputTokens + outputTokens
}

export function addSpending(total: Spending, more: Spending): Spending {
  return {
    modelCalls: total.modelCalls + more.modelCalls,
    tokens: total.tokens + more.tokens,
    toolCalls: total.toolCalls + more.toolCalls,
  }
}

export function subtractSpending(total: Spending, less: Spending): Spending {
  return {
    modelCalls: total.modelCalls - less.modelCalls,
    tokens: total.tokens - less.tokens,
    toolCalls: total.toolCalls - less.toolCalls,
  }
}

/** More tokens than any model call has. Sums of such numbers stay exact, also over all calls that a session may make. */
const callTokensMax = 1_000_000_000

/** A number of tokens as a server writes it: a text, a fraction or nonsense. Nonsense is 0. */
export function countOf(value: unknown): number {
  const number = Math.trunc(Number(typeof value === 'string' || typeof value === 'number' ? value : 0))
  return number >= 0 && number <= callTokensMax ? number : 0
}

/** Usage as a provider reported it. A number that no call can have counts as not reported: it would use up the session, or never fit a sum. */
export function credibleUsage<Usage>(usage: Usage): Usage {
  if (typeof usage !== 'object' || usage === null) return usage
  const isCredible = (count: unknown) => typeof count !== 'number' || (count >= 0 && count <= callTokensMax)
  if (Object.values(usage).every(isCredible)) return usage
  return Object.fromEntries(
    Object.entries(usage).map(([name, count]) => [name, isCredible(count) ? count : 0]),
  ) as Usage
}

/** How many tokens one usage has more than another. */
export function tokensSince(usage: SomeUsage, before: SomeUsage): SomeUsage {
  const more = (name: keyof UsageReport) => (usage[name] ?? 0) - (before[name] ?? 0)
  return {
    inputTokens: more('inputTokens'),
    outputTokens: more('outputTokens'),
    cacheReadTokens: more('cacheReadTokens'),
    cacheWriteTokens: more('cacheWriteTokens'),
    reasoningTokens: more('reasoningTokens'),
  }
}

/** Only the numbers of usage, without the other properties of the object. */
export function usageOf(used: UsageReport): UsageReport {
  return addUsage(noUsage, used)
}

export function addUsage(total: UsageReport, more: SomeUsage): UsageReport {
  const sum = (name: keyof UsageReport) => (total[name] ?? 0) + (more[name] ?? 0)
  const [failedModelCalls, toolCalls] = [sum('failedModelCalls'), sum('toolCalls')]
  // Each model call makes several such sums: they are written out, because a loop over names took four times as long.
  return {
    modelCalls: sum('modelCalls'),
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    cacheReadTokens: sum('cacheReadTokens'),
    cacheWriteTokens: sum('cacheWriteTokens'),
    reasoningTokens: sum('reasoningTokens'),
    ...(failedModelCalls > 0 && { failedModelCalls }),
    ...(toolCalls > 0 && { toolCalls }),
  }
}

/** The sum of all parts. A part without a model may be empty. */
export function sumOfUsage(parts: Iterable<SomeUsage>): UsageReport {
  let total: UsageReport = noUsage
  for (const part of parts) total = addUsage(total, part)
  return total
}
