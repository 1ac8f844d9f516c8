/** Reads for people: what the records say, in one shape, without a write. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { changes, type Dump } from './support/dump.ts'
import { completion, runFailure } from './support/hand-node.ts'
import { Place } from './support/place.ts'

/** No read changes anything. */
let after: (() => Promise<void>) | null = null
afterEach(async () => {
  await after?.()
  after = null
})

async function still(place: Place): Promise<void> {
  const before: Dump = await place.dump()
  after = async () => {
    expect(changes(before, await place.dump())).toEqual({})
    await place[Symbol.asyncDispose]()
  }
}

describe('sessions', () => {
  test('are listed newest first, page by page', async () => {
    const place = await Place.open()
    const made: string[] = []
    for (let number = 0; number < 7; number++) made.push((await place.create({ label: `s${number}` })).id)
    for (const [index, id] of made.entries()) await place.redis.zadd(place.keys.sessions, 1_000 + index, id)
    await still(place)
    const first = await place.inspect.sessionIds(3)
    const second = await place.inspect.sessionIds(3, first.at(-1))
    const third = await place.inspect.sessionIds(3, second.at(-1))
    expect([...first, ...second, ...third].map(({ id }) => id)).toEqual(made.toReversed())
    expect(first[0]?.createdAt).toBe(1_006)
    expect(await place.inspect.createdAt(made[2] as string)).toBe(1_002)
    expect(await place.inspect.createdAt(newId(0))).toBeNull()
  })

  test('of one millisecond are listed by id, behind any place, also one that is not there', async () => {
    const place = await Place.open()
    const made: string[] = []
    for (let number = 0; number < 6; number++) made.push((await place.create({ label: `s${number}` })).id)
    made.sort().reverse()
    for (const [index, id] of made.entries()) await place.redis.zadd(place.keys.sessions, index < 5 ? 2_000 : 1_000, id)
    await still(place)
    const behind = async (createdAt: number, id: string, limit = 9) =>
      (await place.inspect.sessionIds(limit, { createdAt, id })).map((one) => one.id)
    expect(await behind(2_000, made[1] as string, 2)).toEqual(made.slice(2, 4))
    expect(await behind(2_000, made[4] as string)).toEqual(made.slice(5))
    expect(await behind(1_000, made[5] as string)).toEqual([])
    expect(await behind(1_999, 'f')).toEqual(made.slice(5))
    expect(await behind(2_000, '0')).toEqual(made.slice(5))
    expect(await behind(2_001, '0')).toEqual(made)
  })

  test('say whether they were cancelled, and how they ended', async () => {
    const place = await Place.open()
    const node = place.node()
    const done = await place.create({ label: 'done' })
    await (await node.claim()).complete({ outcome: 'failed' })
    const active = await place.create({ label: 'active' })
    const cancelling = await place.create({ label: 'cancelling' })
    await place.sessions.cancel(cancelling.id, 'enough')
    await still(place)
    const ofRoot = async (id: string) => (await place.inspect.session(id))?.session
    expect(await ofRoot(active.id)).toMatchObject({ end: null, cancelReasonJson: null })
    expect(await ofRoot(cancelling.id)).toMatchObject({ end: null, cancelReasonJson: '"enough"' })
    expect(await ofRoot(done.id)).toMatchObject({
      end: { status: 'failed', at: expect.any(Number), result: { run: 1, status: 'failed', position: 1 } },
    })
    expect(await place.inspect.session(newId(0))).toBeNull()
  })
})

describe('workers', () => {
  test('are those of the session, the root first, in the order of their spawns', async () => {
    const place = await Place.open()
    const { id, root } = await place.create()
    const turn = await place.node().claim()
    const spawns = [1, 2, 3].map((call) => place.child(root, call, `c${call}`))
    await turn.park('control', { spawns, awaits: [1, 2, 3] })
    await still(place)
    const ids = await place.inspect.workerIds(id)
    expect(ids).toEqual([root, ...spawns.map((spawn) => spawn.id)])
    expect(await place.inspect.workerIds(id, 1)).toEqual([root])
    expect(await place.inspect.workerIds(id, 3)).toEqual(ids.slice(0, 3))
    expect(await place.inspect.workerIds(id, 9)).toEqual(ids)
    expect((await place.inspect.workers([...ids, newId(0)])).map((row) => row.id)).toEqual(ids)
  })

  test('are read without their newest entries all at once, or kept, which may be long', async () => {
    const place = await Place.open()
    const { id, root } = await place.create()
    const turn = await place.node().claim()
    const spawns = Array.from({ length: 50 }, (_, index) => place.child(root, index + 1, `c${index}`))
    await turn.park('control', { spawns })
    const ids = await place.inspect.workerIds(id)
    const [first, second, ...more] = ids as [string, string, ...string[]]
    const text = 'x'.repeat(10_000)
    for (const [index, worker] of more.entries())
      await place.redis.rpush(place.workerKeys(worker).log, '{}', JSON.stringify({ at: index, text }))
    await place.redis.rpush(place.workerKeys(first).log, '{bad')
    await still(place)
    let [now, most] = [0, 0]
    const lindex = place.redis.lindex.bind(place.redis)
    vi.spyOn(place.redis, 'lindex').mockImplementation(async (...args) => {
      most = Math.max(most, ++now)
      return lindex(...args).finally(() => now--)
    })
    const rows = await place.inspect.workers(ids)
    expect(rows.map((row) => [row.id, row.updatedAt])).toEqual([
      [first, null],
      [second, null],
      ...more.map((worker, index) => [worker, index]),
    ])
    expect(JSON.stringify(rows)).not.toContain(text)
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThan(40)
  })

  test('show failure, history, when that grew last, what waits in each lane, and the node that runs them', async () => {
    const place = await Place.open()
    const { root } = await place.create()
    const node = place.node()
    await node.sweep({ free: 0 })
    const turn = await node.claim()
    await turn.record({ entries: ['{"at":1}', '{"at":2}'], failure: runFailure })
    await place.post(root, 'second')
    await still(place)
    expect(await place.inspect.workers([root])).toMatchObject([
      {
        id: root,
        failureJson: JSON.stringify(runFailure),
        historyLength: 2,
        updatedAt: 2,
        pending: { user: 2, family: 0, control: 0 },
        node: 'node-a',
      },
    ])
  })

  test('that run on no live node, or run no more, name none', async () => {
    const place = await Place.open()
    const [one, two] = [
      await place.create({ label: 'one' }),
      await place.create({ label: 'two', mode: 'conversation' }),
    ]
    const node = place.node()
    await node.claim()
    await (await node.claim()).record({ ...completion, userUsed: 1 })
    await still(place)
    expect((await place.inspect.workers([one.root, two.root])).map((row) => row.node)).toEqual([null, null])
  })
})

describe('histories and mailboxes', () => {
  test('are read from any place on, with their positions', async () => {
    const place = await Place.open()
    const { root } = await place.create()
    const turn = await place.node().claim()
    await turn.record({ entries: Array.from({ length: 10 }, (_, index) => `{"n":${index}}`) })
    await still(place)
    expect(await place.inspect.history(root, -1, 2)).toEqual([
      { position: 0, json: '{"n":0}' },
      { position: 1, json: '{"n":1}' },
    ])
    expect(await place.inspect.history(root, 7, 100)).toEqual([
      { position: 8, json: '{"n":8}' },
      { position: 9, json: '{"n":9}' },
    ])
    expect(await place.inspect.entryAt(root, 4)).toBe('{"n":4}')
    expect(await place.inspect.entryAt(root, 10)).toBeNull()
  })

  test('show at most so many mails of each lane', async () => {
    const place = await Place.open()
    const { root } = await place.create()
    for (const text of ['b', 'c', 'd']) await place.post(root, text)
    await still(place)
    expect(await place.inspect.mailbox(root, 2)).toEqual([
      { lane: 'control', first: 0, mails: [] },
      { lane: 'family', first: 0, mails: [] },
      { lane: 'user', first: 0, mails: ['i\t-\t"first"', 'i\t-\t"b"'] },
    ])
  })
})

test('a mailbox of which something is consumed as it is read is read again: no mail is told at the place of another', async () => {
  await using place = await Place.open()
  const { root } = await place.create()
  await place.post(root, 'b')
  const { record, user } = place.workerKeys(root)
  const pipeline = place.redis.pipeline.bind(place.redis)
  using reads = vi.spyOn(place.redis, 'pipeline').mockImplementationOnce(() => {
    const reading = pipeline()
    const lrange = reading.lrange.bind(reading)
    reading.lrange = (key, from, to) => {
      if (key === user) reading.lpop(user).hincrby(record, 'user', 1)
      return lrange(key, from, to)
    }
    return reading
  })
  const lanes = await place.inspect.mailbox(root, 9)
  expect(lanes.at(-1)).toEqual({ lane: 'user', first: 1, mails: ['i\t-\t"b"'] })
  expect(reads).toHaveBeenCalledTimes(2)
})

describe('nodes, kinds, dead letters, queues', () => {
  test('nodes are as they said last', async () => {
    const place = await Place.open()
    const node = place.node({ slots: 3, kinds: { default: ['echo', 'reader'], gpu: ['paint'] } })
    await node.sweep({ free: 0 })
    await still(place)
    expect(await place.inspect.nodes()).toEqual([
      {
        id: 'node-a',
        lastSeen: expect.any(Number),
        slots: 3,
        pools: ['default', 'gpu'],
        kinds: ['echo', 'reader', 'paint'],
        facts: { host: 'here' },
      },
    ])
  })

  test('nodes that were not seen for a while are not live', async () => {
    const place = await Place.open()
    for (const id of ['node-a', 'node-b']) await place.node({ id }).sweep({ free: 0 })
    const line = (await place.redis.hget(place.keys.nodes, 'node-b')) as string
    await place.redis.hset(
      place.keys.nodes,
      'node-b',
      line.replace(/^\d+/, (seen) => `${Number(seen) - 15_000}`),
    )
    await still(place)
    expect((await place.inspect.liveNodes()).map(({ id }) => id)).toEqual(['node-a'])
    expect(await place.inspect.nodes()).toHaveLength(2)
  })

  test('kinds are as nodes registered them, and name their pools', async () => {
    const place = await Place.open()
    const node = place.node()
    expect(await place.sessions.poolOf('echo')).toBe('unhosted')
    const kinds = [
      { kind: 'echo', pool: 'default', description: 'Says it "again", and\nagain.' },
      { kind: 'a/b', pool: 'gpu', description: '' },
    ]
    await node.upkeep.registerKinds([])
    await node.upkeep.registerKinds(kinds)
    await still(place)
    expect(await place.inspect.kinds()).toEqual(kinds)
    expect(await node.upkeep.kindPools()).toEqual(
      new Map([
        ['echo', 'default'],
        ['a/b', 'gpu'],
      ]),
    )
    expect(await place.sessions.poolOf('a/b')).toBe('gpu')
  })

  test('a kind is looked up again after a while', async () => {
    const place = await Place.open({ policy: { sweepEveryMs: 0 } })
    expect(await place.sessions.poolOf('echo')).toBe('unhosted')
    await place.node().upkeep.registerKinds([{ kind: 'echo', pool: 'default', description: '' }])
    await still(place)
    expect(await place.sessions.poolOf('echo')).toBe('default')
  })

  test('dead letters come newest first', async () => {
    const place = await Place.open()
    for (const mail of ['a', 'b', 'c']) await place.redis.xadd(place.keys.dead, '*', 'mail', mail)
    await still(place)
    const newest = await place.letters.newestLetters(2)
    expect(newest.map(({ fields }) => fields.mail)).toEqual(['c', 'b'])
    const older = await place.letters.newestLetters(2, newest.at(-1)?.id)
    expect(older.map(({ fields }) => fields.mail)).toEqual(['a'])
    const behind = await place.letters.lettersBehind(older[0]?.id, newest[1]?.id as string, 5)
    expect(behind.map(({ fields }) => fields.mail)).toEqual(['b'])
  })

  test('of dead letters those count as settled whose mark is of no letter that was trimmed', async () => {
    const place = await Place.open()
    for (const at of [7, 8, 9]) await place.redis.xadd(place.keys.dead, `${at}-0`, 'mail', 'a')
    await place.redis.zadd(place.keys.redriven, 6, '6-0 0 ', 8, '8-0 1 ')
    await still(place)
    expect(await place.inspect.queueFacts([])).toMatchObject({ dead: 3, settled: 1 })
  })

  test('queues tell what waits, since when, and what is out', async () => {
    const place = await Place.open()
    const { root } = await place.create({ label: 'a' })
    await place.create({ label: 'b', kind: 'other' })
    const node = place.node()
    const turn = await place.create({ label: 'c', pool: 'gpu', kind: 'paint' })
    const gpu = place.node({ id: 'node-b', kinds: { gpu: ['paint'] } })
    expect((await gpu.claim({ pool: 'gpu' })).worker).toBe(turn.root)
    await place.expireLease(turn.root)
    await node.sweep({ free: 0, soonAfter: false })
    await still(place)
    const facts = await place.inspect.queueFacts(['default', 'gpu', 'none'])
    expect(facts).toMatchObject({
      pools: [
        { pool: 'default', queued: 2, oldest: { id: root, since: expect.any(Number) }, bells: 1, busy: 0 },
        { pool: 'gpu', queued: 1, busy: 0 },
        { pool: 'none', queued: 0, oldest: null, bells: 0, busy: 0 },
      ],
      expiredLeases: 0,
      running: 0,
      timers: 0,
      cancelling: 0,
      dead: 0,
      settled: 0,
    })
    expect((await place.inspect.queuedKinds('default', 10)).map(({ kind }) => kind)).toEqual(['echo', 'other'])
  })

  test('bells that are stale are not out, and leases count as expired when their time is over', async () => {
    const place = await Place.open()
    const now = await place.inspect.now()
    await place.redis.zadd(place.keys.bells('default'), now - 1_000, 'stale', now + 60_000, 'out')
    await place.redis.zadd(place.keys.leases, now - 1_000, 'one', now + 60_000, 'two', now + 60_000, 'three')
    await still(place)
    const facts = await place.inspect.queueFacts(['default'])
    expect(facts).toMatchObject({ pools: [{ bells: 1 }], expiredLeases: 1, running: 3 })
  })

  test('whether Redis takes writes is asked without one', async () => {
    const place = await Place.open()
    await still(place)
    expect(await place.inspect.refusal()).toBeNull()
  })

  test('INFO is a table', async () => {
    const place = await Place.open()
    await still(place)
    expect(await place.inspect.info()).toMatchObject({ redis_version: expect.stringMatching(/^\d+\./), role: 'master' })
  })
})
