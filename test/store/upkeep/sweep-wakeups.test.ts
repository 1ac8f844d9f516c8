/** sweep: puts wake-ups for the sweeping node alone, and for what it can run. */
import { describe, expect, test } from 'vitest'
import { Place } from '../support/place.ts'

describe('wakeups', () => {
  test('wake-ups that are stale go; those that are fresh stay', async () => {
    await using place = await Place.open()
    const now = await place.now()
    await place.redis.zadd(place.keys.wakeups('default'), now - 1, 'stale', now + 20_000, 'fresh')
    await place.redis.zadd(place.keys.busy('default'), now - 1, 'stale', now + 20_000, 'fresh')
    await place.node().sweep({ free: 0 })
    expect(await place.dump()).toMatchObject({
      'wakeups:default': ['fresh now+20s'],
      'busy:default': ['fresh now+20s'],
    })
  })

  test('stale wake-ups go even if every node of their pool has gone', async () => {
    await using place = await Place.open()
    const [gone, left] = [place.node({ kinds: { gpu: ['paint'] } }), place.node({ id: 'node-b' })]
    await gone.sweep()
    await gone.sweep({ leaving: true, slots: 0, free: 0 })
    for (let times = 1; times <= 2; times++) {
      const now = await place.now()
      await place.redis.zadd(place.keys.wakeups('gpu'), now - 1, `stale ${times}`, now + 20_000, 'fresh')
      await place.redis.zadd(place.keys.busy('gpu'), now - 1, `stale ${times}`, now + 20_000, 'fresh')
      await left.sweep({ free: 0 })
      expect(await place.dump()).toMatchObject({ 'wakeups:gpu': ['fresh now+20s'], 'busy:gpu': ['fresh now+20s'] })
    }
  })

  test('wake-ups are added for the sweeping node, as many as it can use (K2)', async () => {
    await using place = await Place.open()
    for (const label of ['a', 'b', 'c', 'd']) await place.create({ label })
    await place.redis.del(place.keys.wakeups('default'))
    const { wakeups } = await place.node().sweep({ free: 3 })
    expect(wakeups).toEqual(
      [1, 2, 3].map((number) => ({
        pool: 'default',
        id: expect.stringMatching(new RegExp(`^s.*-default-${number}$`)),
      })),
    )
    expect(await place.dump()).toMatchObject({
      'wakeups:default': [1, 2, 3].map((number) => `s*-default-${number} now+20s`),
    })
  })

  test('wake-ups that are out already are not put again', async () => {
    await using place = await Place.open()
    for (const label of ['a', 'b', 'c', 'd']) await place.create({ label })
    const now = await place.now()
    await place.redis.del(place.keys.wakeups('default'))
    await place.redis.zadd(place.keys.wakeups('default'), now + 20_000, 'one', now + 20_000, 'two', now - 1, 'stale')
    expect((await place.node().sweep({ free: 10 })).wakeups).toHaveLength(2)
    expect((await place.node().sweep({ free: 10 })).wakeups).toHaveLength(0)
  })

  test('wake-ups are added only for work that this node can run', async () => {
    await using place = await Place.open()
    for (const [label, kind] of Object.entries({ a: 'other', b: 'echo', c: 'other', d: 'echo2' }))
      await place.create({ label, kind })
    await place.redis.del(place.keys.wakeups('default'))
    expect((await place.node().sweep({ free: 10 })).wakeups).toHaveLength(1)
  })

  test('wake-ups are added for each pool of the node', async () => {
    await using place = await Place.open()
    await place.create({ label: 'a' })
    await place.create({ label: 'b', pool: 'gpu', kind: 'paint' })
    await place.create({ label: 'c', pool: 'far', kind: 'paint' })
    const node = place.node({ kinds: { default: ['echo'], gpu: ['paint'] } })
    for (const pool of ['default', 'gpu', 'far']) await place.redis.del(place.keys.wakeups(pool))
    expect((await node.sweep({ free: 1 })).wakeups.map(({ pool }) => pool)).toEqual(['default', 'gpu'])
  })

  test('wake-ups are not added for a node without a free slot, nor for one that leaves', async () => {
    await using place = await Place.open()
    await place.create()
    await place.redis.del(place.keys.wakeups('default'))
    expect((await place.node().sweep({ free: 0 })).wakeups).toEqual([])
    expect((await place.node().sweep({ free: 3, leaving: true })).wakeups).toEqual([])
    expect(await place.dump()).not.toHaveProperty('wakeups:default')
  })

  test('wake-ups are added even if healing was skipped', async () => {
    await using place = await Place.open()
    const node = place.node()
    await node.sweep({ free: 0 })
    await place.create()
    await place.redis.del(place.keys.wakeups('default'))
    expect((await node.sweep({ free: 1, soonAfter: true })).wakeups).toHaveLength(1)
  })
})

describe('the number of workers that one slot takes in a row', () => {
  test('the number of workers that one slot takes in a row is kept for some seconds, and goes when turns are long', async () => {
    // It is kept for three times as long, so that no slow step of this test finds it gone.
    await using place = await Place.open({ policy: { sweepEveryMs: 600_000 } })
    const node = place.node()
    await node.sweep({ workersPerWake: 6 })
    expect(await place.redis.get(place.keys.workersPerWake('default'))).toBe('6')
    expect(await place.redis.pttl(place.keys.workersPerWake('default'))).toBeGreaterThan(0)
    await node.sweep({ workersPerWake: 0 })
    expect(await place.redis.get(place.keys.workersPerWake('default'))).toBe('6')
    await node.sweep({ workersPerWake: 1 })
    expect(await place.redis.get(place.keys.workersPerWake('default'))).toBeNull()
  })
})
