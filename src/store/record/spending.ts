/**
 * Duty: what the scripts answer of a session's spending: what its agents have used, and what they may, each "<model calls> <tokens>",
 * nothing where the session does not say.
 */
import { decodeSpending, defaultSpending, type Spending } from '../../core/policy.ts'
import type { SessionSpending } from '../../core/ports/ports.ts'

/** Of nearly all sessions: an agent that is alone counts in its own record. */
const silent: SessionSpending = { spent: null, allowed: defaultSpending }

export function decodeSpendings(spent?: string | null, caps?: string | null): SessionSpending {
  if (!spent && !caps) return silent
  return { spent: read(spent), allowed: read(caps) ?? defaultSpending }
}

/** Damage must not let a session spend without end: what is no number is never reached. The audit names it. */
function read(text: string | null | undefined): Spending | null {
  return text && /^\d+ \d+$/.test(text) ? decodeSpending(text) : null
}
