/** Duty: an ask as parts of a line, and as an object of --json. */

import { holdupOfAsk } from '../../../client/holdup.ts'
import type { Ask } from '../../../client/person/asks.ts'
import { formatDuration } from '../../../words/duration.ts'

/** `askId`, as `sessionId` and `workerId`, beside the fields of the ask; and what it holds up while it is open. */
export function askObject(ask: Ask): unknown {
  const { id, ...others } = ask
  return { askId: id, ...others, holdup: ask.state === 'open' ? holdupOfAsk(ask) : null }
}

/** `a person to answer "Ship it?"` */
export function awaitedText(ask: Ask): string {
  return holdupOfAsk(ask).waitsFor
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
