/** sweep: what stands further ahead than it can, since the clock of Redis was set back, is brought near. */
import { describe, expect, test } from 'vitest'
import { Place } from './support/place.ts'

const line = `now 2 default echo {"host":"here"}`

describe('after the clock has stepped back', () => {
  test('a lease that would end too late is set to a lease from now; one in its bounds is left', async () => {
    await using place = await Place.open()
    const node = place.node()
    for (const label of ['far', 'near']) await place.create({ label })
    const [far, near] = [await node.claim(), await node.claim()]
    const now = await place.now()
    await place.redis.zadd(place.keys.leases, now + 3_600_000, far.worker, now + 50_000, near.worker)
    await node.sweep({ free: 0 })
    expect(await place.dump()).toMatchObject({ leases: ['<far.root> now+60s', '<near.root> now+50s'] })
  })

  test('wake-ups that would go stale too late, awake or busy, are set to their time from now', async () => {
    await using place = await Place.open()
    const far = (await place.now()) + 3_600_000
    await place.redis.zadd(place.keys.wakeups('default'), far, 'awake')
    await place.redis.zadd(place.keys.busy('default'), far, 'busy')
    await place.node().sweep({ free: 0 })
    expect(await place.dump()).toMatchObject({
      'wakeups:default': ['awake now+20s'],
      'busy:default': ['busy now+60s'],
    })
  })

  test('a worker queued hours ahead of the clock moves to one minute ahead; one within a minute stays', async () => {
    await using place = await Place.open()
    const [far, near] = [await place.create({ label: 'far' }), await place.create({ label: 'near' })]
    const now = await place.now()
    await place.redis.zadd(place.keys.run('default'), now + 3_600_000, far.root, now + 70_000, near.root)
    await place.node().sweep({ free: 0 })
    expect(await place.dump()).toMatchObject({ 'run:default': ['<far.root> now+60s', '<near.root> now+70s'] })
  })

  test('a node that was seen in the future is seen now, and keeps its assignments', async () => {
    await using place = await Place.open()
    const [a, b] = [place.node(), place.node({ id: 'node-b' })]
    await place.create()
    await a.sweep({ free: 0 })
    const next = a.next()
    await a.turns.claim(next)
    const ahead = (await place.now()) + 3_600_000
    await place.redis.hset(place.keys.nodes, 'node-a', `${ahead} 2 default echo {"host":"here"}`)
    await b.sweep({ free: 0 })
    expect(await place.dump()).toMatchObject({
      nodes: { 'node-a': line, 'node-b': line },
      'claims:node-a': { '0': expect.any(String) },
      'slots:default': '4',
    })
    expect(await a.turns.claim(next)).toMatchObject({ kind: 'assigned' })
  })
})
