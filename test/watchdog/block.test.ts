/** How long a node is blocked: by its beats, and by the looks at them. */
import { expect, test } from 'vitest'
import { Block } from '../../src/watchdog/block.ts'

const everyMs = 500

/** A node that has beaten at time 0, and the looks at it: each with its beat and its time. */
function looksAt(...looks: readonly (readonly [beat: number, now: number])[]): Block {
  const block = new Block(everyMs, 0)
  for (const [beat, now] of [[1, 0] as const, ...looks]) block.look(beat, now)
  return block
}

test.each([
  [
    'is blocked for as long as its beat stays',
    [
      [1, 500],
      [1, 1_000],
      [1, 1_600],
    ],
    1_600,
  ],
  [
    'is not blocked when it beats again, however often a look found nothing new before',
    [
      [1, 500],
      [1, 1_000],
      [2, 1_500],
    ],
    0,
  ],
  [
    'is blocked anew from its last beat on',
    [
      [1, 500],
      [2, 1_000],
      [2, 1_500],
    ],
    500,
  ],
  [
    'is not blocked while nobody looks: such a time counts as two looks (WATCH-THREAD-1)',
    [
      [1, 500],
      [1, 60_000],
    ],
    1_500,
  ],
] as const)('a node %s', (_, looks, ms) => {
  expect(looksAt(...looks).ms).toBe(ms)
})

test('a block is named once, and the next one again (WATCH-THREAD-2)', () => {
  const block = looksAt([1, 500])
  expect([block.isToBeNamed(501), block.isNamed]).toEqual([false, false])
  expect([block.isToBeNamed(500), block.isNamed, block.isToBeNamed(500)]).toEqual([true, true, false])
  block.look(2, 1_000)
  expect(block.isNamed).toBe(false)
  block.look(2, 1_500)
  expect(block.isToBeNamed(500)).toBe(true)
})
