/** Duty: an ask as parts of a line, and as an object of --json. */
import type { Ask } from '../../../client/asks.ts'
import { formatDuration } from '../../view/duration.ts'

/** `askId`, as `sessionId` and `workerId`, beside the fields of the ask. */
export function askObject({ id, ...ask }: Ask): unknown {
  return { askId: id, ...ask }
}

/** Who waits for the answer: `approver`, or `approver approver-3`. */
export function waiter({ workerKind, workerName }: Ask): string {
  if (workerKind === null) return 'a worker that is gone'
  return workerName === null || workerName.startsWith(workerKind)
    ? (workerName ?? workerKind)
    : `${workerKind} ${workerName}`
}

/** `open`, or `answered by ada 3m ago`. */
export function endText({ state, endedAt, answer }: Ask): string {
  const by = answer?.by == null ? '' : ` by ${answer.by}`
  return endedAt === null ? state : `${state}${by} ${formatDuration(Date.now() - endedAt)} ago`
}
