/** Several partitions in one Redis: a node runs them all with the slots it has, and a client sees them as one. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { partitionOf, partitionOfKey } from '../../../src/core/ids.ts'
import { partitionKeys, tagOf, workerKeys } from '../../../src/store/keys.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const partitions = 3
const all = [0, 1, 2]

/** An idempotency key whose session lives in that partition. */
function keyIn(partition: number, nth = 0): string {
  const fitting = Array.from({ length: 100 }, (_, number) => `key ${number}`)
  return fitting.filter((key) => partitionOfKey(key, partitions) === partition)[nth] as string
}

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

describe('with three partitions', () => {
  let troupe: TestTroupe
  beforeEach(async () => {
    troupe = await TestTroupe.connect({ partitions })
  })
  afterEach(() => troupe[Symbol.asyncDispose]())
  const createIn = (partition: number, kind: string, input: unknown = null) =>
    troupe.create(kind, input, { idempotencyKey: keyIn(partition), keepOpen: true })
  const expectSound = async () => expect((await troupe.client.audit()).findings).toEqual([])

  test('a prune by hand counts the sessions of all partitions together', async () => {
    await troupe.startNode({ echo })
    for (const partition of all) {
      const session = await createIn(partition, 'echo')
      await session.result({ run: 1 })
      await session.close()
    }
    let pruned = 0
    await waitUntil('all have ended and are pruned', async () => {
      pruned += await troupe.client.sessions.prune({ olderThanMs: 0 })
      return (await troupe.client.sessions.list()).length === 0
    })
    expect(pruned).toBe(3)
  })

  test('a node runs the workers of all partitions, and no more at once than it has slots', async () => {
    let running = 0
    let most = 0
    const parent = defineWorker({
      receive(message, self) {
        if (message.kind === 'input') for (const child of [1, 2, 3, 4]) self.spawn('slow', child)
        else if (self.openChildren === 0) self.reply('done')
      },
    })
    const slow = defineWorker({
      async receive() {
        most = Math.max(most, ++running)
        await waitUntil('all slots were taken at once', () => most >= 2)
        await new Promise((resolve) => setTimeout(resolve, 20))
        running--
      },
    })
    const sessions = await Promise.all(all.map((partition) => createIn(partition, 'parent')))
    expect(sessions.map(({ id }) => partitionOf(id))).toEqual(all)
    await troupe.startNode({ parent, slow }, { concurrency: 2 })
    for (const [partition, session] of sessions.entries()) {
      expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed', value: 'done' })
      const { workers } = await session.report()
      expect(workers.map(({ id }) => partitionOf(id))).toEqual(Array.from({ length: 5 }, () => partition))
    }
    expect(most).toBe(2)
    await expectSound()
  })

  test('a session is in one of several partitions, is found again under its key, and takes messages there', async () => {
    await troupe.startNode({ echo })
    for (const partition of all) {
      const session = await createIn(partition, 'echo', partition)
      const again = await createIn(partition, 'echo', 'unused')
      expect([again.id, again.warning]).toEqual([session.id, expect.stringContaining('was used before')])
      expect(await session.result({ run: 1 })).toMatchObject({ value: partition })
      await session.root.send('more')
      expect(await session.result({ run: 2 })).toMatchObject({ value: 'more' })
    }
    const found = new Set<number>()
    await waitUntil('sessions without a key have come to all of them', async () => {
      const session = await troupe.create('echo')
      await session.result()
      return found.add(partitionOf(session.id)).size === partitions
    })
    await expectSound()
  })

  test('a cancel reaches the nodes at once in every partition', async () => {
    const deaf = defineWorker({
      receive: (_, self) =>
        new Promise((resolve) => {
          self.signal.addEventListener('abort', () => resolve())
        }),
    })
    // Nothing but the cancel notice tells the turns of the cancel.
    const policy = { leaseMs: 600_000, renewEveryMs: 200_000, sweepEveryMs: 200_000 }
    await troupe.startNode({ deaf }, { policy })
    const sessions = await Promise.all(all.map((partition) => createIn(partition, 'deaf')))
    for (const session of sessions)
      await waitUntil('it runs', async () => (await session.root.report()).status === 'running')
    for (const session of sessions.toReversed()) {
      await session.cancel()
      const result = await awaitResult(session)
      expect(result).toMatchObject({ status: 'cancelled' })
    }
    await expectSound()
  })

  test('sessions of three partitions are found again after the number of partitions was removed', async () => {
    const session = await createIn(2, 'echo')
    const node = await troupe.startNode({ echo })
    await node.stop()
    const { meta } = partitionKeys(tagOf(troupe.namespace, 0))
    await troupe.redis.del(meta)
    const { redisUrl, namespace } = troupe
    await using looker = await connectInternal({ redisUrl, namespace, purpose: 'look' })
    expect((await looker.sessions.list()).map(({ id }) => id)).toEqual([session.id])
    await expect(connectInternal({ redisUrl, namespace, partitions: 1 })).rejects.toThrow(/has 3 partitions, not 1/)
    await using maker = await connectInternal({ redisUrl, namespace })
    expect((await maker.sessions.list()).map(({ id }) => id)).toEqual([session.id])
    expect(await troupe.redis.hget(meta, 'partitions')).toBe('3')
  })

  test('dead letters of all partitions are listed newest first, and each is redriven in its own partition', async () => {
    const sessions = await Promise.all([2, 0, 1].map((partition) => createIn(partition, 'echo', `of ${partition}`)))
    for (const { rootId } of sessions) {
      const { record } = workerKeys(tagOf(troupe.namespace, partitionOf(rootId)), rootId)
      await troupe.redis.hset(record, 'isolated', '3', 'crashes', '5')
    }
    await troupe.startNode({ echo })
    for (const session of sessions)
      expect(await session.result({ run: 1 })).toMatchObject({ failure: { code: 'poison' } })
    const letters = await troupe.client.deadLetters()
    const made = letters.map(({ id }) => Number(id.split('-')[0]))
    expect(made).toEqual(made.toSorted((a, b) => b - a))
    expect(letters.map(({ workerId }) => workerId).sort()).toEqual(sessions.map(({ rootId }) => rootId).sort())
    expect(await troupe.client.deadLetters({ limit: 2 })).toEqual(letters.slice(0, 2))
    for (const [place, { rootId }] of sessions.entries()) {
      const [one, ...more] = await troupe.client.deadLetters({ workerId: rootId })
      expect(more).toEqual([])
      expect(one).toMatchObject({ workerId: rootId, message: { value: ['of 2', 'of 0', 'of 1'][place] } })
    }
    const redriven = await troupe.client.redrive({ all: true })
    expect(new Set(redriven.map(({ letterId }) => letterId))).toEqual(new Set(letters.map(({ id }) => id)))
    expect(redriven).toHaveLength(letters.length)
    for (const [place, session] of sessions.entries())
      expect(await session.result({ run: 2 })).toMatchObject({ value: ['of 2', 'of 0', 'of 1'][place] })
    await expectSound()
  })

  test('a dead letter whose id another partition has too is put back only with its worker named', async () => {
    const sessions = await Promise.all([0, 1].map((partition) => createIn(partition, 'echo', `of ${partition}`)))
    const letter = `${Date.now() + 60_000}-0`
    for (const [partition, { id, rootId }] of sessions.entries()) {
      const tag = tagOf(troupe.namespace, partition)
      await troupe.redis.hset(workerKeys(tag, rootId).record, 'isolated', '3', 'crashes', '5')
      const mail = await troupe.redis.lindex(workerKeys(tag, rootId).inbox, 0)
      const fields = ['worker', rootId, 'session', id, 'mail', String(mail), 'evidence', '{}']
      await troupe.redis.xadd(partitionKeys(tag).dead, letter, ...fields)
    }
    await troupe.startNode({ echo })
    for (const session of sessions)
      expect(await session.result({ run: 1 })).toMatchObject({ failure: { code: 'poison' } })
    await expect(troupe.client.redrive({ letter })).rejects.toMatchObject({
      code: 'input_invalid',
      message: expect.stringMatching(new RegExp(`${sessions[0]?.rootId}.*${sessions[1]?.rootId}`)),
    })
    const { rootId: workerId } = sessions[1] as Session
    expect(await troupe.client.redrive({ letter, workerId })).toMatchObject([{ workerId, status: 'redriven' }])
    expect(await sessions[1]?.result({ run: 2 })).toMatchObject({ value: 'of 1' })
  })
})
