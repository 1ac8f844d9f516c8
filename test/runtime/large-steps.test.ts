/** A receive that asks for very much is recorded, or its run fails with an error that says so: it is not taken for poison. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../src/core/define-worker.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/wait-until.ts'

test('forty thousand timers', async () => {
  let receives = 0
  const many = defineWorker({
    receive(_, self) {
      receives++
      for (let number = 0; number < 40_000; number++) self.after(3_600_000, number)
    },
  })
  await using troupe = await TestTroupe.start({ workers: { many } })
  const session = await troupe.create('many')
  const rests = async () => ['parked', 'idle'].includes((await session.root.report()).place)
  await waitUntil('it rests', rests, 20_000)
  expect((await session.root.report()).lastFailure?.code).not.toBe('poison')
  expect(receives).toBe(1)
})
