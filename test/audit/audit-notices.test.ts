/** Notices of sessions that are gone: a node takes them away when their time comes. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { newId, rootIdOf } from '../../src/core/ids.ts'
import { TestTroupe } from '../support/test-troupe.ts'

test('a notice of an ask that waits when its session is pruned is no fault, and any other timer of a worker that is gone is', async () => {
  const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
  await using troupe = await TestTroupe.start({ workers: { echo } })
  await (await troupe.create('echo', 1)).result()
  const [notified, timed] = [rootIdOf(newId(0)), rootIdOf(newId(0))]
  const later = Date.now() + 3_600_000
  await troupe.redis.zadd(`${troupe.tag}:timers`, later, `${notified}:notify:${newId(0)}`, later, `${timed}:1`)
  const { findings } = await troupe.client.audit()
  await troupe.redis.zrem(`${troupe.tag}:timers`, `${timed}:1`)
  expect(findings).toMatchObject([{ rule: 'orphan-timers', workerId: timed }])
})
