/** Reads for people: what the records say, in one shape, without a write. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { decodeMail } from '../../../src/core/worker/message/message.ts'
import { changes, type Dump } from '../support/dump.ts'
import { completion, runFailure } from '../support/hand-node.ts'
import { gathered } from '../support/mutant/large-checks.ts'
import { Place } from '../support/place.ts'
import { resultOf } from '../support/turn/checks.ts'

/** Checks that no read changes anything. */
let after: (() => Promise<void>) | null = null
afterEach(async () => {
  await after?.()
  after = null
})

async function still(status: Place): Promise<void> {
  const before: Dump = await status.dump()
  after = async () => {
    expect(changes(before, await status.dump())).toEqual({})
    await status[Symbol.asyncDispose]()
  }
}

describe('sessions', () => {
  test('sessions are listed newest first, page by page', async () => {
    const status = await Place.open()
    const made: string[] = []
    for (let number = 0; number < 7; number++) made.push((await status.create({ label: `s${number}` })).id)
    for (const [index, id] of made.entries()) await status.redis.zadd(status.keys.sessions, 1_000 + index, id)
    await still(status)
    const first = await status.inspect.sessionIds(3)
    const second = await status.inspect.sessionIds(3, first.at(-1))
    const third = await status.inspect.sessionIds(3, second.at(-1))
    expect([...first, ...second, ...third].map(({ id }) => id)).toEqual(made.toReversed())
    expect(first[0]?.createdAt).toBe(1_006)
    expect(await status.inspect.createdAt(made[2] as string)).toBe(1_002)
    expect(await status.inspect.createdAt(newId(0))).toBeNull()
  })

  test('sessions of one millisecond are listed by id, behind any position, even one that is not there', async () => {
    const status = await Place.open()
    const made: string[] = []
    for (let number = 0; number < 6; number++) made.push((await status.create({ label: `s${number}` })).id)
    made.sort().reverse()
    for (const [index, id] of made.entries())
      await status.redis.zadd(status.keys.sessions, index < 5 ? 2_000 : 1_000, id)
    await still(status)
    const behind = async (createdAt: number, id: string, limit = 9) =>
      (await status.inspect.sessionIds(limit, { createdAt, id })).map((one) => one.id)
    expect(await behind(2_000, made[1] as string, 2)).toEqual(made.slice(2, 4))
    expect(await behind(2_000, made[4] as string)).toEqual(made.slice(5))
    expect(await behind(1_000, made[5] as string)).toEqual([])
    expect(await behind(1_999, 'f')).toEqual(made.slice(5))
    expect(await behind(2_000, '0')).toEqual(made.slice(5))
    expect(await behind(2_001, '0')).toEqual(made)
  })

  test('sessions say whether they were cancelled, and how they ended', async () => {
    const status = await Place.open()
    const node = status.node()
    const done = await status.create({ label: 'done' })
    await (await node.claim()).complete({ outcome: 'failed' })
    const active = await status.create({ label: 'active' })
    const cancelling = await status.create({ label: 'cancelling' })
    await status.sessions.cancel(cancelling.id, 'enough')
    await still(status)
    const ofRoot = async (id: string) => (await status.inspect.session(id))?.session
    expect(await ofRoot(active.id)).toMatchObject({ end: null, cancelReasonJson: null })
    expect(await ofRoot(cancelling.id)).toMatchObject({ end: null, cancelReasonJson: '"enough"' })
    expect(await ofRoot(done.id)).toMatchObject({
      end: { status: 'failed', at: expect.any(Number), result: { run: 1, status: 'failed', position: 1 } },
    })
    expect(await status.inspect.session(newId(0))).toBeNull()
  })
})

describe('workers', () => {
  test('workers are those of the session, the root first, in the order of their spawns', async () => {
    const status = await Place.open()
    const { id, root } = await status.create()
    const turn = await status.node().claim()
    const spawns = [1, 2, 3].map((call) => status.child(root, call, `c${call}`))
    await turn.park('signals', { spawns, pendingCalls: [1, 2, 3] })
    await still(status)
    const ids = await status.inspect.workerIds(id)
    expect(ids).toEqual([root, ...spawns.map((spawn) => spawn.id)])
    expect(await status.inspect.workerIds(id, 1)).toEqual([root])
    expect(await status.inspect.workerIds(id, 3)).toEqual(ids.slice(0, 3))
    expect(await status.inspect.workerIds(id, 9)).toEqual(ids)
    expect((await status.inspect.workers([...ids, newId(0)])).map((row) => row.id)).toEqual(ids)
  })

  test('workers are read without all their newest entries at once, which may be long', async () => {
    const status = await Place.open()
    const { id, root } = await status.create()
    const turn = await status.node().claim()
    const spawns = Array.from({ length: 50 }, (_, index) => status.child(root, index + 1, `c${index}`))
    await turn.park('signals', { spawns })
    const ids = await status.inspect.workerIds(id)
    const [first, second, ...more] = ids as [string, string, ...string[]]
    const text = 'x'.repeat(10_000)
    for (const [index, worker] of more.entries())
      await status.redis.rpush(status.workerKeys(worker).log, '{}', JSON.stringify({ at: index, text }))
    await status.redis.rpush(status.workerKeys(first).log, '{bad')
    await still(status)
    let [now, most] = [0, 0]
    const lindex = status.redis.lindex.bind(status.redis)
    vi.spyOn(status.redis, 'lindex').mockImplementation(async (...args) => {
      most = Math.max(most, ++now)
      return lindex(...args).finally(() => now--)
    })
    const rows = await status.inspect.workers(ids)
    expect(rows.map((row) => [row.id, row.updatedAt])).toEqual([
      [first, null],
      [second, null],
      ...more.map((worker, index) => [worker, index]),
    ])
    expect(JSON.stringify(rows)).not.toContain(text)
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThan(40)
  })

  test('workers show the failure, the history and its last growth, the waiting mail of each lane, and the node', async () => {
    const status = await Place.open()
    const { root } = await status.create()
    const node = status.node()
    await node.sweep({ free: 0 })
    const turn = await node.claim()
    await turn.record({ entries: ['{"at":1}', '{"at":2}'], failure: runFailure })
    await status.post(root, 'second')
    await still(status)
    expect(await status.inspect.workers([root])).toMatchObject([
      {
        id: root,
        failureJson: JSON.stringify(runFailure),
        historyLength: 2,
        updatedAt: 2,
        pending: { inbox: 2, results: 0, signals: 0 },
        node: 'node-a',
      },
    ])
  })

  test('workers show no result as waiting that was taken before one in front of it', async () => {
    const status = await Place.open()
    const { root } = await status.create()
    const node = status.node()
    const turn = await node.claim()
    await turn.record({ inputsConsumed: 1, spawns: [1, 2].map((call) => status.child(root, call, `c${call}`)) })
    for (const _ of [1, 2]) {
      const child = await node.claim({ slot: 'other' })
      await child.complete({ result: resultOf(child) })
    }
    await turn.record({ resultsConsumed: [1] })
    await still(status)
    expect(await status.inspect.workers([root])).toMatchObject([{ pending: { inbox: 0, results: 1, signals: 0 } }])
  })

  test('workers on no live node, or that run no more, name none', async () => {
    const status = await Place.open()
    const [one, two] = [
      await status.create({ label: 'one' }),
      await status.create({ label: 'two', mode: 'conversation' }),
    ]
    const node = status.node()
    await node.claim()
    await (await node.claim()).record({ ...completion, inputsConsumed: 1 })
    await still(status)
    expect((await status.inspect.workers([one.root, two.root])).map((row) => row.node)).toEqual([null, null])
  })
})

describe('histories and mailboxes', () => {
  test('histories and mailboxes are read from any position on, with their positions', async () => {
    const status = await Place.open()
    const { root } = await status.create()
    const turn = await status.node().claim()
    await turn.record({ entries: Array.from({ length: 10 }, (_, index) => `{"n":${index}}`) })
    await still(status)
    expect(await status.inspect.history(root, -1, 2)).toEqual([
      { position: 0, json: '{"n":0}' },
      { position: 1, json: '{"n":1}' },
    ])
    expect(await status.inspect.history(root, 7, 100)).toEqual([
      { position: 8, json: '{"n":8}' },
      { position: 9, json: '{"n":9}' },
    ])
    expect(await status.inspect.entryAt(root, 4)).toBe('{"n":4}')
    expect(await status.inspect.entryAt(root, 10)).toBeNull()
  })

  test('histories and mailboxes show a limited number of mails of each lane', async () => {
    const status = await Place.open()
    const { root } = await status.create()
    for (const text of ['b', 'c', 'd']) await status.post(root, text)
    await still(status)
    expect(await status.inspect.mailbox(root, 2)).toEqual([
      { lane: 'signals', first: 0, mails: [] },
      { lane: 'results', first: 0, mails: [] },
      { lane: 'inbox', first: 0, mails: ['i\t-\t"first"', 'i\t-\t"b"'] },
    ])
  })
})

test('a mailbox shows large results, which stand beside their lane', async () => {
  await using place = await Place.open()
  const { root } = await gathered(place, [1, 2])
  const results = (await place.inspect.mailbox(root, 9)).find(({ lane }) => lane === 'results')
  expect(results?.mails.map((text) => decodeMail('results', 0, text).message)).toMatchObject([
    { call: 2, value: expect.stringMatching(/^x{3000}$/) },
    { call: 1, value: expect.stringMatching(/^x{3000}$/) },
  ])
})

test('a mailbox that changes while it is read is read again, so that no mail appears under the number of another', async () => {
  await using status = await Place.open()
  const { root } = await status.create()
  await status.post(root, 'b')
  const { record, inbox } = status.workerKeys(root)
  const pipeline = status.redis.pipeline.bind(status.redis)
  let pops = 1
  using reads = vi.spyOn(status.redis, 'pipeline').mockImplementation(() => {
    const reading = pipeline()
    const lrange = reading.lrange.bind(reading)
    reading.lrange = (key, from, to) => {
      if (key === inbox && pops-- > 0) reading.lpop(inbox).hincrby(record, 'inbox', 1)
      return lrange(key, from, to)
    }
    return reading
  })
  const lanes = await status.inspect.mailbox(root, 9)
  expect(lanes.at(-1)).toEqual({ lane: 'inbox', first: 1, mails: ['i\t-\t"b"'] })
  expect(reads).toHaveBeenCalledTimes(lanes.length + 1)
})

test.each([
  [3, 0, 20],
  [12, 12, 8],
])(
  'a mailbox is read in pieces, each mail under its number, if %i are consumed behind the first piece',
  async (consumed, first, count) => {
    await using status = await Place.open()
    const { root } = await status.create({ rests: true })
    const { record, inbox } = status.workerKeys(root)
    const mails = Array.from({ length: 20 }, (_, index) => `i\t-\t${index}`)
    await status.redis.rpush(inbox, ...mails)
    const reading = status.inspect.mailbox(root, 99)
    await status.redis.ltrim(inbox, consumed, -1)
    await status.redis.hincrby(record, 'inbox', consumed)
    expect((await reading).at(-1)).toEqual({ lane: 'inbox', first, mails: mails.slice(first, first + count) })
  },
)

describe('nodes, kinds, dead letters, queues', () => {
  test('nodes in a list are as they described themselves last', async () => {
    const status = await Place.open()
    const node = status.node({ slots: 3, kinds: { default: ['echo', 'reader'], gpu: ['paint'] } })
    await node.sweep({ free: 0 })
    await still(status)
    expect(await status.inspect.nodes()).toEqual([
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

  test('nodes that were not seen for a while are stalled, and not live', async () => {
    const status = await Place.open()
    for (const id of ['node-a', 'node-b']) await status.node({ id }).sweep({ free: 0 })
    await status.redis.hincrby(status.keys.seen, 'node-b', -15_000)
    await still(status)
    expect((await status.inspect.liveNodes()).map(({ id }) => id)).toEqual(['node-a'])
    const { stalled } = await status.inspect.nodesBySight()
    expect(stalled).toMatchObject([{ id: 'node-b', facts: { host: 'here' } }])
    expect(await status.inspect.nodes()).toHaveLength(2)
  })

  test('workers whose leases ended during a turn are named, with what their nodes said', async () => {
    const status = await Place.open()
    for (const label of ['one', 'two']) await status.create({ label })
    const node = status.node()
    const [fine, lost] = [await node.claim(), await node.claim()]
    await status.redis.hset(status.workerKeys(lost.worker).record, 'lastWords', 'blocked, at loop.ts:4:3')
    await status.expireLease(lost.worker)
    await still(status)
    expect(await status.inspect.expiredWorkers()).toEqual([
      { id: lost.worker, kind: 'echo', lastWords: 'blocked, at loop.ts:4:3' },
    ])
    expect(fine.worker).not.toBe(lost.worker)
  })

  test('kinds are as nodes registered them, and name their pools', async () => {
    const status = await Place.open()
    const node = status.node()
    expect(await status.sessions.poolOf('echo')).toBe('unhosted')
    const kinds = [
      { kind: 'echo', pool: 'default', description: 'Says it "again", and\nagain.' },
      { kind: 'a/b', pool: 'gpu', description: '' },
    ]
    await node.upkeep.announce(1, [])
    await node.upkeep.announce(1, kinds)
    await still(status)
    expect(await status.inspect.kinds()).toEqual(kinds)
    expect(await node.upkeep.kindPools()).toEqual(
      new Map([
        ['echo', 'default'],
        ['a/b', 'gpu'],
      ]),
    )
    expect(await status.sessions.poolOf('a/b')).toBe('gpu')
  })

  test('a kind is looked up again after a while', async () => {
    const status = await Place.open({ policy: { sweepEveryMs: 0 } })
    expect(await status.sessions.poolOf('echo')).toBe('unhosted')
    await status.node().upkeep.announce(1, [{ kind: 'echo', pool: 'default', description: '' }])
    await still(status)
    expect(await status.sessions.poolOf('echo')).toBe('default')
  })

  test('dead letters come newest first', async () => {
    const status = await Place.open()
    for (const mail of ['a', 'b', 'c']) await status.redis.xadd(status.keys.dead, '*', 'mail', mail)
    await still(status)
    const newest = await status.letters.newestLetters(2)
    expect(newest.map(({ fields }) => fields.mail)).toEqual(['c', 'b'])
    const older = await status.letters.newestLetters(2, newest.at(-1)?.id)
    expect(older.map(({ fields }) => fields.mail)).toEqual(['a'])
    const behind = await status.letters.lettersBehind(older[0]?.id, newest[1]?.id as string, 5)
    expect(behind.map(({ fields }) => fields.mail)).toEqual(['b'])
  })

  test('dead letters count as settled if their disposition belongs to a letter that was not trimmed', async () => {
    const status = await Place.open()
    for (const at of [7, 8, 9]) await status.redis.xadd(status.keys.dead, `${at}-0`, 'mail', 'a')
    await status.redis.zadd(status.keys.redriven, 6, '6-0 0 ', 8, '8-0 1 ')
    await still(status)
    expect(await status.inspect.queueFacts([])).toMatchObject({ dead: 3, settled: 1 })
  })

  test('queues show how many workers wait, since when, and which wake-ups are out', async () => {
    const status = await Place.open()
    const { root } = await status.create({ label: 'a' })
    await status.create({ label: 'b', kind: 'other' })
    const node = status.node()
    const turn = await status.create({ label: 'c', pool: 'gpu', kind: 'paint' })
    const gpu = status.node({ id: 'node-b', kinds: { gpu: ['paint'] } })
    expect((await gpu.claim({ pool: 'gpu' })).worker).toBe(turn.root)
    await status.expireLease(turn.root)
    await node.sweep({ free: 0, soonAfter: false })
    await still(status)
    const facts = await status.inspect.queueFacts(['default', 'gpu', 'none'])
    expect(facts).toMatchObject({
      pools: [
        { pool: 'default', queued: 2, oldest: { id: root, since: expect.any(Number) }, wakeups: 1, busy: 0 },
        { pool: 'gpu', queued: 1, busy: 0 },
        { pool: 'none', queued: 0, oldest: null, wakeups: 0, busy: 0 },
      ],
      expiredLeases: 0,
      running: 0,
      timers: 0,
      cancelling: 0,
      dead: 0,
      settled: 0,
    })
    expect((await status.inspect.queuedKinds('default', 10)).map(({ kind }) => kind)).toEqual(['echo', 'other'])
  })

  test('stale wake-ups do not count as out, and leases count as expired when their time is over', async () => {
    const status = await Place.open()
    const now = await status.inspect.now()
    await status.redis.zadd(status.keys.wakeups('default'), now - 1_000, 'stale', now + 60_000, 'out')
    await status.redis.zadd(status.keys.leases, now - 1_000, 'one', now + 60_000, 'two', now + 60_000, 'three')
    await still(status)
    const facts = await status.inspect.queueFacts(['default'])
    expect(facts).toMatchObject({ pools: [{ wakeups: 1 }], expiredLeases: 1, running: 3 })
  })

  test('a server is asked what it says of itself, and whether it takes writes, without a write', async () => {
    const status = await Place.open()
    await still(status)
    expect(await status.inspect.serverFacts()).toMatchObject({
      refusal: null,
      role: 'master',
      info: { redis_version: expect.stringMatching(/^\d+\./) },
    })
  })
})
