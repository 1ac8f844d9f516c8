/** How long finished sessions are kept: what was said for the namespace holds for all that is started in it. */
import { expect, inject, test } from 'vitest'
import { startNode } from '../../../src/compose.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { partitionKeys } from '../../../src/store/keys.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
const hourMs = 3_600_000

async function said(troupe: TestTroupe): Promise<string | null> {
  return troupe.redis.hget(partitionKeys(troupe.tag).meta, 'retentionMs')
}

test('a node sets the retention of its namespace, and a node without a setting keeps to that', async () => {
  await using troupe = await TestTroupe.connect()
  const { namespace } = troupe
  const start = (own: { retentionMs?: number }) =>
    startNode({ redisUrl: inject('redisUrl'), namespace, workers: { echo }, ...own })
  await using _first = await start({})
  expect(await said(troupe)).toBeNull()
  await using _second = await start({ retentionMs: hourMs })
  await using _third = await start({})
  expect(await said(troupe)).toBe(String(hourMs))
})

test('a node prunes by the retention that was set before it started', async () => {
  await using troupe = await TestTroupe.connect()
  await troupe.redis.hset(partitionKeys(troupe.tag).meta, 'retentionMs', 0)
  await troupe.startNode({ echo }, { policy: { pruneEveryMs: 20 } })
  const session = await troupe.create('echo', 1)
  const gone = async () => (await troupe.client.sessions.list()).length === 0
  await waitUntil('it has ended and is removed', gone)
  await expect(session.report()).rejects.toMatchObject({ code: 'session_not_found' })
})

test('pruning by hand removes what nodes would remove, unless an option says otherwise', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  const { meta } = partitionKeys(troupe.tag)
  await troupe.run('echo', 1)
  expect(await troupe.client.sessions.prune()).toBe(0)
  await troupe.redis.hset(meta, 'retentionMs', hourMs)
  expect(await troupe.client.sessions.prune()).toBe(0)
  await troupe.redis.hset(meta, 'retentionMs', 0)
  expect(await troupe.client.sessions.prune()).toBe(1)
  await troupe.redis.hset(meta, 'retentionMs', 'a week')
  await expect(troupe.client.sessions.prune()).rejects.toThrow(`field retentionMs of ${meta} should be a whole number`)
})

test.each([
  [{ retentionMs: 59_999 }, 'retentionMs of startNode must be a whole number from 60000 to'],
  [{ drainMs: -1 }, 'drainMs of startNode must be a whole number from 0 to 1073741823, not -1'],
])('%j is refused', async (own, sentence) => {
  await expect(startNode({ workers: { echo }, ...own })).rejects.toThrow(sentence)
})
