/** What people read of the state of a node. */
import { expect, test } from 'vitest'
import { nodeState } from '../../src/words/node-state.ts'

test.each([
  [{}, 'live'],
  [{ draining: 1 }, 'draining, 1 turn left'],
  [{ draining: 0 }, 'draining, 0 turns left'],
  [{ draining: 2, stalled: true as const }, 'stalled'],
])('a node with %j is %s', (node, words) => {
  expect(nodeState(node)).toBe(words)
})
