/**
 * The rule for wake-ups: while fewer are out than min(workers queued, max(1, slots − busy)), one more. Seen through post, the only script
 * that does nothing else.
 */
import { describe, expect, test } from 'vitest'
import { completion } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'

interface Scene {
  /** Workers queued, the one that the post wakes included. */
  readonly queued: number
  readonly slots: number
  readonly busy: number
  /** Wake-ups out and fresh. */
  readonly out: number
  /** Wake-ups that went stale, which count as if they were not there. */
  readonly stale?: number
  /** Workers a slot takes in a row where turns are short. */
  readonly workersPerWake?: number
  readonly added: number
}

const scenes: readonly Scene[] = [
  // Nobody knows how many slots there are: one wake-up at a time.
  { queued: 1, slots: 0, busy: 0, out: 0, added: 1 },
  { queued: 5, slots: 0, busy: 0, out: 0, added: 1 },
  { queued: 5, slots: 0, busy: 0, out: 1, added: 0 },
  // One slot.
  { queued: 1, slots: 1, busy: 0, out: 0, added: 1 },
  { queued: 9, slots: 1, busy: 0, out: 0, added: 1 },
  { queued: 9, slots: 1, busy: 1, out: 0, added: 1 },
  { queued: 9, slots: 1, busy: 0, out: 1, added: 0 },
  // Several slots: as many as are queued, no more than are free.
  { queued: 1, slots: 8, busy: 0, out: 0, added: 1 },
  { queued: 3, slots: 8, busy: 0, out: 0, added: 3 },
  { queued: 3, slots: 8, busy: 0, out: 2, added: 1 },
  { queued: 3, slots: 8, busy: 0, out: 3, added: 0 },
  { queued: 3, slots: 8, busy: 0, out: 5, added: 0 },
  { queued: 20, slots: 8, busy: 0, out: 0, added: 8 },
  { queued: 20, slots: 8, busy: 3, out: 0, added: 5 },
  { queued: 20, slots: 8, busy: 3, out: 4, added: 1 },
  { queued: 20, slots: 8, busy: 3, out: 5, added: 0 },
  // All slots are busy, or more than all while one node goes: still one, for the slot that ends first.
  { queued: 20, slots: 8, busy: 8, out: 0, added: 1 },
  { queued: 20, slots: 8, busy: 12, out: 0, added: 1 },
  { queued: 20, slots: 8, busy: 8, out: 1, added: 0 },
  // Stale wake-ups are not out (K2, K5, K14).
  { queued: 1, slots: 8, busy: 0, out: 0, stale: 5, added: 1 },
  { queued: 4, slots: 8, busy: 0, out: 1, stale: 3, added: 3 },
  { queued: 1, slots: 0, busy: 0, out: 0, stale: 1, added: 1 },
  // A script sends fifty wake-ups at most; the next one goes on.
  { queued: 120, slots: 200, busy: 0, out: 0, added: 50 },
  { queued: 120, slots: 200, busy: 0, out: 50, added: 50 },
  { queued: 120, slots: 200, busy: 0, out: 100, added: 20 },
  // Where turns are short, a slot that is awake takes several in a row.
  { queued: 20, slots: 50, busy: 0, out: 0, workersPerWake: 2, added: 10 },
  { queued: 3, slots: 50, busy: 0, out: 0, workersPerWake: 2, added: 2 },
  { queued: 3, slots: 50, busy: 0, out: 1, workersPerWake: 5, added: 0 },
  { queued: 200, slots: 8, busy: 0, out: 0, workersPerWake: 5, added: 8 },
  // No more than three of them, as long as few slots are awake.
  { queued: 3, slots: 50, busy: 0, out: 0, workersPerWake: 16, added: 1 },
  { queued: 4, slots: 50, busy: 0, out: 0, workersPerWake: 16, added: 2 },
  { queued: 48, slots: 50, busy: 0, out: 0, workersPerWake: 16, added: 16 },
  { queued: 48, slots: 50, busy: 0, out: 15, workersPerWake: 16, added: 1 },
  { queued: 250, slots: 50, busy: 0, out: 0, workersPerWake: 16, added: 16 },
  { queued: 272, slots: 50, busy: 0, out: 0, workersPerWake: 16, added: 17 },
]

describe('the wake-up rule', () => {
  test.each(scenes)(
    'the rule with $queued queued, $slots slots, $busy busy, $out out, $stale stale, $workersPerWake in a row: $added added',
    async (scene) => {
      await using place = await Place.open()
      const { root } = await place.create({ mode: 'conversation' })
      await (await place.node().claim()).complete()
      await set(place, scene)
      const answer = await place.post(root, 'hello')
      expect(answer).toMatchObject({ kind: 'ok' })
      const wakeups = answer.kind === 'ok' ? answer.wakeups : []
      expect(wakeups).toHaveLength(scene.added)
      expect(new Set(wakeups.map(({ id }) => id)).size).toBe(scene.added)
      const now = await place.now()
      expect(await place.redis.zcount(place.keys.wakeups('default'), now, '+inf')).toBe(scene.out + scene.added)
    },
  )

  async function set(place: Place, scene: Scene): Promise<void> {
    const now = await place.now()
    const { keys, redis } = place
    const fill = (key: string, count: number, name: string, score: number) =>
      count > 0 ? redis.zadd(key, ...Array.from({ length: count }, (_, index) => [score, `${name}${index}`]).flat()) : 0
    await redis.del(keys.wakeups('default'))
    await fill(keys.run('default'), scene.queued - 1, 'other', now)
    await fill(keys.busy('default'), scene.busy, 'busy', now + 60_000)
    await fill(keys.wakeups('default'), scene.out, 'out', now + 20_000)
    await fill(keys.wakeups('default'), scene.stale ?? 0, 'stale', now - 1)
    if (scene.slots > 0) await redis.set(keys.slots('default'), scene.slots)
    if (scene.workersPerWake !== undefined) await redis.set(keys.workersPerWake('default'), scene.workersPerWake)
  }
})

describe('wakeups', () => {
  test('wake-ups of several pools are sent by one commit, each in its own pool', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    const turn = await place.node().claim()
    const spawns = [
      place.child(root, 1, 'a'),
      place.child(root, 2, 'b', { pool: 'gpu' }),
      place.child(root, 3, 'c', { pool: 'a-b_c' }),
      place.child(root, 4, 'd', { pool: 'unhosted' }),
    ]
    await place.redis.del(place.keys.wakeups('default'))
    const answer = await turn.park('signals', { spawns, pendingCalls: [1, 2, 3, 4] })
    expect(answer.wakeups.map(({ pool }) => pool).sort()).toEqual(['a-b_c', 'default', 'gpu'])
    for (const { id, pool } of answer.wakeups)
      expect(await place.redis.zscore(place.keys.wakeups(pool), id)).not.toBeNull()
  })

  test('wake-ups have ids that BullMQ accepts: no colon, and not a number', async () => {
    await using place = await Place.open()
    const { wakeups } = await place.create()
    expect(wakeups).toEqual([expect.stringMatching(/^w[\w.]{12,}-default-1$/)])
  })

  test('a claim sends no wake-up, or one that no node can answer would be sent again without end', async () => {
    await using place = await Place.open()
    await place.create({ kind: 'other' })
    await place.redis.del(place.keys.wakeups('default'))
    expect(await place.node().ask()).toEqual({ kind: 'unfit' })
    expect(await place.dump()).not.toHaveProperty('wakeups:default')
  })

  test('the end of a turn that claims the last worker sends no wake-up', async () => {
    await using place = await Place.open()
    await place.create({ label: 'a' })
    await place.create({ label: 'b' })
    const node = place.node()
    const turn = await node.claim({ wakeup: 'mine' })
    await place.redis.del(place.keys.wakeups('default'))
    const next = node.next({ wakeup: 'mine' })
    const answer = await turn.complete({ end: { wait: 'any', next } })
    expect(answer).toMatchObject({ wakeups: [], claimed: { kind: 'assigned', assignment: { name: 'b' } } })
  })

  test('the end of a turn whose slot leaves sends wake-ups for the workers that wait', async () => {
    await using place = await Place.open()
    await place.create({ label: 'a' })
    await place.create({ label: 'b' })
    const node = place.node()
    const turn = await node.claim({ wakeup: 'mine', keepWakeup: true })
    await place.redis.del(place.keys.wakeups('default'))
    const answer = await turn.complete({ end: { wait: 'any', next: null } })
    expect(answer.wakeups).toHaveLength(1)
    expect(await place.redis.zrange(place.keys.wakeups('default'), 0, '-1')).toEqual(answer.wakeups.map(({ id }) => id))
  })

  test('the end of a turn that finds only workers its node cannot run sends wake-ups for other nodes', async () => {
    await using place = await Place.open()
    await place.create({ label: 'a' })
    await place.create({ label: 'b', kind: 'other' })
    const node = place.node()
    const turn = await node.claim({ wakeup: 'mine' })
    await place.redis.del(place.keys.wakeups('default'))
    const answer = await turn.record({ ...completion, inputsConsumed: 1, end: { wait: 'any', next: node.next() } })
    expect(answer.claimed).toEqual({ kind: 'unfit' })
    expect(answer.wakeups).toHaveLength(1)
  })
})
