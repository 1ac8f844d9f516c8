/** Duty: an approval as parts of a line, as facts for people, and as an object of --json. */
import type { Approval } from '../../../client/person/approvals.ts'
import { formatDuration } from '../../../words/duration.ts'
import { valueLine } from '../../../words/lines/message-line.ts'
import { escapeLine, escapeText } from '../../../words/text/escape.ts'

/** `approvalId`, as `sessionId` and `workerId`, beside the fields of the approval. */
export function approvalObject({ id, ...others }: Approval): unknown {
  return { approvalId: id, ...others }
}

/** `pay {"cents":500}`, on one line. */
export function callText({ tool, arguments: args }: Approval): string {
  return escapeLine(`${tool} ${valueLine(args)}`)
}

/** The arguments, whole and readable: what runs is what is shown here. */
export function argumentLines({ arguments: args }: Approval): string[] {
  return escapeText(JSON.stringify(args, null, 2) ?? 'null').split('\n')
}

/** `clerk clerk-2` of the model that wrote the call. */
export function callerText({ workerKind, workerName }: Approval): string {
  if (workerKind === null) return 'a worker that is gone'
  return workerName === null || workerName.startsWith(workerKind)
    ? (workerName ?? workerKind)
    : `${workerKind} ${workerName}`
}

/** `open`, or `approved by ada 3m ago`. */
export function stateText({ state, endedAt, decided }: Approval): string {
  const word = decided === null ? state : decided.decision === 'approve' ? 'approved' : 'denied'
  const by = decided?.by == null ? '' : ` by ${decided.by}`
  return endedAt === null ? word : `${word}${by} ${formatDuration(Date.now() - endedAt)} ago`
}
