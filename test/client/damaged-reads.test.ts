/** What clients read when somebody has written over stored keys: the name of the key, and everything that can still be told. */
import { describe, expect, test, vi } from 'vitest'
import type { Health } from '../../src/client/health/health.ts'
import type { SessionsQuery } from '../../src/client/queries.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { timeOf } from '../../src/core/ids.ts'
import { AuditStore } from '../../src/store/audit/audit-store.ts'
import { InspectStore } from '../../src/store/audit/inspect-store.ts'
import { partitionKeys, sessionKeys, workerKeys } from '../../src/store/keys.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
const broken = defineWorker({ receive: (_, self) => self.fail('broken') })

const parent = defineWorker({
  spawns: ['echo'],
  await: 'all',
  receive(message, self) {
    if (message.kind === 'input') for (const child of ['a', 'b']) self.spawn('echo', child)
    else if (self.openChildren === 0) self.reply(null)
  },
})

async function ended(troupe: TestTroupe, kind: 'echo' | 'broken') {
  const session = await troupe.create(kind, 'one')
  await session.result()
  return { session, keys: { ...workerKeys(troupe.tag, session.rootId), ...sessionKeys(troupe.tag, session.id) } }
}

/** Collects all numbers of a value, at any depth. */
function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : []
}

describe('a key of another sort', () => {
  test.each([
    ['record', 'hash'],
    ['log', 'list'],
    ['runResults', 'hash'],
  ] as const)(
    'a key of another type (%s) is named in the error of its reader, and is no fault of troupe',
    async (name, sort) => {
      await using troupe = await TestTroupe.start({ workers: { echo } })
      const { session, keys } = await ended(troupe, 'echo')
      await troupe.redis.set(keys[name], 'not what it was')
      const words = `key ${keys[name]} should be a ${sort}). Another program wrote over a key`
      await expect(session.report()).rejects.toThrow(words)
      await expect(session.summary()).rejects.toThrow(words)
      await troupe.redis.del(keys[name])
    },
  )

  test('a key of another type (answer of an idempotency key) is named in the error of a caller that uses the key again, and nothing is accepted', async () => {
    await using troupe = await TestTroupe.connect()
    const { client, redis } = troupe
    const create = () => client.sessions.create({ kind: 'nobody', input: 1, keepOpen: true, idempotencyKey: 'order' })
    const session = await create()
    const send = () => session.root.send('more', { idempotencyKey: 'more' })
    await send()
    const pattern = `${partitionKeys(troupe.tag).idem('')}*`
    const keys = await redis.keys(pattern)
    expect(keys).toHaveLength(2)
    const told = async (words: string) => {
      for (const call of [create, send])
        await expect(call()).rejects.toMatchObject({
          details: { damaged: expect.stringMatching(new RegExp(`^key .*:idem:[\\w-]+ ${words}$`)) },
        })
    }
    for (const words of ['x', 'not what it was']) {
      for (const key of keys) await redis.set(key, words)
      await told('should be an answer that was given')
    }
    for (const key of keys) await redis.del(key)
    for (const key of keys) await redis.rpush(key, 'x')
    await told('is a list and should be a string')
    expect(await session.root.mailbox()).toHaveLength(2)
    expect(await client.sessions.list()).toHaveLength(1)
    await redis.del(...keys)
  })

  test('a key of another type (record of a root) is named in the errors of cancel, close and limit of its session, and of a send to a child', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo, parent } })
    const session = await troupe.create('parent', null, { keepOpen: true })
    await session.result({ run: 1 })
    const [, child] = await troupe.client.workers.list({ sessionId: session.id })
    const { record } = workerKeys(troupe.tag, session.rootId)
    await troupe.redis.set(record, 'not what it was')
    const worker = troupe.client.workers.get(child?.id as string)
    const calls = [session.cancel(), session.close(), session.limit({ modelCalls: 1 }), worker.send('more')]
    for (const answer of await Promise.allSettled(calls))
      expect(answer).toMatchObject({
        reason: { details: { damaged: `key ${record} is a string and should be a hash` } },
      })
    await troupe.redis.del(record)
    await troupe.redis.hset(record, { kind: 'parent', workers: 'some' })
    const count = { reason: { details: { damaged: `field workers of ${record} should be a whole number` } } }
    for (const answer of await Promise.allSettled([session.cancel(), session.limit({ modelCalls: 1 })]))
      expect(answer).toMatchObject(count)
    await troupe.redis.del(record)
  })

  test('a key of another type (record) does not keep anybody from listing the other sessions', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const [one, two] = [await ended(troupe, 'echo'), await ended(troupe, 'echo')]
    await troupe.redis.set(two.keys.record, 'not what it was')
    const states = async (query: SessionsQuery) =>
      (await troupe.client.sessions.list(query)).map(({ id, state }) => [id, state])
    expect(await states({})).toEqual([
      [two.session.id, 'damaged'],
      [one.session.id, 'completed'],
    ])
    expect(await states({ state: 'damaged' })).toEqual([[two.session.id, 'damaged']])
    await troupe.redis.del(two.keys.record)
  })

  test('a key of another type (log) does not keep any session from being listed: a list reads no log', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const { keys } = await ended(troupe, 'echo')
    await troupe.redis.set(keys.log, 'not what it was')
    expect(await troupe.client.sessions.list()).toMatchObject([{ state: 'completed' }])
    await troupe.redis.del(keys.log)
  })

  test.each([
    ['record', 'hash', ''],
    ['log', 'list', 'echo'],
    ['inbox', 'list', 'echo'],
  ] as const)(
    'a key of another type (%s) of a child is shown with the child, and does not keep anybody from reading the other workers',
    async (name, sort, kind) => {
      await using troupe = await TestTroupe.start({ workers: { echo, parent } })
      const session = await troupe.create('parent')
      await session.result()
      const workers = () => troupe.client.workers.list({ sessionId: session.id })
      const whole = await workers()
      const key = workerKeys(troupe.tag, whole[1]?.id as string)[name]
      await troupe.redis.set(key, 'not what it was')
      const words = `key ${key} should be a ${sort}`
      const damaged = { code: 'bug', message: `${words}: another program wrote over it` }
      const expected = [whole[0], { id: whole[1]?.id, sessionId: session.id, kind, lastFailure: damaged }, whole[2]]
      expect(await workers()).toMatchObject(expected)
      expect(await troupe.client.workers.list()).toMatchObject(expected)
      expect((await session.report()).workers).toMatchObject(expected)
      await expect(troupe.client.workers.get(whole[1]?.id as string).report()).rejects.toThrow(words)
      await troupe.redis.del(key)
    },
  )

  test('a key of another type (the list of a session) does not hide its root and the workers of other sessions', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo, parent } })
    const spoilt = await troupe.create('parent')
    await spoilt.result()
    const { session } = await ended(troupe, 'echo')
    const { workers } = sessionKeys(troupe.tag, spoilt.id)
    await troupe.redis.set(workers, 'not what it was')
    expect((await troupe.client.workers.list()).map(({ id }) => id)).toEqual([session.rootId, spoilt.rootId])
    await expect(troupe.client.workers.list({ sessionId: spoilt.id })).rejects.toThrow(
      `key ${workers} should be a list`,
    )
    await troupe.redis.del(workers)
  })
})

describe('a damaged field of a record', () => {
  test.each([
    'run',
    'depth',
    'inbox',
    'limits',
    'pendingCalls',
    'status',
    'runState',
    'permissions',
    'caps',
    'ended',
    'workers',
  ])(
    'a damaged field of a record (%s) is named to those who ask for that session or worker, and no false number is shown',
    async (name) => {
      await using troupe = await TestTroupe.start({ workers: { echo } })
      const [{ session, keys }, other] = [await ended(troupe, 'echo'), await ended(troupe, 'echo')]
      await troupe.redis.hset(keys.record, name, 'nonsense')
      const damaged = `field ${name} of ${keys.record} should not be "nonsense"`
      const refused = { code: 'bug', details: { damaged } }
      await expect(session.report()).rejects.toMatchObject(refused)
      await expect(session.summary()).rejects.toMatchObject(refused)
      await expect(session.root.report()).rejects.toMatchObject(refused)
      await expect(session.root.report()).rejects.toThrow('Another program wrote over it: put it back.')
      const workers = await troupe.client.workers.list()
      expect(workers).toMatchObject([
        { id: other.session.rootId, lastFailure: null },
        { id: session.rootId, kind: 'echo', lastFailure: { message: expect.stringContaining(damaged) } },
      ])
      expect(numbersIn([workers, await troupe.client.sessions.list()])).not.toContain(Number.NaN)
    },
  )

  test('a damaged field is never read as NaN, even beside a key of another type', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const { keys } = await ended(troupe, 'echo')
    await troupe.redis.hset(keys.record, { run: 'nonsense', place: 'nowhere' })
    await troupe.redis.del(keys.log)
    await troupe.redis.set(keys.log, 'not what it was')
    const workers = await troupe.client.workers.list()
    expect(workers).toMatchObject([{ status: 'idle', lastFailure: { message: expect.stringContaining(keys.log) } }])
    expect(numbersIn(workers)).not.toContain(Number.NaN)
    await troupe.redis.del(keys.log)
  })

  test.each(['ended', 'workers', 'kind'])(
    'a damaged field of a record (%s) marks its session in a list, beside the others',
    async (name) => {
      await using troupe = await TestTroupe.start({ workers: { echo } })
      const [{ session, keys }, other] = [await ended(troupe, 'echo'), await ended(troupe, 'echo')]
      await troupe.redis.hset(keys.record, name, name === 'kind' ? '' : 'nonsense')
      expect(await troupe.client.sessions.list()).toMatchObject([
        { id: other.session.id, state: 'completed', workers: 1 },
        { id: session.id, state: 'damaged', workers: 1, finishedAt: null },
      ])
    },
  )

  test('a damaged field of a record (a result) is named in the errors of reads of it and of its session, and is no bug of troupe', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo', 'one', { keepOpen: true })
    await session.result({ run: 1 })
    const { runResults: results } = sessionKeys(troupe.tag, session.id)
    await troupe.redis.hset(results, '1', 'nonsense')
    const refused = { details: { damaged: `field 1 of ${results} should not be "nonsense"` } }
    await expect(session.result({ run: 1 })).rejects.toMatchObject(refused)
    await expect(session.report()).rejects.toMatchObject(refused)
  })

  test('a damaged field of a record is named in the errors of reads that depend on it: of a result or of waiting mail', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo', 'one', { keepOpen: true })
    await session.result({ run: 1 })
    const { record, inbox } = workerKeys(troupe.tag, session.rootId)
    await troupe.redis.hset(record, 'run', 'nonsense')
    await expect(session.result()).rejects.toThrow(`field run of ${record}`)
    await troupe.redis.hset(record, { run: 2, inbox: 'nonsense' })
    await troupe.redis.rpush(inbox, 'a mail')
    await expect(session.root.mailbox()).rejects.toThrow(`field inbox of ${record}`)
    await troupe.redis.del(inbox)
  })
})

test.each([
  ['meta', 'hash'],
  ['nodes', 'hash'],
  ['kinds', 'hash'],
  ['retired', 'hash'],
  ['leases', 'zset'],
  ['timers', 'zset'],
  ['sessions', 'zset'],
  ['redriven', 'zset'],
  ['cancelling', 'set'],
  ['events', 'stream'],
  ['dead', 'stream'],
] as const)('an overwritten key of a whole partition (%s) is named to doctor', async (name, sort) => {
  await using troupe = await TestTroupe.connect()
  const key = partitionKeys(troupe.tag)[name]
  await troupe.redis.set(key, 'not what it was')
  const damaged = `key ${key} should be a ${sort}`
  await expect(troupe.client.health()).rejects.toMatchObject({ code: 'bug', details: { damaged } })
  await troupe.redis.del(key)
})

test('overwritten dead letters are named with what was read', async () => {
  await using troupe = await TestTroupe.connect()
  const { dead } = partitionKeys(troupe.tag)
  await troupe.redis.set(dead, 'not what it was')
  await expect(troupe.client.deadLetters()).rejects.toThrow(`(reading newest letters: key ${dead} should be a stream)`)
  await expect(troupe.client.dismiss({ letter: '1-1' })).rejects.toThrow(`(reading letter: key ${dead} should be`)
  await troupe.redis.del(dead)
})

test('a record that cannot be read in a run queue does not stop doctor', async () => {
  await using troupe = await TestTroupe.connect()
  const [spoilt, other] = [await troupe.create('echo', 'one'), await troupe.create('echo', 'two')]
  const { record } = workerKeys(troupe.tag, spoilt.rootId)
  await troupe.redis.set(record, 'not what it was')
  expect(await troupe.client.health()).toMatchObject({ unhosted: [{ id: other.rootId, kind: 'echo' }] })
  await troupe.redis.del(record)
})

test('doctor names a worker that no node can claim because a field of its record is damaged', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  const session = await troupe.create('echo', 'one', { keepOpen: true })
  await session.result()
  const { record } = workerKeys(troupe.tag, session.rootId)
  await troupe.redis.hset(record, 'run', 'none')
  await session.root.send('two')
  let aside: Health['aside'] = []
  await waitUntil('it is put aside', async () => {
    aside = (await troupe.client.health()).aside
    return aside.length > 0
  })
  expect(aside).toMatchObject([{ id: session.rootId, kind: 'echo' }])
  await troupe.redis.hset(record, 'run', '2')
  expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: 'two' })
  expect((await troupe.client.health()).aside).toEqual([])
})

describe('a worker that nothing wakes any more', () => {
  test('doctor finds a worker that nothing wakes any more without reading one session after the other', async () => {
    await using troupe = await TestTroupe.connect()
    for (let count = 0; count < 3; count++) await troupe.create('nobody')
    using rows = vi.spyOn(InspectStore.prototype, 'workers')
    using looks = vi.spyOn(AuditStore.prototype, 'look')
    await troupe.client.health()
    const readAtOnce = rows.mock.calls.map(([ids]) => ids.length)
    expect([readAtOnce, looks.mock.calls.map(([, ids]) => ids.length)]).toEqual([[3], [3]])
  })

  test.each([
    ['no_retry_timer', 'flaky'],
    ['no_timer', 'timed'],
  ] as const)('(%s)', async (reason, kind) => {
    const flaky = defineWorker({
      receive() {
        throw new Error('not yet')
      },
    })
    const timed = defineWorker({ receive: (_, self) => self.after(600_000, 1) })
    const policy = { retryBackoffMs: 600_000, retryBackoffMsMax: 600_000 }
    await using troupe = await TestTroupe.start({ workers: { flaky, timed }, policy })
    const session = await troupe.create(kind)
    await waitUntil('it is parked', async () => (await session.root.report()).status === 'parked')
    expect((await troupe.client.health()).stranded).toEqual([])
    await troupe.redis.del(partitionKeys(troupe.tag).timers)
    expect((await troupe.client.health()).stranded).toEqual([{ id: session.rootId, reason }])
  })

  test.each([
    ['not_in_run_queue', {}],
    ['no_lease', { status: 'running', token: '1:n.1' }],
  ] as const)('(%s)', async (reason, fields) => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('nobody')
    const { record } = workerKeys(troupe.tag, session.rootId)
    expect((await troupe.client.health()).stranded).toEqual([])
    await troupe.redis.hset(record, { status: 'queued', ...fields })
    await troupe.redis.del(partitionKeys(troupe.tag).run('unhosted'))
    expect((await troupe.client.health()).stranded).toEqual([{ id: session.rootId, reason }])
  })
})

describe('a text that is no JSON', () => {
  test('a newest history entry or a last failure that is not JSON does not keep anybody from reading the rest', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo, broken } })
    const [fine, failed] = [await ended(troupe, 'echo'), await ended(troupe, 'broken')]
    await troupe.redis.rpush(fine.keys.log, 'garbage')
    await troupe.redis.set(failed.keys.failure, 'garbage')
    const [worker] = (await fine.session.report()).workers
    expect(worker).toMatchObject({ historyLength: 3, lifecycle: 'idle', updatedAt: timeOf(fine.session.id) })
    expect(await failed.session.report()).toMatchObject({
      session: { state: 'failed', failure: { code: 'bug' } },
      workers: [
        { lifecycle: 'idleFailed', lastFailure: { code: 'bug', message: expect.stringContaining('cannot be read') } },
      ],
    })
    expect((await troupe.client.sessions.list()).map(({ state }) => state)).toEqual(['failed', 'completed'])
  })

  test('a wrong line of a kind or a node does not keep anybody from reading the other lines', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const { kinds, nodes } = partitionKeys(troupe.tag)
    await troupe.redis.hset(kinds, 'odd', 'default nonsense')
    await troupe.redis.hset(nodes, 'odd', `${Date.now()} 1 default odd nonsense`)
    expect(await troupe.client.kinds()).toMatchObject([{ kind: 'echo' }, { kind: 'odd', description: '' }])
    expect((await troupe.client.nodes()).find(({ id }) => id === 'odd')).toMatchObject({ slots: 1, pid: null })
    expect(await troupe.client.health()).toMatchObject({ kinds: [{ kind: 'echo' }, { kind: 'odd' }] })
  })
})
