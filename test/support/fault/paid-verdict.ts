/**
 * What was paid for, as the provider knows it, is what an agent counts: each reply once, and each request that failed,
 * but none that a busy provider refused. A turn that its node lost takes
 * with it the one request that it had not recorded yet.
 */
import type { Entry } from '../../../src/core/history/entry.ts'
import type { UsageReport } from '../../../src/core/worker/run/usage.ts'

export interface PaidAgent {
  readonly id: string
  readonly usage: Partial<UsageReport>
  readonly entries: readonly Entry[]
  readonly requests: readonly PaidRequest[]
}

/** A request has as many input tokens as its number says, so that its reply is known by them. */
export interface PaidRequest {
  readonly seq: number
  /** The process that asked. */
  readonly pid: number
  /** The provider was too busy for it. It counts only if it was broken off before that answer came. */
  readonly isRefused?: boolean
}

export interface KnownPayments {
  /** The requests that were answered with a whole reply. */
  readonly served: ReadonlySet<number>
  /** How many turns of this agent a process lost: it died, or lost their leases. */
  readonly lostTurns: (pid: number) => number
}

export function paidFaults(
  { id, usage, entries, requests }: PaidAgent,
  { served, lostTurns }: KnownPayments,
): string[] {
  const faults: string[] = []
  const say = (what: string) => faults.push(`agent ${id}: ${what}`)
  const { modelCalls = 0, failedModelCalls = 0, inputTokens = 0 } = usage
  const recorded = entries.flatMap((entry) => (entry.type === 'assistant' ? (entry.usage?.inputTokens ?? 0) : []))
  const known = new Set(recorded)
  if (known.size < recorded.length) say('a reply is recorded twice')
  for (const seq of known) if (!served.has(seq)) say(`reply ${seq} is recorded, and was never served`)
  if (modelCalls !== recorded.length) say(`${recorded.length} replies are recorded, ${modelCalls} are counted`)
  const tokens = recorded.reduce((sum, count) => sum + count, 0)
  if (inputTokens !== tokens) say(`the replies have ${tokens} input tokens, ${inputTokens} are counted`)
  const brokenOff = entries.filter(breaksOff).length
  const dropped = requests.filter(({ seq, pid }) => served.has(seq) && !known.has(seq) && lostTurns(pid) === 0)
  if (dropped.length > brokenOff)
    say(`served and not recorded by nodes that live: ${dropped.map(({ seq }) => seq).join(', ')}`)
  const counted = modelCalls + failedModelCalls
  if (counted > requests.length) say(`it made ${requests.length} requests, and ${counted} are counted`)
  const turns = [...new Set(requests.map(({ pid }) => pid))].reduce((sum, pid) => sum + lostTurns(pid), 0)
  const lost = requests.filter(({ isRefused }) => !isRefused).length - counted
  if (lost > turns) say(`${lost} of its requests are not counted, and ${turns} of its turns were lost`)
  return faults
}

/** A cancel, or a time limit that passed before its node had read the reply: the request counts as failed. */
function breaksOff(entry: Entry): boolean {
  return entry.type === 'cancelled' || (entry.type === 'attemptFailed' && entry.failure.code === 'deadline_exceeded')
}
