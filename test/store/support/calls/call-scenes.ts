/** What a call of a script is to tests, and the scenes that such calls begin with. */
import { encodeResult } from '../../../../src/core/worker/message/message.ts'
import type { HandTurn } from '../hand-node.ts'
import type { Place } from '../place.ts'

export interface Call {
  /** Script and outcome. */
  readonly name: string
  /** Sets the stage and gives the call. */
  readonly prepare: (place: Place) => Promise<() => Promise<unknown>>
  /** The wake-ups of a lost answer are not given again: they go stale, and a sweep sends new ones. */
  readonly forgetsWakeups?: true
  /** The answer counts what this very call did. */
  readonly counts?: true
}

export const resultOf = (child: HandTurn) =>
  encodeResult({ id: child.worker, name: child.assignment.name, kind: 'echo' }, child.assignment.call ?? 0, {
    status: 'completed',
    valueJson: '1',
  })

export async function running(place: Place, mode: 'job' | 'conversation' = 'conversation') {
  const session = await place.create({ mode })
  const node = place.node({ slots: 4 })
  await node.sweep({ free: 0 })
  const turn = await node.claim({ wakeup: 'mine', keepWakeup: true })
  await place.redis.del(place.keys.wakeups('default'))
  return { session, node, turn }
}

export const later = { id: 't2', ms: 600_000, valueJson: '2' }

export const completed = {
  entries: ['{"type":"received"}', '{"type":"completed"}'],
  inputsConsumed: 1,
  runState: 'Idle',
  open: false,
  outcome: 'completed',
} as const
