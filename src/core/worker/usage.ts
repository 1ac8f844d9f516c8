/** Duty: the model calls and tokens of agents, and their sums: of one model call, of one agent, of all agents of a session. */
import type { Spending } from '../policy.ts'

export interface UsageReport {
  readonly modelCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
}

/** A number that a provider did not report counts as 0. */
type SomeUsage = { readonly [Name in keyof UsageReport]?: number | undefined }

export const noUsage: UsageReport = {
  modelCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
}

const names = Object.keys(noUsage) as readonly (keyof UsageReport)[]

/** The tokens that count towards the limits of a session. Tokens read from a cache are among the input tokens, so they are not added again. */
export function tokensOf({ inputTokens, outputTokens }: Pick<UsageReport, 'inputTokens' | 'outputTokens'>): number {
  return inputTokens + outputTokens
}

export function addSpending(total: Spending, more: Spending): Spending {
  return { modelCalls: total.modelCalls + more.modelCalls, tokens: total.tokens + more.tokens }
}

/** Only the numbers of usage, without the other properties of the object. */
export function usageOf(used: UsageReport): UsageReport {
  return addUsage(noUsage, used)
}

export function addUsage(total: UsageReport, more: SomeUsage): UsageReport {
  return Object.fromEntries(names.map((name) => [name, total[name] + (more[name] ?? 0)])) as unknown as UsageReport
}

/** The sum of all parts. A part without a model may be empty. */
export function sumOfUsage(parts: Iterable<SomeUsage>): UsageReport {
  let total = noUsage
  for (const part of parts) total = addUsage(total, part)
  return total
}
