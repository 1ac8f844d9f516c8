/** I12: after a cancel nothing of the session goes on, also what outlived it. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

test('a detached child that outlived its session is cancelled, and the session stays completed', async () => {
  let beats = 0
  const beat = defineWorker({
    receive(_, self) {
      beats++
      self.after(50, null)
    },
  })
  const root = defineWorker({
    receive(_, self) {
      self.spawn('beat', null, { detached: true })
      self.reply('gone')
    },
  })
  await using troupe = await TestTroupe.start({ workers: { beat, root } })
  const session = await troupe.create('root')
  expect(await session.result()).toMatchObject({ status: 'completed', value: 'gone' })
  await waitUntil('it goes on', () => beats > 3)
  expect(await session.cancel()).toBe(false)
  await waitUntil('it is at its end', async () => (await session.report()).workers[1]?.status === 'terminal')
  expect((await session.report()).session).toMatchObject({ state: 'completed', cancelReason: null })
  expect(await session.result()).toMatchObject({ status: 'completed', value: 'gone' })
  await waitUntil('it may be pruned', async () => (await troupe.client.sessions.prune({ olderThanMs: 0 })) === 1)
  await expectInvariants(troupe.redis, troupe.namespace)
})
