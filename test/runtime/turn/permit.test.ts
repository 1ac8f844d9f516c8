/** When the outcome of a call may still be recorded. */
import { expect, test } from 'vitest'
import { mayRecord } from '../../../src/runtime/turn/permit.ts'
import { Turn } from '../../../src/runtime/turn/turn.ts'
import { assignmentByHand, HeldStore } from '../support/held-store.ts'

test.each<[string, (turn: Turn) => void, boolean]>([
  ['goes on', () => {}, true],
  ['drains', (turn) => turn.drain(), true],
  ['was cancelled', (turn) => void turn.cancel(), false],
  ['was released', (turn) => void turn.release(), false],
  ['was given up', (turn) => turn.abandon('fenced'), false],
])('the outcome of a call may be recorded or not if its turn %s in between (PERMIT-2)', (_, stop, may) => {
  const turn = new Turn(assignmentByHand(), new HeldStore().host())
  stop(turn)
  expect(mayRecord(turn)).toBe(may)
})
