/** I17: no slot sleeps while a worker that it can run is queued, however many stand before it that it cannot run. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

test('workers of a kind that another node hosts, and has no slot for, do not block the run queue', async () => {
  const open = Promise.withResolvers<void>()
  const long = defineWorker({
    async receive(_, self) {
      await open.promise
      self.reply(null)
    },
  })
  await using troupe = await TestTroupe.connect()
  await troupe.startNode({ echo }, { concurrency: 10 })
  await troupe.startNode({ echo, long }, { concurrency: 2 })
  for (let number = 0; number < 40; number++) await troupe.create('long')
  const session = await troupe.create('echo', 1)
  const result = await awaitResult(session).catch(String)
  open.resolve()
  expect(result).toMatchObject({ value: 1 })
})

test('suspects do not block the run queue: a node runs one of them at a time', async () => {
  let isDying = true
  const open = Promise.withResolvers<void>()
  const slow = defineWorker({
    async receive(_, self) {
      await (isDying ? new Promise(() => {}) : open.promise)
      self.reply(null)
    },
  })
  await using troupe = await TestTroupe.connect()
  const sessions = await Promise.all(Array.from({ length: 40 }, () => troupe.create('slow')))
  // Their work goes on when its lease has ended; a busy machine does not end a lease earlier.
  const dying = { leaseMs: 4_000, leaseMarginMs: 500 }
  // Two nodes die that have all of them in hand.
  for (const death of [1, 2]) {
    const node = await troupe.startNode({ slow }, { policy: dying })
    await waitUntil('all run', () => node.busy === sessions.length)
    for (const { rootId } of sessions) await troupe.redis.hset(`${troupe.tag}:w:${rootId}`, 'token', `${death}:dead`)
    await waitUntil('they are given up', () => node.busy === 0)
    await node.stop({ force: true })
  }
  isDying = false
  await troupe.startNode({ slow, echo })
  await waitUntil('one of them runs', async () => (await troupe.redis.zcard(`${troupe.tag}:run:default`)) === 39)
  const session = await troupe.create('echo', 1)
  const result = await awaitResult(session).catch(String)
  open.resolve()
  expect(result).toMatchObject({ value: 1 })
}, 180_000)
