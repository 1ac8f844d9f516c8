/** Does each sweep do all there is to do? The store and its Redis are real, the node around it is not. */
import { describe, expect, test, vi } from 'vitest'
import { TransientError } from '../../../src/core/errors.ts'
import type { GuestsAnswered, Wakeup } from '../../../src/core/ports/wake.ts'
import type { SweeperHost } from '../../../src/runtime/upkeep/sweeper.ts'
import { workerKeys } from '../../../src/store/keys.ts'
import type { GuestStore } from '../../../src/store/turn/guest-store.ts'
import { Place } from '../../store/support/place.ts'
import { atOnce } from '../../store/support/queue/gate-checks.ts'
import { partitionsOf } from '../../store/support/queue/guest-checks.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { poolLoads, sweeperOf, sweepingBy } from './sweeper-of.ts'

describe('a sweep', () => {
  test('a sweep removes all old sessions, batch by batch, and registers kinds when it is through', async () => {
    await using place = await Place.open({
      policy: { sweepBatch: 2, retentionMs: 0, pruneEveryMs: -1, pruneMs: 60_000 },
    })
    const node = place.node()
    for (let number = 0; number < 7; number++) {
      await place.create({ label: `old ${number}` })
      await (await node.claim()).complete()
    }
    let registered = 0
    const register = () => {
      registered++
      return Promise.resolve()
    }
    await node.upkeep.announce(1, [])
    await sweeperOf(node.upkeep, place, { register }).runOnce()
    expect(await place.redis.zcard(place.keys.sessions)).toBe(0)
    expect(registered).toBe(1)
  })
})

test('a reason why nothing can be told is logged once, however many notices wait', async () => {
  await using place = await Place.open()
  const node = place.node()
  await node.upkeep.announce(1, [])
  const { root } = await place.create()
  const notices = ['1-0', '2-0', '3-0', '4-0'].map((letter) => `${root}:notify:${letter}`)
  for (const notice of notices) await place.redis.zadd(place.keys.timers, 0, notice)
  const [asked, logged]: [string[], unknown[]] = [[], []]
  const tell = async (notice: string) => {
    asked.push(notice)
    throw new TransientError(notice === notices[3] ? 'another reason' : 'no secret')
  }
  const log = { debug() {}, info() {}, error() {}, warn: (_: string, fields: object) => void logged.push(fields) }
  await sweeperOf(node.upkeep, place, { tell, log } as Partial<SweeperHost>).runOnce()
  await waitUntil('all were tried', () => asked.length === notices.length && logged.length > 1)
  expect(logged).toMatchObject([{ worker: root, error: 'no secret' }, { error: 'another reason' }])
})

test('a sweep hands out the wake-ups of timers while the server of another partition does not answer', async () => {
  await using place = await Place.open()
  const { other, turnAt, fire } = partitionsOf(place)
  const gate = atOnce(1)
  const [first] = [await turnAt('a', gate), await turnAt('b', gate)]
  await first.turn.complete()
  await fire(other)
  await fire(place)
  const { wakeups } = await place.create()
  const turn = await place.node().claim({ wakeup: wakeups[0] ?? '' })
  await turn.park('signals', { timers: [{ id: 't', ms: 0, valueJson: '1' }], signalsOpen: 1 })
  const { promise, resolve } = Promise.withResolvers<GuestsAnswered>()
  const guests = { tell: () => promise } as unknown as GuestStore
  const woken: unknown[] = []
  const sweeper = sweeperOf(place.node({ id: 'sweeper', guests }).upkeep, place, {
    poolLoads,
    wake: (wakeups) => void woken.push(...wakeups.map(({ pool }) => pool)),
    wakeIn: (partition) => void woken.push(partition),
    openGates: () => void woken.push('opens gates'),
  })
  await sweeper.runOnce()
  expect(woken).toEqual(['default'])
  resolve({ woken: [{ partition: other.partition, wakeups: [] }], opensGate: true })
  await sweeper.stop()
  expect(woken).toEqual(['default', other.partition, 'opens gates'])
})

describe('one sweep', () => {
  test('one sweep takes in all workers that waited for a node of their kind, batch by batch (SWEEP-2)', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 2 } })
    for (let number = 0; number < 7; number++) await place.create({ label: `early ${number}`, pool: 'unhosted' })
    await sweeperOf(place.node().upkeep, place, { poolLoads }).runOnce()
    expect(await place.redis.zcard(place.keys.run('unhosted'))).toBe(0)
    expect(await place.redis.zcard(place.keys.run('default'))).toBe(7)
  })

  test('one sweep reports an unreadable worker once, however many batches meet it', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 2 } })
    const { root } = await place.create({ label: 'spoilt', pool: 'unhosted' })
    await place.redis.set(workerKeys(place.keys.tag, root).record, 'not what it was')
    for (let number = 0; number < 7; number++) await place.create({ label: `early ${number}`, pool: 'unhosted' })
    const told: unknown[] = []
    const log = { debug() {}, info() {}, warn() {}, error: (_: string, fields: unknown) => void told.push(fields) }
    const sweeper = sweeperOf(place.node().upkeep, place, { poolLoads, log })
    for (let sweeps = 0; sweeps < 2; sweeps++) await sweeper.runOnce()
    expect(await place.redis.zcard(place.keys.run('default'))).toBe(7)
    expect(told).toEqual([{ worker: root }])
  })

  test('one sweep takes in workers that claims put back once, if a key of the partition is damaged, and goes on to the timers (SWEEP-2)', async () => {
    await using place = await Place.open()
    for (let number = 0; number < 7; number++) {
      const kind = number === 0 ? 'nobody-hosts-it' : 'echo'
      await place.create({ label: `early ${number}`, pool: 'unhosted', kind })
    }
    const { run } = place.keys
    let sweeps = 0
    const store = sweepingBy(place.node().upkeep, async (sweep) => {
      const swept = await sweep()
      const ids = await place.redis.zrange(run('default'), '0', '-1')
      // Twenty sweeps are enough to tell a sweeper that would never end.
      if (++sweeps < 20) for (const id of ids) await place.redis.zadd(run('unhosted'), 1, id)
      return swept
    })
    await sweeperOf(store, place, { poolLoads }).runOnce()
    expect(sweeps).toBeLessThan(4)
  })

  test('one sweep heals all leases that have ended, batch by batch (SWEEP-2)', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 2 } })
    const node = place.node()
    for (let number = 0; number < 4; number++) {
      const { root } = await place.create({ label: `lost ${number}` })
      await node.claim()
      await place.redis.zadd(place.keys.leases, 1, root)
    }
    const answered: unknown[] = []
    await place.redis.hdel(place.keys.meta, 'sweptAt')
    let lost = 0
    const noteHealed = (leases: number) => {
      lost += leases
    }
    const answer = (wakeup: Wakeup) => void answered.push(wakeup.pool)
    await sweeperOf(node.upkeep, place, { poolLoads, answer, noteHealed }).runOnce()
    expect([await place.redis.zcard(place.keys.leases), lost]).toEqual([0, 4])
    expect(new Set(answered)).toEqual(new Set(['default']))
  })

  test('one sweep sends wake-ups for all due timers that it fires (SWEEP-1, SWEEP-2)', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 2 } })
    const node = place.node()
    for (let number = 0; number < 4; number++) {
      const { wakeups } = await place.create({ label: `waits ${number}` })
      const turn = await node.claim({ wakeup: wakeups[0] ?? '' })
      await turn.park('signals', { signalsOpen: 1, timers: [{ id: 't', ms: 0, valueJson: '1' }] })
    }
    const wokenPools: string[] = []
    const wake: SweeperHost['wake'] = (wakeups) => void wokenPools.push(...wakeups.map(({ pool }) => pool))
    await sweeperOf(node.upkeep, place, { wake, poolLoads }).runOnce()
    expect(await place.redis.zcard(place.keys.timers)).toBe(0)
    expect(new Set(wokenPools)).toEqual(new Set(['default']))
  })

  test('one sweep prunes only when pruning is due again, and for a limited time', async () => {
    await using place = await Place.open({ policy: { pruneEveryMs: 600_000, pruneMs: 50, sweepEveryMs: 600_000 } })
    const { upkeep } = place.node()
    let prunes = 0
    let registered = 0
    const prune = () => {
      prunes++
      return Promise.resolve({ pruned: 0, done: false })
    }
    const register = () => {
      registered++
      return Promise.resolve()
    }
    const endless = { ...sweepingBy(upkeep, (run) => run()), prune }
    const sweeper = sweeperOf(endless, place, { register })
    await upkeep.announce(1, [])
    await sweeper.start()
    await sweeper.runOnce()
    await sweeper.stop()
    expect(prunes).toBe(0)
    await upkeep.announce(1, [])
    await using later = await Place.open({ policy: { pruneEveryMs: -1, pruneMs: 50 } })
    const began = performance.now()
    await sweeperOf(endless, later, { register }).runOnce()
    expect(performance.now() - began).toBeGreaterThanOrEqual(50)
    expect(prunes).toBeGreaterThan(1)
    expect(registered).toBe(0)
  })
})

test('the first pass of pruning, and the next after a whole one, begin when they are due', async () => {
  await using place = await Place.open({ policy: { pruneEveryMs: 1_000, sweepEveryMs: 600_000 } })
  const clock = vi.spyOn(performance, 'now').mockReturnValue(5_000)
  let prunes = 0
  const prune = () => {
    prunes++
    return Promise.resolve({ pruned: 0, done: true })
  }
  const sweeper = sweeperOf({ ...sweepingBy(place.node().upkeep, (run) => run()), prune }, place)
  const prunesAt = async (ms: number) => {
    clock.mockReturnValue(ms)
    await sweeper.runOnce()
    return prunes
  }
  const seen = [await prunesAt(6_000), await prunesAt(6_001), await prunesAt(7_001), await prunesAt(7_002)]
  expect(seen).toEqual([0, 1, 1, 2])
})

test('a node prunes even if Redis refuses its sweep, because pruning makes room in a full Redis (SWEEP-4)', async () => {
  const policy = { retentionMs: 0, pruneEveryMs: -1, pruneMs: 60_000 }
  await using place = await Place.open({ policy })
  const node = place.node()
  await place.create({ label: 'old' })
  await (await node.claim()).complete()
  const refusal = new TransientError('Redis refused: it is full', { code: 'store_refused' })
  const full = sweepingBy(node.upkeep, () => Promise.reject(refusal))
  await expect(sweeperOf(full, place).runOnce()).rejects.toBe(refusal)
  expect(await place.redis.zcard(place.keys.sessions)).toBe(0)
})

test('sweeps that fail, and the first that succeeds, name their partition, once (SWEEP-3)', async () => {
  await using place = await Place.open({ policy: { sweepEveryMs: 10 } })
  let mayFail = false
  let failures = 0
  const fail = () => Promise.reject(new Error(`away ${++failures}`))
  const { upkeep } = place.node()
  await upkeep.announce(1, [])
  const store = sweepingBy(upkeep, (sweep) => (mayFail ? fail() : sweep()))
  const told: unknown[] = []
  const tell = (what: string, fields?: object) => void told.push([what, fields])
  const sweeper = sweeperOf({ ...store, partition: 5 }, place, {
    log: { debug() {}, info: tell, warn: tell, error() {} },
  })
  await sweeper.start()
  mayFail = true
  const failed = ['a sweep failed; it is tried again every second', { partition: 5, error: 'Error: away 1' }]
  await waitUntil('it has failed time and again', () => failures > 3)
  mayFail = false
  await waitUntil('that is told, too', () => told.length === 2)
  await sweeper.stop()
  expect(told).toEqual([failed, ['Redis answers again: sweeps go on', { partition: 5 }]])
})

describe('a sweep that has finished a batch of cancels', () => {
  test('a sweep that has finished a batch of cancels is followed by the next one at once (SWEEP-2)', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 2, sweepEveryMs: 600_000 } })
    const sweeper = sweeperOf(place.node().upkeep, place)
    await sweeper.start()
    const sessions: string[] = []
    for (let number = 0; number < 9; number++) {
      const { id } = await place.create({ label: `unwanted ${number}` })
      sessions.push(id)
      await place.sessions.cancel(id, 'enough')
    }
    // The notice of the last cancel calls this.
    sweeper.finishSoon()
    await waitUntil('all are finished', async () => (await place.redis.scard(place.keys.cancelling)) === 0)
    await sweeper.stop()
    expect(await place.session(sessions.at(-1) as string)).toMatchObject({ state: 'cancelled' })
  })
})

test('one of two nodes that sweep at the same moment finishes cancels (SWEEP-6)', async () => {
  await using place = await Place.open({ policy: { sweepEveryMs: 600_000 } })
  const looks: string[] = []
  const sweepers = ['node-a', 'node-b'].map((id) => {
    const { upkeep } = place.node({ id })
    const finishCancelled = () => {
      looks.push(id)
      return upkeep.finishCancelled()
    }
    return sweeperOf({ ...sweepingBy(upkeep, (sweep) => sweep()), finishCancelled }, place)
  })
  for (const sweeper of sweepers) await sweeper.runOnce()
  expect(looks).toEqual(['node-a'])
})

test('a node whose registration is gone registers at once and says so once', async () => {
  await using place = await Place.open()
  const { upkeep } = place.node()
  const told: string[] = []
  const log = { debug() {}, info() {}, warn: (what: string) => void told.push(what), error() {} }
  let registered = 0
  const register = () => {
    registered++
    return upkeep.announce(1, [{ kind: 'echo', pool: 'default', description: '' }])
  }
  await register()
  const sweeper = sweeperOf(upkeep, place, { log, register, poolLoads })
  await sweeper.runOnce()
  expect(told).toEqual([])
  await place.redis.del(place.keys.nodes, place.keys.kinds)
  await sweeper.runOnce()
  await sweeper.runOnce()
  expect(told).toEqual([expect.stringMatching(/not registered in Redis any more.*Redis was away or refused writes/)])
  expect(registered).toBe(2)
  expect(await place.redis.hkeys(place.keys.kinds)).toEqual(['echo'])
})

test('each pass looks at Redis again, and says what is wrong with it once for as long as it stays so', async () => {
  await using place = await Place.open({ policy: { pruneEveryMs: -1, pruneMs: 60_000 } })
  const problems = ['it may evict keys', 'it may evict keys', null, 'it may evict keys']
  const redisProblem = () => Promise.resolve(problems.shift() ?? null)
  const store = { ...sweepingBy(place.node().upkeep, (run) => run()), redisProblem }
  const told: string[] = []
  const tell = (what: string, fields?: { problem?: string }) => void told.push(fields?.problem ?? what)
  const log = { debug() {}, info: tell, warn() {}, error: tell }
  const sweeper = sweeperOf(store, place, { log })
  for (let pass = 0; pass < 4; pass++) await sweeper.runOnce()
  expect(told).toEqual(['it may evict keys', 'Redis is fit again', 'it may evict keys'])
})
