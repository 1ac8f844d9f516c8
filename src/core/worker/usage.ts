/** Duty: what agents used, and its sums: the numbers of one model call, of one agent, and of all agents of a session. */
import type { Spending } from '../policy.ts'

export interface UsageReport {
  readonly modelCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
}

/** What was not counted is 0. */
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

/** Tokens of a call, or of several, that count towards the limits of a session: those that a provider counts among them stay in them. */
export function tokensOf({ inputTokens, outputTokens }: Pick<UsageReport, 'inputTokens' | 'outputTokens'>): number {
  return inputTokens + outputTokens
}

export function addSpending(total: Spending, more: Spending): Spending {
  return { modelCalls: total.modelCalls + more.modelCalls, tokens: total.tokens + more.tokens }
}

/** These numbers of something that has more. */
export function usageOf(used: UsageReport): UsageReport {
  return addUsage(noUsage, used)
}

export function addUsage(total: UsageReport, more: SomeUsage): UsageReport {
  return Object.fromEntries(names.map((name) => [name, total[name] + (more[name] ?? 0)])) as unknown as UsageReport
}

/** Of all of them together; what has used nothing may say nothing. */
export function sumOfUsage(parts: Iterable<SomeUsage>): UsageReport {
  let total = noUsage
  for (const part of parts) total = addUsage(total, part)
  return total
}
