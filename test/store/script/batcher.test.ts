/** Calls that are made in one pass of the event loop and go together: when they leave. (How many go together: turn/commits.test.ts.) */
import { expect, test } from 'vitest'
import { Batcher } from '../../../src/store/script/batcher.ts'

test('a full batch leaves while further calls are being made, and these leave when the pass is over', () => {
  const sent: number[][] = []
  const passes: (() => void)[] = []
  const batcher = new Batcher<{ readonly bytes: number; readonly call: number }>(
    (batch) => void sent.push(batch.map(({ call }) => call)),
    (leave) => void passes.push(leave),
  )
  for (let call = 1; call <= 10; call++) batcher.add({ bytes: 10, call })
  expect(sent).toEqual([[1, 2, 3, 4, 5, 6, 7, 8]])
  for (const leave of passes) leave()
  expect(sent).toEqual([
    [1, 2, 3, 4, 5, 6, 7, 8],
    [9, 10],
  ])
})
