/** Duty: what troupe promises of a session that has ended, read back from Redis: one line for each promise that is broken. */
import type { Troupe } from '../client/client.ts'
import type { Report } from '../client/report.ts'

/** The session is the only one in its namespace. */
export async function brokenInvariants(client: Troupe, { session, workers }: Report): Promise<string[]> {
  const { findings } = await client.audit()
  const lines = findings.map(({ invariant, workerId, what }) => `${invariant}: ${workerId ?? session.id}: ${what}`)
  if (session.state === 'active' || session.state === 'cancelling')
    lines.push(`I16: session ${session.id} has its result and is ${session.state}`)
  for (const { id, kind, mailbox } of workers)
    if (mailbox.pending > 0) lines.push(`I1: ${mailbox.pending} messages wait for ever at worker ${id} (${kind})`)
  return lines
}
