/** sweep: heals what a dead node left, keeps the register of nodes, takes in workers whose kind has found or lost its nodes. */
import { describe, expect, test } from 'vitest'
import { waitUntil } from '../../support/time/wait-until.ts'
import type { HandTurn } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'
import { eventsAreBoundedByBytes } from '../support/upkeep/rest-checks.ts'

const line = (slots: number, pools = 'default', kinds = 'echo') => `now ${slots} ${pools} ${kinds} {"host":"here"}`

describe('a lease that has ended', () => {
  test('an ended lease is taken away and its worker queued by one script; the worker keeps its position in the run queue', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    const turn = await node.claim()
    await turn.record({ entries: ['{}'] })
    await place.expireLease(turn.worker)
    const changed = await place.changed(async () =>
      expect(await node.sweep({ free: 0 })).toEqual({
        healed: 1,
        hasMore: false,
        wakeups: [],
        damaged: [],
        left: 0,
        wasGone: true,
        setBack: null,
        isPaused: false,
        kinds: '',
        isHealer: true,
      }),
    )
    expect(changed).toEqual({
      'w:<one.root>': { status: 'queued', holder: '', crashes: '1' },
      'run:default': ['<one.root> now'],
      leases: null,
      nodes: { 'node-a': line(2) },
      'node-slots': { 'node-a': expect.stringMatching(/^2 default [0-9a-f]{40}$/) },
      seen: { 'node-a': 'now' },
      meta: { sweptAt: 'now' },
      pools: ['default'],
      'slots:default': '2',
      events: [['worker.interrupted <one.root> {"starts":0}']],
    })
  })

  test('an ended lease gives the worker to the next claim with a higher epoch (I5, K6)', async () => {
    await using place = await Place.open()
    await place.create()
    const [a, b] = [place.node(), place.node({ id: 'node-b' })]
    const dead = await a.claim()
    await place.expireLease(dead.worker)
    await b.sweep({ free: 0 })
    const turn = await b.claim()
    expect(turn.assignment).toMatchObject({ workerId: dead.worker, epoch: 2, crashes: 1 })
    await turn.record({ entries: ['{}'] })
    await place.expireLease(dead.worker)
    await b.sweep({ free: 0 })
    expect((await b.claim()).assignment).toMatchObject({ epoch: 3, crashes: 2 })
  })

  test('an ended lease of a worker that is no longer running is only dropped', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ mode: 'conversation' })
    const node = place.node()
    await (await node.claim()).complete()
    await place.redis.zadd(place.keys.leases, 1, root, 1, '01890a5d-ac96-774b-bcce-b302099a8000')
    expect(await node.sweep({ free: 0 })).toMatchObject({ healed: 0 })
    const dump = await place.dump()
    expect(dump).not.toHaveProperty('leases')
    expect(dump).toMatchObject({ 'w:<one.root>': { status: 'idle', crashes: '0' } })
  })

  test('a lease that has not ended stays as it is', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    await node.claim()
    await node.sweep({ free: 0 })
    expect(await place.changed(() => node.sweep({ free: 0 }))).toEqual({})
  })

  test('ended leases beyond one batch are taken away by further batches at once', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 10 } })
    const node = place.node()
    const turns: HandTurn[] = []
    for (let number = 0; number < 25; number++) {
      await place.create({ label: `w${number}` })
      turns.push(await node.claim({ slot: String(number) }))
    }
    for (const { worker } of turns) await place.expireLease(worker)
    const soonAfter = { free: 0, soonAfter: true }
    const healed = [await node.sweep(soonAfter), await node.sweep(soonAfter), await node.sweep(soonAfter)]
    expect(healed.map((swept) => swept.healed)).toEqual([10, 10, 5])
  })
})

describe('healing', () => {
  test('healing is skipped when another sweep healed just before', async () => {
    const sweepEveryMs = 600_000
    await using place = await Place.open({ policy: { sweepEveryMs } })
    await place.create()
    const [a, b] = [place.node(), place.node({ id: 'node-b' })]
    const turn = await a.claim()
    await a.sweep({ free: 0 })
    await place.expireLease(turn.worker)
    expect(await b.sweep({ free: 0, soonAfter: true })).toMatchObject({ healed: 0 })
    expect(await place.dump()).toMatchObject({
      leases: ['<one.root> now'],
      nodes: { 'node-a': line(2), 'node-b': line(2) },
    })
    await place.redis.hset(place.keys.meta, 'sweptAt', (await place.now()) - sweepEveryMs / 2 - 1)
    expect(await b.sweep({ free: 0, soonAfter: true })).toMatchObject({ healed: 1 })
  })

  test('healing is not skipped for ever when the clock has stepped back since the last one', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    const turn = await node.claim()
    await place.expireLease(turn.worker)
    await place.redis.hset(place.keys.meta, 'sweptAt', (await place.now()) + 3_600_000)
    expect(await node.sweep({ free: 0, soonAfter: true })).toMatchObject({ healed: 1 })
  })

  test('healing trims the events to about as many bytes as are kept, if they are long', async () => {
    await using place = await Place.open()
    await expect(eventsAreBoundedByBytes(place)).resolves.toBeUndefined()
  })

  test('healing trims the events to about as many as are kept, and notes that it took some', async () => {
    await using place = await Place.open({ policy: { eventsKept: 1_000 } })
    await place.create()
    await place.node().sweep()
    expect(await place.redis.hexists(place.keys.meta, 'trimmed')).toBe(0)
    const pipeline = place.redis.pipeline()
    for (let number = 0; number < 3_000; number++) pipeline.xadd(place.keys.events, '*', 'x', '[]')
    await pipeline.exec()
    await place.node().sweep()
    expect(await place.redis.hexists(place.keys.meta, 'trimmed')).toBe(1)
    const left = await place.redis.xlen(place.keys.events)
    expect(left).toBeGreaterThanOrEqual(1_000)
    expect(left).toBeLessThan(1_500)
  })
})

describe('the register of nodes', () => {
  test('the register of nodes adds up the slots of live nodes for each pool', async () => {
    await using place = await Place.open()
    const a = place.node({ id: 'node-a', slots: 3, kinds: { default: ['echo'], gpu: ['paint'] } })
    const b = place.node({ id: 'node-b', slots: 5 })
    await a.sweep()
    await b.sweep()
    expect(await place.dump()).toMatchObject({
      nodes: { 'node-a': line(3, 'default,gpu', 'echo,paint'), 'node-b': line(5) },
      'slots:default': '8',
      'slots:gpu': '3',
    })
  })

  test('the register of nodes forgets the slots of a node unseen for a lease, and the node with its assignments after much longer', async () => {
    await using place = await Place.open()
    const [a, b] = [place.node({ slots: 3 }), place.node({ id: 'node-b', slots: 5 })]
    await place.create()
    await a.claim()
    await a.sweep()
    const seen = (ms: number) => place.redis.hset(place.keys.seen, 'node-a', ms)
    await seen((await place.now()) - 61_000)
    await b.sweep()
    expect(await place.dump()).toMatchObject({ 'slots:default': '5', nodes: { 'node-a': expect.anything() } })
    expect(await place.dump()).toHaveProperty('claims:node-a')
    await seen((await place.now()) - 301_000)
    await b.sweep()
    const dump = await place.dump()
    expect(dump.nodes).toEqual({ 'node-b': line(5) })
    expect(dump).not.toHaveProperty('claims:node-a')
  })

  test.each([
    ['five minutes, where leases are short', 60_000, 270],
    ['two leases, where they are long', 200_000, 370],
  ])(
    'the register of nodes forgets a node that may only stand still no sooner than after %s',
    async (_, leaseMs, seconds) => {
      await using place = await Place.open({ policy: { leaseMs } })
      await place.redis.hset(place.keys.nodes, 'node-a', `${(await place.now()) - seconds * 1_000} 3 default echo {}`)
      await place.node({ id: 'node-b' }).sweep()
      expect(await place.redis.hexists(place.keys.nodes, 'node-a')).toBe(1)
    },
  )

  test('the register of nodes removes a node that leaves, with its assignments and its slots', async () => {
    await using place = await Place.open()
    const [a, b] = [place.node({ slots: 3 }), place.node({ id: 'node-b', slots: 5 })]
    await place.create()
    await a.claim()
    await a.sweep()
    await b.sweep()
    await a.sweep({ leaving: true, slots: 0, free: 0 })
    expect(await place.dump()).toMatchObject({ nodes: { 'node-b': line(5) }, 'slots:default': '5' })
    expect(await place.dump()).not.toHaveProperty('claims:node-a')
  })

  test('the register of nodes counts on no slots when the last node of a pool has left', async () => {
    await using place = await Place.open()
    const node = place.node({ slots: 3 })
    await node.sweep()
    await node.sweep({ leaving: true, slots: 0, free: 0 })
    expect((await place.redis.get(place.keys.slots('default'))) ?? '0').toBe('0')
  })
})

describe('a worker of a kind that nobody hosted', () => {
  test('a worker of a kind that nobody hosted is taken by the first node that hosts it, and stands behind those that are there', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ kind: 'later', pool: 'unhosted' })
    await place.create({ label: 'two', pool: 'gpu', kind: 'later' })
    const node = place.node({ kinds: { default: ['echo'], gpu: ['later'] } })
    await node.sweep({ free: 0 })
    expect(await place.dump()).toMatchObject({
      'w:<one.root>': { pool: 'gpu', status: 'queued' },
      'run:gpu': ['<two.root> now', '<one.root> now'],
    })
    expect(await place.dump()).not.toHaveProperty('run:unhosted')
    await node.claim({ pool: 'gpu' })
    expect((await node.claim({ pool: 'gpu' })).worker).toBe(root)
  })

  test('a worker of a kind that nobody hosted has a wake-up sent for it at once, in the sweep that took it', async () => {
    await using place = await Place.open()
    await place.create({ kind: 'later', pool: 'unhosted' })
    expect((await place.node({ kinds: { gpu: ['later'] } }).sweep({ free: 1 })).wakeups).toMatchObject([
      { pool: 'gpu' },
    ])
  })

  test('a worker of a kind that nobody hosted is not taken by a node that does not host it', async () => {
    await using place = await Place.open()
    await place.create({ kind: 'later', pool: 'unhosted' })
    const changed = await place.changed(() => place.node().sweep({ free: 0 }))
    expect(changed).not.toHaveProperty('run:unhosted')
  })

  test('a worker of a kind that nobody hosted is found behind a whole batch of others that nobody hosts', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 3 } })
    for (let number = 0; number < 5; number++)
      await place.create({ label: `typo ${number}`, kind: 'typo', pool: 'unhosted' })
    await place.create({ kind: 'later', pool: 'unhosted' })
    const node = place.node({ kinds: { default: ['later'] } })
    for (let sweep = 0; sweep < 50; sweep++) await node.sweep({ free: 0 })
    expect(await place.redis.zcard(place.keys.run('default'))).toBe(1)
  })
})

describe('a worker of a kind that no live node hosts any more', () => {
  test('a worker of a kind that no live node hosts any more leaves the run queue of its pool, and comes back with the first node that hosts it', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ label: 'gone', kind: 'gone' })
    await place.create({ label: 'here' })
    const node = place.node()
    await node.sweep({ free: 5 })
    expect(await place.dump()).toMatchObject({
      'run:default': ['<here.root> now'],
      'run:unhosted': ['<gone.root> now'],
      'w:<gone.root>': { pool: 'unhosted', status: 'queued' },
    })
    await place.node({ id: 'node-b', kinds: { other: ['gone'] } }).sweep({ free: 0 })
    expect(await place.redis.zcard(place.keys.run('other'))).toBe(1)
    expect((await place.record(root)).pool).toBe('other')
  })

  test('a worker of a kind that no live node hosts any more goes to the pool where its kind was registered later, whichever node sweeps', async () => {
    for (const others of [['echo'], []]) {
      await using place = await Place.open()
      await place.create({ label: 'moved', kind: 'moved' })
      if (others.length === 0) await place.node({ id: 'node-a' }).sweep({ free: 0, leaving: true })
      await place.redis.hset(place.keys.kinds, 'moved', 'new {"description":""}')
      const node = place.node({ id: 'node-b', kinds: others.length > 0 ? { default: others } : { new: ['moved'] } })
      await node.sweep({ free: 5 })
      expect(await place.dump()).toMatchObject({ 'run:new': ['<moved.root> now'], 'w:<moved.root>': { pool: 'new' } })
      expect(await place.dump()).not.toHaveProperty('run:default')
    }
  })

  test('a worker of a kind that no live node hosts any more is found behind any number of others that stay in a pool without a node', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 2 } })
    for (let number = 0; number < 5; number++) await place.create({ label: `stays ${number}`, kind: 'stays' })
    const { root } = await place.create({ label: 'moved', kind: 'moved' })
    await place.node().sweep({ free: 0, leaving: true })
    await place.redis.hset(place.keys.kinds, 'moved', 'new {"description":""}')
    const node = place.node({ id: 'node-b', kinds: { new: ['moved'] } })
    await waitUntil('it has moved', async () => {
      await node.sweep({ free: 0 })
      return (await place.record(root)).pool === 'new'
    })
    expect(await place.redis.zcard(place.keys.run('default'))).toBe(5)
  })

  test('a worker of a kind that no live node hosts any more stays when another live node hosts it', async () => {
    await using place = await Place.open()
    await place.create({ kind: 'elsewhere' })
    await place.node({ id: 'node-b', kinds: { default: ['elsewhere'] } }).sweep({ free: 0 })
    await place.node().sweep({ free: 5 })
    expect(await place.dump()).toMatchObject({ 'run:default': ['<one.root> now'] })
  })
})
