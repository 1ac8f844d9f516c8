/** The states of a turn: which may follow which. */
import { expect, test } from 'vitest'
import { forAny } from '../../../src/core/worker/wait.ts'
import { mayBecome, type TurnState } from '../../../src/runtime/turn/turn-state.ts'

const states: readonly TurnState[] = [
  { kind: 'running' },
  { kind: 'draining' },
  { kind: 'ending', end: { wait: forAny } },
  { kind: 'cancelling' },
  { kind: 'over', outcome: { over: 'ended', aborted: false, commitId: '', version: 0 } },
]

test('a turn goes forward through its states, and leaves none of them for an earlier one (TURN-2)', () => {
  const next = Object.fromEntries(
    states.map((from) => [from.kind, states.filter((to) => mayBecome(from, to)).map(({ kind }) => kind)]),
  )
  expect(next).toEqual({
    running: ['draining', 'ending', 'cancelling', 'over'],
    draining: ['ending', 'cancelling', 'over'],
    ending: ['ending', 'cancelling', 'over'],
    cancelling: ['over'],
    over: [],
  })
})
