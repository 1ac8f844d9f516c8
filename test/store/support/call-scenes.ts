/** What a call of a script is to tests, and the scenes that such calls begin with. */
import { encodeResult } from '../../../src/core/worker/message.ts'
import type { HandTurn } from './hand-node.ts'
import type { Place } from './place.ts'

export interface Call {
  /** Script and outcome. */
  readonly name: string
  /** Sets the stage and gives the call. */
  readonly prepare: (place: Place) => Promise<() => Promise<unknown>>
  /** The bells of a lost answer are not given again: they go stale, and a sweep puts new ones. */
  readonly forgetsBells?: true
  /** The answer counts what this very call did. */
  readonly counts?: true
}

export const resultOf = (child: HandTurn) =>
  encodeResult({ id: child.worker, name: child.grant.name, kind: 'echo' }, child.grant.call ?? 0, {
    status: 'completed',
    valueJson: '1',
  })

export async function running(place: Place, mode: 'job' | 'conversation' = 'conversation') {
  const session = await place.create({ mode })
  const node = place.node({ slots: 4 })
  await node.sweep({ free: 0 })
  const turn = await node.claim({ bell: 'mine', keepBell: true })
  await place.redis.del(place.keys.bells('default'))
  return { session, node, turn }
}

export const later = { id: 't2', ms: 600_000, valueJson: '2' }

export const completed = {
  entries: ['{"type":"received"}', '{"type":"completed"}'],
  userUsed: 1,
  runState: 'Idle',
  open: false,
  outcome: 'completed',
} as const
