/** Duty: check in Redis what troupe promises for a session that has ended. Returns one line for each broken promise. */
import type { Troupe } from '../../client/client.ts'
import type { Report } from '../../client/report.ts'

/** The session must be the only one in its namespace. */
export async function brokenInvariants(client: Troupe, { session, workers }: Report): Promise<string[]> {
  const { findings } = await client.audit()
  const lines = findings.map(({ invariant, workerId, what }) => `${invariant}: ${workerId ?? session.id}: ${what}`)
  if (session.state === 'active' || session.state === 'cancelling')
    lines.push(`I16: session ${session.id} has its result and is ${session.state}`)
  for (const { id, kind, mailbox } of workers)
    if (mailbox.pending > 0) lines.push(`I1: ${mailbox.pending} messages wait for ever at worker ${id} (${kind})`)
  return lines
}
