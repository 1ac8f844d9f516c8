/** Duty: read the spending of a session in the answers of scripts: used and allowed, each as "<model calls> <tokens>", or absent. */
import { decodeSpending, defaultSpending, type Spending } from '../../core/policy.ts'
import type { SessionSpending } from '../../core/ports/ports.ts'

/** Nearly all sessions have this: an agent that is alone keeps the count in its own record. */
const silent: SessionSpending = { spent: null, allowed: defaultSpending }

export function decodeSpendings(spent?: string | null, caps?: string | null): SessionSpending {
  if (!spent && !caps) return silent
  return { spent: read(spent), allowed: read(caps) ?? defaultSpending }
}

/** A damaged text is read as absent: as a limit it would be no number, and no session would ever reach it. The audit names it. */
function read(text: string | null | undefined): Spending | null {
  return text && /^\d+ \d+$/.test(text) ? decodeSpending(text) : null
}
