/** A script publishes a wake-up to one node that listens. The first letter of its id says whether a node heard it. */
import { Redis } from 'ioredis'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { waitUntil } from '../../support/time/wait-until.ts'
import { Place } from '../support/place.ts'

/** Registers these nodes; those in `listening` hear wake-ups of the pool. */
async function nodesOf(place: Place, known: readonly string[], listening: readonly string[], pool = 'default') {
  for (const node of known) await place.redis.hset(place.keys.nodes, node, '0 1 default echo {}')
  const redis = new Redis(inject('redisUrl'))
  onTestFinished(() => redis.disconnect())
  const heard: string[] = []
  redis.on('message', (channel: string, text: string) => heard.push(`${channel.split(':').at(-1)} ${text}`))
  await redis.subscribe(...listening.map((node) => place.keys.wake(pool, node)))
  return {
    /** Nodes and ids, once everything that was published before has come. */
    heard: async (): Promise<string[]> => {
      const before = heard.length
      await place.redis.publish(place.keys.wake(pool, listening[0] as string), 'last')
      await waitUntil('the last one was heard', () => heard.slice(before).some((text) => text.endsWith(' last')))
      return heard.filter((text) => !text.endsWith(' last'))
    },
  }
}

describe('a wake-up', () => {
  test('a wake-up is published to the node that listens, and its id begins with p', async () => {
    await using place = await Place.open()
    const { heard } = await nodesOf(place, ['node-a'], ['node-a'])
    const { root, wakeups } = await place.create()
    expect(await heard()).toEqual([`node-a ${wakeups[0]}`])
    const turn = await place.node().claim()
    await place.redis.del(place.keys.wakeups('default'))
    const answer = await turn.park('signals', { spawns: [place.child(root, 1, 'child')], pendingCalls: [1] })
    expect(answer.wakeups).toEqual([{ id: expect.stringMatching(/^p\w+-default-1$/), pool: 'default' }])
    expect((await heard()).at(-1)).toBe(`node-a ${answer.wakeups[0]?.id}`)
  })

  test('a wake-up is published once, and a repeated call has the same answer', async () => {
    await using place = await Place.open()
    const { heard } = await nodesOf(place, ['node-a'], ['node-a'])
    const { root } = await place.create({ mode: 'conversation' })
    await (await place.node().claim({ wakeup: 'mine' })).complete()
    await place.redis.del(place.keys.wakeups('default'))
    const first = await place.post(root, 'hello')
    expect(await place.post(root, 'hello')).toEqual({ ...first, kind: 'again' })
    expect(first).toMatchObject({ wakeups: [{ id: expect.stringMatching(/^p/) }] })
    expect(await heard()).toHaveLength(2)
  })

  test('a wake-up is published to one node when several listen', async () => {
    await using place = await Place.open()
    const nodes = ['node-a', 'node-b', 'node-c', 'node-d']
    const { heard } = await nodesOf(place, nodes, nodes)
    await place.create()
    expect(await heard()).toHaveLength(1)
  })

  test('a wake-up is published to a node that listens, even if others are gone', async () => {
    await using place = await Place.open()
    const { heard } = await nodesOf(place, ['gone', 'node-a', 'went'], ['node-a'])
    for (let number = 0; number < 10; number++) {
      await place.create({ label: `${number}` })
      await place.redis.del(place.keys.wakeups('default'))
    }
    expect(await heard()).toHaveLength(10)
  })

  test.each<[string, (place: Place) => Promise<unknown>]>([
    ['there is no node', async () => {}],
    ['no node of its pool listens', (place) => nodesOf(place, ['node-a'], ['node-a'], 'gpu')],
    ['something else was written over the register of nodes', (place) => place.redis.set(place.keys.nodes, 'no hash')],
  ])('a wake-up is added anyway, and its id begins with w, when %s', async (_, prepare) => {
    await using place = await Place.open()
    await prepare(place)
    const { root } = await place.create({ mode: 'conversation' })
    await (await place.node().claim({ wakeup: 'mine' })).complete()
    await place.redis.del(place.keys.wakeups('default'))
    const answer = await place.post(root, 'hello')
    expect(answer).toEqual({
      kind: 'ok',
      position: 1,
      wakeups: [{ id: expect.stringMatching(/^w\w+-default-1$/), pool: 'default' }],
      wokenIn: '',
      steers: false,
    })
  })

  test('a wake-up is not published while others of its pool are out', async () => {
    await using place = await Place.open()
    const { heard } = await nodesOf(place, ['node-a'], ['node-a'])
    await place.redis.set(place.keys.slots('default'), 8)
    await place.create({ label: 'one' })
    const { wakeups } = await place.create({ label: 'two' })
    expect(wakeups).toHaveLength(1)
    expect(await heard()).toHaveLength(1)
  })

  test('the first of several wake-ups is published, and its job is not delayed: all ids begin with w', async () => {
    await using place = await Place.open()
    const { heard } = await nodesOf(place, ['node-a'], ['node-a'])
    await place.redis.set(place.keys.slots('default'), 8)
    const { root } = await place.create()
    const turn = await place.node().claim({ wakeup: 'mine' })
    await place.redis.del(place.keys.wakeups('default'))
    const spawns = [1, 2, 3].map((call) => place.child(root, call, `child ${call}`))
    const { wakeups } = await turn.park('signals', { spawns, pendingCalls: [1, 2, 3] })
    expect(wakeups).toHaveLength(3)
    expect(wakeups.map(({ id }) => id[0])).toEqual(['w', 'w', 'w'])
    expect((await heard()).at(-1)).toBe(`node-a ${wakeups[0]?.id}`)
  })
})
