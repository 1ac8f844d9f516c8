/** Questions of a node without work, and the answers. */
import { expect } from 'vitest'
import { formerKey, gatesKey } from '../../../../src/store/keys.ts'
import type { RedisUpkeepStore } from '../../../../src/store/upkeep-store.ts'
import type { Place } from '../place.ts'

/** The things that there may be to do, as little of each as there can be, and how it goes away. */
const works: readonly ((place: Place) => Promise<() => Promise<unknown>>)[] = [
  (place) => added(place, place.keys.leases),
  (place) => added(place, place.keys.run('default')),
  (place) => added(place, place.keys.run('gpu')),
  (place) => added(place, place.keys.run('unhosted')),
  (place) => added(place, gatesKey(place.keys.tag)),
  // Timers that another node has begun to move.
  async (place) => {
    await place.redis.hset(place.keys.meta, 'moving', '1000 0 (1 (1')
    return () => place.redis.hdel(place.keys.meta, 'moving')
  },
  // A timer that is long due.
  (place) => added(place, place.keys.timers),
  async (place) => {
    await place.redis.sadd(place.keys.cancelling, 'one')
    return () => place.redis.del(place.keys.cancelling)
  },
  ...['default', 'gpu'].map((pool) => async (place: Place) => {
    await place.redis.sadd(place.keys.kindQueues(pool), 'kind')
    return () => place.redis.del(place.keys.kindQueues(pool))
  }),
  async (place) => {
    await place.redis.hset(place.keys.meta, 'sweptAt', (await place.now()) + 60_000)
    return () => place.redis.hdel(place.keys.meta, 'sweptAt')
  },
]

async function added(place: Place, key: string): Promise<() => Promise<unknown>> {
  await place.redis.zadd(key, 1, 'one')
  return () => place.redis.zrem(key, 'one')
}

export async function aNodeRestsOnlyWithoutWork(place: Place): Promise<void> {
  const { upkeep } = place.node()
  const { nodes, pools, seen, timers } = place.keys
  expect(await upkeep.rest()).toBeNull()
  await upkeep.announce(1, [])
  await place.redis.sadd(pools, 'gpu')
  expect(await upkeep.rest()).toMatchObject({ dueInMs: null, isPaused: false })
  for (const begin of works) {
    const end = await begin(place)
    expect(await upkeep.rest()).toBeNull()
    await end()
    expect(await upkeep.rest()).not.toBeNull()
  }
  await place.redis.zadd(timers, (await place.now()) + 60_000, 'one')
  expect((await upkeep.rest())?.dueInMs).toBeGreaterThan(30_000)
  const [id] = (await place.redis.hkeys(nodes)) as [string]
  await place.redis.hset(seen, id, 1)
  await upkeep.rest()
  expect(Number(await place.redis.hget(seen, id))).toBeGreaterThan((await place.now()) - 30_000)
  await place.redis.hdel(nodes, id)
  expect(await upkeep.rest()).toBeNull()
}

/** Of thousands of pools it looks at some, and at its own in any case. */
export async function aNodeRestsAmongThousandsOfPools(place: Place): Promise<void> {
  const { redis, keys } = place
  const { upkeep } = place.node()
  await upkeep.announce(1, [{ kind: 'echo', pool: 'gpu', description: '' }])
  await redis.sadd(keys.pools, ...Array.from({ length: 5_000 }, (_, index) => `pool-${index}`))
  expect(await upkeep.rest()).not.toBeNull()
  await redis.zadd(keys.run('gpu'), 1, 'one')
  for (let time = 0; time < 5; time++) expect(await upkeep.rest()).toBeNull()
}

/** The line of a node of a thousand kinds is long: a sweep leaves it as it is, and says in a few bytes that the node lives. */
export async function aSweepSaysBrieflyThatItsNodeLives(place: Place): Promise<void> {
  const node = place.node()
  const { nodes, seen } = place.keys
  await node.sweep()
  const [[id, line]] = Object.entries(await place.redis.hgetall(nodes)) as [[string, string]]
  const old = line.replace(/^\d+/, '7')
  await place.redis.hset(nodes, id, old)
  await place.redis.hset(seen, id, 1)
  await node.sweep()
  await node.upkeep.rest()
  expect(await place.redis.hget(nodes, id)).toBe(old)
  expect((await place.inspect.liveNodes()).map((live) => live.id)).toEqual([id])
  await node.sweep({ slots: 17 })
  expect((await place.inspect.liveNodes()).map(({ slots }) => slots)).toEqual([17])
  await node.sweep({ leaving: true })
  expect(await place.redis.exists(nodes, seen)).toBe(0)
}

/** A list of many kinds is sent whole now and then, and named in between. */
export async function aClaimNamesManyKindsByTheirList(place: Place): Promise<void> {
  const many = Array.from({ length: 200 }, (_, number) => `kind-${number}`)
  const node = place.node({ kinds: { default: [...many, 'echo'] } })
  for (const label of ['one', 'two', 'three']) await place.create({ label })
  await node.claim()
  const first = place.wire.last.flat.join(' ')
  const turn = await node.claim()
  const second = place.wire.last.flat.join(' ')
  expect([first.includes('kind-7'), second.includes('kind-7')]).toEqual([true, false])
  expect(await turn.complete({ end: { wait: 'any', next: node.next() } })).toMatchObject({
    claimed: { kind: 'assigned' },
  })
  const foreign = place.node({ id: 'node-b', kinds: { default: many } })
  await place.create({ label: 'four' })
  expect(await foreign.ask()).toEqual({ kind: 'unfit' })
}

export async function aRegisteredKindIsNoticed(place: Place): Promise<void> {
  const { upkeep } = place.node()
  const kind = { kind: 'echo', pool: 'default', description: '' }
  await upkeep.announce(1, [kind])
  const before = (await upkeep.rest())?.kinds
  await upkeep.announce(1, [kind])
  expect((await upkeep.rest())?.kinds).toBe(before)
  await upkeep.announce(1, [{ ...kind, pool: 'gpu' }])
  expect((await upkeep.rest())?.kinds).not.toBe(before)
}

export async function aDamagedVersionBeginsAnew(place: Place): Promise<void> {
  const { upkeep } = place.node()
  await place.redis.hset(place.keys.meta, 'kinds', 'many')
  await upkeep.announce(1, [{ kind: 'echo', pool: 'default', description: '' }])
  expect((await upkeep.rest())?.kinds).toMatch(/^\d+$/)
}

const long = 40 * 24 * 3_600_000

/** Two kinds of a pool that no node hosts any more, so long ago as somebody may say. */
async function formerKinds(place: Place): Promise<RedisUpkeepStore> {
  const { upkeep } = place.node()
  const kinds = ['old', 'older'].map((kind) => ({ kind, pool: 'gpu', description: '' }))
  await place.node({ id: 'gone' }).upkeep.announce(1, kinds)
  await upkeep.announce(1, [{ kind: 'echo', pool: 'default', description: '' }])
  await place.redis.hdel(place.keys.nodes, 'gone')
  Object.assign(place.policy, { pruneEveryMs: 0 })
  expect(await upkeep.forgetKinds()).toEqual({ kinds: [], pools: [] })
  return upkeep
}

async function longAgo({ redis, keys }: Place): Promise<void> {
  for (const name of await redis.zrange(formerKey(keys.tag), 0, '-1'))
    await redis.zincrby(formerKey(keys.tag), -long, name)
}

export async function aKindIsRememberedForLong(place: Place): Promise<void> {
  const upkeep = await formerKinds(place)
  expect(await upkeep.forgetKinds()).toEqual({ kinds: [], pools: [] })
  await longAgo(place)
  expect(await upkeep.forgetKinds()).toEqual({ kinds: ['old', 'older'], pools: [] })
  expect(await upkeep.forgetKinds()).toEqual({ kinds: [], pools: ['gpu'] })
  expect(await place.redis.hkeys(place.keys.kinds)).toEqual(['echo'])
  expect(await place.redis.smembers(place.keys.pools)).toEqual(['default'])
  expect(await place.redis.exists(formerKey(place.keys.tag))).toBe(0)
}

export async function aKindThatIsHostedAgainIsRememberedAnew(place: Place): Promise<void> {
  const upkeep = await formerKinds(place)
  await longAgo(place)
  await place.node({ id: 'back' }).upkeep.announce(1, [{ kind: 'old', pool: 'gpu', description: '' }])
  expect(await upkeep.forgetKinds()).toEqual({ kinds: ['older'], pools: [] })
  await place.redis.hdel(place.keys.nodes, 'back')
  await upkeep.forgetKinds()
  expect(await upkeep.forgetKinds()).toEqual({ kinds: [], pools: [] })
}

/** Puts work into each queue in which work may wait. */
export async function aKindStaysWhileWorkOfItWaits(place: Place): Promise<void> {
  const upkeep = await formerKinds(place)
  await longAgo(place)
  const { redis, keys } = place
  const { root } = await place.create({ kind: 'old', pool: 'gpu' })
  await redis.sadd(keys.kindQueues('gpu'), 'older')
  await redis.zadd(keys.kindQueue('gpu', 'older'), 1, 'somebody')
  expect(await upkeep.forgetKinds()).toEqual({ kinds: [], pools: [] })
  await redis.del(keys.kindQueue('gpu', 'older'), keys.kindQueues('gpu'))
  expect(await upkeep.forgetKinds()).toEqual({ kinds: ['older'], pools: [] })
  await redis.zrem(keys.run('gpu'), root)
  await redis.zadd(keys.run('unhosted'), 1, root)
  expect((await upkeep.forgetKinds()).kinds).toEqual([])
  // Nobody can say what stands behind so many entries.
  await redis.zrem(keys.run('unhosted'), root)
  const many = Array.from({ length: 501 }, (_, index) => [index, root.slice(0, -3) + index] as const)
  await redis.zadd(keys.run('gpu'), ...many.flat())
  expect((await upkeep.forgetKinds()).kinds).toEqual([])
  await redis.del(keys.run('gpu'))
  expect((await upkeep.forgetKinds()).kinds).toEqual(['old'])
}

/** One call looks at ten kinds. Work of the ten that come first waits. */
export async function kindsThatStayHoldUpNoOthers(place: Place): Promise<void> {
  const upkeep = await formerKinds(place)
  const { redis, keys } = place
  const busy = Array.from({ length: 10 }, (_, index) => `busy-${index}`)
  for (const kind of busy) {
    await redis.hset(keys.kinds, kind, 'gpu {"description":""}')
    await redis.zadd(keys.kindQueue('gpu', kind), 1, 'somebody')
  }
  await upkeep.forgetKinds()
  await longAgo(place)
  for (const kind of busy) await redis.zincrby(formerKey(keys.tag), -long, `kind ${kind}`)
  expect(await upkeep.forgetKinds()).toEqual({ kinds: [], pools: [] })
  expect(await upkeep.forgetKinds()).toEqual({ kinds: ['old', 'older'], pools: [] })
  await redis.del(keys.kindQueue('gpu', 'busy-7'))
  expect((await upkeep.forgetKinds()).kinds).toEqual(['busy-7'])
}

export async function aPoolStaysWhileItHasKindsOrWork(place: Place): Promise<void> {
  const upkeep = await formerKinds(place)
  const { redis, keys } = place
  await redis.zincrby(formerKey(keys.tag), -long, 'pool gpu')
  expect((await upkeep.forgetKinds()).pools).toEqual([])
  await redis.zadd(keys.wakeups('gpu'), 1, 'one')
  await longAgo(place)
  expect(await upkeep.forgetKinds()).toEqual({ kinds: ['old', 'older'], pools: [] })
  await redis.del(keys.wakeups('gpu'))
  expect((await upkeep.forgetKinds()).pools).toEqual(['gpu'])
  // Work that was accepted is found, and known again with its queue.
  await place.create({ kind: 'old', pool: 'gpu' })
  expect(await redis.smembers(keys.pools)).toContain('gpu')
}

export async function aPoolStaysAmongVeryManyKinds(place: Place): Promise<void> {
  const upkeep = await formerKinds(place)
  await longAgo(place)
  await upkeep.forgetKinds()
  const { redis, keys } = place
  const many = Array.from({ length: 2_001 }, (_, index) => [`kind-${index}`, 'default {}'] as const)
  await redis.hset(keys.kinds, ...many.flat())
  expect((await upkeep.forgetKinds()).pools).toEqual([])
  expect(await redis.smembers(keys.pools)).toContain('gpu')
}

export async function nodesLearnThatAKindWasForgotten(place: Place): Promise<void> {
  const upkeep = await formerKinds(place)
  const before = (await upkeep.rest())?.kinds
  await longAgo(place)
  await upkeep.forgetKinds()
  expect((await upkeep.rest())?.kinds).not.toBe(before)
}

export async function oneNodeLooksAtFormerKinds(place: Place): Promise<void> {
  await formerKinds(place)
  await longAgo(place)
  Object.assign(place.policy, { pruneEveryMs: 60_000 })
  expect(await place.node({ id: 'other' }).upkeep.forgetKinds()).toEqual({ kinds: [], pools: [] })
}

export async function eventsAreBoundedByBytes(place: Place): Promise<void> {
  const { events, meta } = place.keys
  const most = 1_000_000
  Object.assign(place.policy, { eventsBytes: most })
  const node = place.node()
  const notes = JSON.stringify([['run.completed', { run: 1, value: 'x'.repeat(most / 20) }]])
  for (let number = 0; number < 60; number++) await place.redis.xadd(events, '*', 'one', notes)
  await node.sweep()
  expect(Number(await place.redis.memory('USAGE', events, 'SAMPLES', 0))).toBeLessThan(1.3 * most)
  expect(await place.redis.xlen(events)).toBeGreaterThan(10)
  expect(await place.redis.hexists(meta, 'trimmed')).toBe(1)
}
