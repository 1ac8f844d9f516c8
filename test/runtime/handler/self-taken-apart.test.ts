/** The parts of `self` may be taken apart, as those of a tool's context. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

test('a method taken out of self does the same as on self (SELF-3)', async () => {
  const parent = defineWorker<number>({
    initial: 0,
    receive(message, { state, setState, spawn, send, after, reply }) {
      if (message.kind === 'input') {
        setState(state + 1)
        send(spawn('child', 'go', { detached: true }), 'more')
        after(0, 'later')
      } else reply([message.value, state])
    },
  })
  const child = defineWorker({ retries: 0, receive: (_, { fail }) => fail('on purpose') })
  await using troupe = await TestTroupe.start({ workers: { parent, child } })
  expect(await troupe.run('parent')).toEqual({ status: 'completed', run: 1, value: ['later', 1] })
  expect(await troupe.run('child')).toMatchObject({ status: 'failed', failure: { message: 'on purpose' } })
})
