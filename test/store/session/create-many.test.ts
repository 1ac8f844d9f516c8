/** Sessions that one call creates are what they would be if they had been created one after the other. */
import { describe, expect, test, vi } from 'vitest'
import { TransientError } from '../../../src/core/errors.ts'
import { rootIdOf } from '../../../src/core/ids.ts'
import { createSessionsScript } from '../../../src/store/script/scripts.ts'
import type { SessionOrder } from '../../../src/store/session/create-sessions.ts'
import { type CreateOptions, Place } from '../support/place.ts'
import { aSession } from '../support/session/create-checks.ts'

/** One session of each kind, and some that are alike. */
const wishes: readonly CreateOptions[] = [
  { label: 'plain' },
  { label: 'twin' },
  { label: 'other', pool: 'gpu', kind: 'paint' },
  {
    label: 'talk',
    mode: 'conversation',
    input: { text: 'hello\tthere\n' },
    history: Array.from({ length: 200 }, (_, n) => `{"n":${n}}`),
  },
  { label: 'bound', limits: { workers: 3, mailbox: 2, tokens: 5 }, permissions: 'tools a b' },
  { label: 'nobody', pool: 'unhosted', kind: 'later' },
  { label: 'keyed', key: 'order-7' },
  { label: 'resting', mode: 'conversation', history: ['{"n":0}'], rests: true },
]

const sorted = (lines: readonly string[]) => lines.toSorted((one, other) => one.localeCompare(other))

async function stored(place: Place) {
  const dump = Object.entries(await place.dump()).filter(([key]) => !/^(events|wakeups)/.test(key))
  // A dump sorts the wake-ups of one millisecond by their labels.
  return Object.fromEntries(
    dump.map(([key, value]) => [key, key.startsWith('s:') ? {} : Array.isArray(value) ? sorted(value) : value]),
  )
}

const told = async (place: Place) =>
  (await place.redis.xrange(place.keys.events, '-', '+')).flatMap(([, fields]) =>
    fields.map((text) => place.words(text)),
  )

describe('many sessions', () => {
  test('sessions created together are as if created one after the other, with one script', async () => {
    await using one = await Place.open()
    await using other = await Place.open()
    for (const place of [one, other]) await place.create({ label: 'zero' })
    const before = one.wire.sent
    const made = await one.createMany(wishes)
    expect([one.wire.sent - before, one.wire.last.sha]).toEqual([1, createSessionsScript.sha])
    for (const wish of wishes) await other.create(wish)
    expect(await stored(one)).toEqual(await stored(other))
    expect(await told(one)).toEqual(await told(other))
    expect(made.map(({ id, root }) => [one.words(id), root])).toEqual(
      wishes.map(({ label }, index) => [`<${label}>`, rootIdOf(made[index]?.id ?? '')]),
    )
  })

  test('sessions created together get their positions in the run queue in the order of the request', async () => {
    await using place = await Place.open()
    const made = await place.createMany(['c', 'a', 'b'].map((label) => ({ label })))
    expect(await place.redis.zrange(place.keys.run('default'), '0', '-1')).toEqual(made.map(({ root }) => root))
  })

  test('sessions created together bring as many wake-ups as the rule has for all of them, in the answer for the first of each pool', async () => {
    await using place = await Place.open()
    await place.redis.set(place.keys.slots('default'), 2)
    const made = await place.createMany([
      { label: 'x', pool: 'gpu' },
      ...['a', 'b', 'c'].map((label) => ({ label })),
      { label: 'y', pool: 'gpu' },
    ])
    expect(made.map(({ wakeups }) => wakeups.map((id) => id.split('-')[1]))).toEqual([
      ['gpu'],
      ['default', 'default'],
      [],
      [],
      [],
    ])
    expect(await place.redis.zcard(place.keys.wakeups('default'))).toBe(2)
  })

  test('a repeated creation of sessions of several pools and under a key has the same answers, and nothing is written', async () => {
    await using place = await Place.open()
    const made = await place.createMany(wishes)
    const before = await place.dump()
    const again = (await place.wire.again()) as string[][]
    expect(again.map(([word, id]) => [word, id])).toEqual(made.map(({ id }) => ['again', id]))
    expect(again.map(([, , wakeups]) => wakeups?.split('-')[1])).toEqual([
      'default',
      undefined,
      'gpu',
      ...Array.from({ length: 5 }, () => undefined),
    ])
    expect(again.flatMap(([, , wakeups]) => wakeups || [])).toEqual(made.flatMap(({ wakeups }) => wakeups))
    expect(await place.dump()).toEqual(before)
  })

  test('sessions created together are eight to a script, or as many as have 64 KB', async () => {
    await using place = await Place.open()
    await place.create({ label: 'zero' })
    const many = (count: number, input: string) =>
      place.createMany(Array.from({ length: count }, (_, index) => ({ label: `${input.length}.${index}`, input })))
    const before = place.wire.sent
    await many(33, 'short')
    expect(place.wire.sent - before).toBe(5)
    await many(6, 'x'.repeat(30_000))
    expect(place.wire.sent - before).toBe(8)
    expect(await place.redis.zcard(place.keys.sessions)).toBe(40)
    const permissions = `tools ${Array.from({ length: 256 }, (_, index) => `t${index}`.padEnd(64, 'x')).join(' ')}`
    await place.createMany(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((label) => ({ label, permissions })))
    expect(place.wire.sent - before).toBe(11)
  })

  test('a session that meets damage gets its own error, and the others are created', async () => {
    await using place = await Place.open()
    const { id } = await place.create()
    const fresh = ['d', 'e', 'f'].map((digit) => id.replace(/^./, digit))
    await place.redis.set(place.workerKeys(rootIdOf(fresh[1] ?? '')).inbox, 'x')
    const results = await place.sessions.createMany(fresh.map((sessionId) => ({ ...aSession, sessionId })))
    expect(results).toMatchObject([
      { value: { kind: 'ok', sessionId: fresh[0] } },
      { reason: { message: expect.stringContaining(':mail:inbox is a string and should be a list') } },
      { value: { kind: 'ok', sessionId: fresh[2] } },
    ])
    expect(await place.redis.zcard(place.keys.sessions)).toBe(3)
  })

  test('sessions created together are not sent again one by one when Redis gave no answer in time', async () => {
    await using place = await Place.open()
    const { id } = await place.create()
    const late = new TransientError('no answer within 60000 ms', { code: 'store_unavailable' })
    using call = vi.spyOn(place.caller, 'call').mockRejectedValue(late)
    const orders = ['d', 'e', 'f'].map((digit) => ({ ...aSession, sessionId: id.replace(/^./, digit) }))
    const results = await place.sessions.createMany(orders)
    expect(results).toMatchObject(orders.map(() => ({ status: 'rejected', reason: { cause: late } })))
    expect(call).toHaveBeenCalledTimes(1)
  })

  test('sessions that are there already are left as they are, and the others are created', async () => {
    await using place = await Place.open()
    const { id, root } = await place.create()
    const before = await place.dump()
    const fresh = id.replace(/^./, 'f')
    const results = await place.sessions.createMany([id, fresh].map((sessionId) => ({ ...aSession, sessionId })))
    expect(results).toMatchObject([
      { value: { kind: 'again', workerId: root, wakeups: [{ pool: 'default' }] } },
      { value: { kind: 'ok', wakeups: [] } },
    ])
    const after = await place.dump()
    for (const key of Object.keys(before).filter((name) => name.startsWith('w:')))
      expect(after[key]).toEqual(before[key])
    expect(after['run:default']).toHaveLength(2)
    expect(await place.redis.lrange(place.workerKeys(rootIdOf(fresh)).inbox, 0, -1)).toEqual(['i\t-\t1'])
  })

  test('a name with half of a character pair is stored as Redis would store it', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ label: 'half \ud83d' })
    expect(await place.redis.hget(place.workerKeys(root).record, 'name')).toBe('half \ufffd')
  })
})

describe('sessions that are asked for one by one, in one pass of the event loop', () => {
  const asked = (place: Place, orders: readonly Partial<SessionOrder>[]) =>
    Promise.allSettled(orders.map((order) => place.sessions.create({ ...aSession, ...order } as SessionOrder)))
  const idsLike = (id: string) => ['d', 'e', 'f'].map((digit) => ({ sessionId: id.replace(/^./, digit) }))

  test('sessions asked for in one pass of the event loop go in one script, and each has its own answer', async () => {
    await using place = await Place.open()
    const { id } = await place.create()
    const before = place.wire.sent
    const orders = [...idsLike(id), { sessionId: id }]
    const results = await asked(place, orders)
    expect(place.wire.sent - before).toBe(1)
    expect(results.map((one) => one.status === 'fulfilled' && [one.value.kind, one.value.sessionId])).toEqual(
      orders.map(({ sessionId }) => [sessionId === id ? 'again' : 'ok', sessionId]),
    )
  })

  test('a session of a batch that meets damage gets its own error, and stops no other', async () => {
    await using place = await Place.open()
    const { id } = await place.create()
    const [first, second, third] = idsLike(id) as [Order, Order, Order]
    await place.redis.set(place.workerKeys(rootIdOf(second.sessionId)).inbox, 'x')
    expect(await asked(place, [first, second, third])).toMatchObject([
      { value: { kind: 'ok', ...first } },
      { reason: { message: expect.stringContaining(':mail:inbox is a string and should be a list') } },
      { value: { kind: 'ok', ...third } },
    ])
  })

  test('no session of a batch begins under a key if a client that knows fewer partitions made one of them', async () => {
    await using place = await Place.open()
    const { id } = await place.create()
    await place.redis.hset(place.keys.meta, 'partitions', '4')
    const [first, second] = idsLike(id) as [Order, Order]
    const refused = { reason: { message: expect.stringContaining('was raised to 4 partitions') } }
    expect(
      await asked(place, [
        { ...first, keyDigest: 'new', partitions: 4 },
        { ...second, keyDigest: 'old', partitions: 1 },
      ]),
    ).toMatchObject([refused, refused])
    expect(await place.redis.zcard(place.keys.sessions)).toBe(1)
  })
})

type Order = Pick<SessionOrder, 'sessionId'>
