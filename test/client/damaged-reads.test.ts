/** What clients read when somebody has written over what is stored: the key by its name, and all that can still be told. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../src/core/define-worker.ts'
import { partitionKeys, sessionKeys, workerKeys } from '../../src/store/keys.ts'
import { TestTroupe } from '../support/test-troupe.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
const broken = defineWorker({ receive: (_, self) => self.fail('broken') })

async function ended(troupe: TestTroupe, kind: 'echo' | 'broken') {
  const session = await troupe.create(kind, 'one')
  await session.result()
  return { session, keys: { ...workerKeys(troupe.tag, session.rootId), ...sessionKeys(troupe.tag, session.id) } }
}

describe('a key of another sort', () => {
  test.each([
    ['record', 'hash'],
    ['log', 'list'],
    ['session', 'hash'],
  ] as const)('(%s) is named by who cannot read it, as no fault of troupe', async (name, sort) => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const { session, keys } = await ended(troupe, 'echo')
    await troupe.redis.set(keys[name], 'not what it was')
    const words = `key ${keys[name]} should be a ${sort}). Another program wrote over a key`
    await expect(session.report()).rejects.toThrow(words)
    const listing = troupe.client.sessions.list().then(
      ({ length }) => `${length} listed`,
      ({ message }: Error) => message,
    )
    // A list of sessions reads no histories.
    expect(await listing).toContain(name === 'log' ? '1 listed' : words)
    await troupe.redis.del(keys[name])
  })
})

test('a record in line that cannot be read keeps doctor from nothing', async () => {
  await using troupe = await TestTroupe.connect()
  const [spoilt, other] = [await troupe.create('echo', 'one'), await troupe.create('echo', 'two')]
  const { record } = workerKeys(troupe.tag, spoilt.rootId)
  await troupe.redis.set(record, 'not what it was')
  expect(await troupe.client.health()).toMatchObject({ unhosted: [{ id: other.rootId, kind: 'echo' }] })
  await troupe.redis.del(record)
})

describe('a text that is no JSON', () => {
  test('as the newest entry of a history, or as the last failure, keeps nobody from reading the rest', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo, broken } })
    const [fine, failed] = [await ended(troupe, 'echo'), await ended(troupe, 'broken')]
    await troupe.redis.rpush(fine.keys.log, 'garbage')
    await troupe.redis.set(failed.keys.failure, 'garbage')
    const { createdAt } = (await fine.session.report()).session
    const [worker] = (await fine.session.report()).workers
    expect(worker).toMatchObject({ historyLength: 3, lifecycle: 'idle' })
    expect(Math.abs(Number(worker?.updatedAt) - Number(createdAt))).toBeLessThan(5_000)
    expect(await failed.session.report()).toMatchObject({
      session: { state: 'failed', failure: { code: 'bug' } },
      workers: [
        { lifecycle: 'idleFailed', lastFailure: { code: 'bug', message: expect.stringContaining('cannot be read') } },
      ],
    })
    expect((await troupe.client.sessions.list()).map(({ state }) => state)).toEqual(['failed', 'completed'])
  })

  test('in a line of a kind or a node keeps nobody from reading the others', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const { kinds, nodes } = partitionKeys(troupe.tag)
    await troupe.redis.hset(kinds, 'odd', 'default nonsense')
    await troupe.redis.hset(nodes, 'odd', `${Date.now()} 1 default odd nonsense`)
    expect(await troupe.client.kinds()).toMatchObject([{ kind: 'echo' }, { kind: 'odd', description: '' }])
    expect((await troupe.client.nodes()).find(({ id }) => id === 'odd')).toMatchObject({ slots: 1, pid: null })
    expect(await troupe.client.health()).toMatchObject({ kinds: [{ kind: 'echo' }, { kind: 'odd' }] })
  })
})
