/** How many children a worker may have, and how deep: by its kind and by its session. */
import { expect, test } from 'vitest'
import { type ChildLimits, checkSpawn, limitsWithin } from '../../../src/core/definition/child-limits.ts'
import { defaultWorkerLimits } from '../../../src/core/policy.ts'

const session = { ...defaultWorkerLimits, children: 20, depth: 5 }

test.each([
  [undefined, { children: 20, depth: 5 }],
  [{ children: 3 }, { children: 3, depth: 5 }],
  [{ depth: 2 }, { children: 20, depth: 2 }],
  // A kind only narrows what its session allows.
  [
    { children: 100, depth: 3 },
    { children: 20, depth: 3 },
  ],
  [
    { children: 3, depth: 60 },
    { children: 3, depth: 5 },
  ],
  [
    { children: 100, depth: 60 },
    { children: 20, depth: 5 },
  ],
])('with the limits %j of its kind a worker has %j', (limits, expected) => {
  expect(limitsWithin(session, { limits })).toEqual({ ...session, ...expected })
})

const spawn = (limits: ChildLimits, depth: number, awaited: number | null) => () =>
  checkSpawn({ limits }, { kind: 'k', name: 'w', workerId: 'id', depth }, awaited)

test.each([
  [{ depth: 2 }, 1, 5],
  [{ children: 3 }, 0, 3],
  // A detached child reports to nobody.
  [{ children: 3 }, 0, null],
])('with the limits %j a worker at depth %j may spawn a child if it then awaits %j', (limits, depth, awaited) => {
  expect(spawn(limits, depth, awaited)).not.toThrow()
})

test.each([
  [{ depth: 2 }, 2, 5, /^worker w .* is at depth 2 and its kind "k" allows 2: it may not spawn/],
  [{ children: 3 }, 0, 4, /^worker w .* its kind "k" allows 3 children whose results it still awaits/],
])(
  'with the limits %j a worker at depth %j may not spawn a child if it then awaits %j',
  (limits, depth, awaited, why) => {
    expect(spawn(limits, depth, awaited)).toThrow(why)
  },
)
