/** Sessions that are asked for in one moment are created as if they had been asked for one after the other. */
import { describe, expect, test } from 'vitest'
import { rootIdOf } from '../../src/core/ids.ts'
import { spawnScript, spawnsScript } from '../../src/store/script/scripts.ts'
import { type CreateOptions, Place } from './support/place.ts'
import { aSession } from './support/spawn-checks.ts'

/** Of each kind one, and some that are alike. */
const wishes: readonly CreateOptions[] = [
  { label: 'plain' },
  { label: 'twin' },
  { label: 'other', pool: 'gpu', kind: 'paint' },
  { label: 'talk', mode: 'conversation', input: { text: 'hello\tthere\n' } },
  { label: 'small', limits: { workers: 3, mailbox: 2, tokens: 5 } },
  { label: 'bound', permissions: 'tools a b' },
  { label: 'nobody', pool: 'unhosted', kind: 'later' },
]

const sorted = (lines: readonly string[]) => lines.toSorted((one, other) => one.localeCompare(other))

async function stored(place: Place) {
  const dump = Object.entries(await place.dump()).filter(([key]) => !/^(events|wake-ups)/.test(key))
  // In a dump those of one millisecond are sorted by their labels.
  return Object.fromEntries(
    dump.map(([key, value]) => [key, key.startsWith('s:') ? {} : Array.isArray(value) ? sorted(value) : value]),
  )
}

const told = async (place: Place) =>
  (await place.redis.xrange(place.keys.events, '-', '+')).flatMap(([, fields]) =>
    fields.map((text) => place.words(text)),
  )

describe('sessions of one moment', () => {
  test('are what they would be one after the other, and one script', async () => {
    await using one = await Place.open()
    await using other = await Place.open()
    for (const place of [one, other]) await place.create({ label: 'zero' })
    const before = one.wire.sent
    const made = await Promise.all(wishes.map((wish) => one.create(wish)))
    expect([one.wire.sent - before, one.wire.last.sha]).toEqual([1, spawnsScript.sha])
    for (const wish of wishes) await other.create(wish)
    expect(await stored(one)).toEqual(await stored(other))
    expect(await told(one)).toEqual(await told(other))
    expect(made.map(({ id, root }) => [one.words(id), root])).toEqual(
      wishes.map(({ label }, index) => [`<${label}>`, rootIdOf(made[index]?.id ?? '')]),
    )
  })

  test('stand in line in the order in which they were asked for', async () => {
    await using place = await Place.open()
    const made = await Promise.all(['c', 'a', 'b'].map((label) => place.create({ label })))
    expect(await place.redis.zrange(place.keys.run('default'), '0', '-1')).toEqual(made.map(({ root }) => root))
  })

  test('ring as many wake-ups as the rule has for all of them, which one of them brings', async () => {
    await using place = await Place.open()
    await place.redis.set(place.keys.slots('default'), 2)
    const made = await Promise.all(['a', 'b', 'c'].map((label) => place.create({ label })))
    expect(made.map(({ wakeups }) => wakeups.length)).toEqual([2, 0, 0])
    expect(await place.redis.zcard(place.keys.wakeups('default'))).toBe(2)
  })

  test('have the wake-ups of each pool answered to the first of that pool', async () => {
    await using place = await Place.open()
    const made = await Promise.all([
      place.create({ label: 'a', pool: 'gpu' }),
      place.create({ label: 'b' }),
      place.create({ label: 'c', pool: 'gpu' }),
    ])
    expect(made.map(({ wakeups }) => wakeups.map((id) => id.split('-')[1]))).toEqual([['gpu'], ['default'], []])
  })

  test('keep their wake-ups in the record of the last, and sent again give them again, and write nothing', async () => {
    await using place = await Place.open()
    await Promise.all(wishes.map((wish) => place.create(wish)))
    const before = await place.dump()
    const first = place.wire.last.reply
    expect(await place.wire.again()).toEqual(first)
    expect(String(first)).toMatch(/^ok,(?=.*-default-1)(?=.*-gpu-1)/)
    expect(await place.dump()).toEqual(before)
  })

  test('alone go as ever, and so do those under a key of their caller', async () => {
    await using place = await Place.open()
    await place.create({ label: 'zero' })
    const before = place.wire.sent
    await place.create({ label: 'isolated' })
    expect([place.wire.sent - before, place.wire.last.sha]).toEqual([1, spawnScript.sha])
    await Promise.all([place.create({ label: 'x', key: 'kx' }), place.create({ label: 'y', key: 'ky' })])
    expect([place.wire.sent - before, place.wire.last.sha]).toEqual([3, spawnScript.sha])
  })

  test('are sixteen to a script, or as many as have 64 KB', async () => {
    await using place = await Place.open()
    await place.create({ label: 'zero' })
    const many = (count: number, input: string) =>
      Promise.all(
        Array.from({ length: count }, (_, index) => place.create({ label: `${input.length}.${index}`, input })),
      )
    const before = place.wire.sent
    await many(33, 'short')
    expect(place.wire.sent - before).toBe(3)
    await many(6, 'x'.repeat(30_000))
    expect(place.wire.sent - before).toBe(6)
    expect(await place.redis.zcard(place.keys.sessions)).toBe(40)
    const assignment = `tools ${Array.from({ length: 256 }, (_, index) => `t${index}`.padEnd(64, 'x')).join(' ')}`
    await Promise.all(
      ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((label) => place.create({ label, permissions: assignment })),
    )
    expect(place.wire.sent - before).toBe(9)
  })

  test('of which one meets damage: it says so itself, and the others are there', async () => {
    await using place = await Place.open()
    const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((label) => place.create({ label })))
    const fresh = [a, b, c].map((session) => (session?.id ?? '').replace(/^./, 'f'))
    await place.redis.set(place.workerKeys(rootIdOf(fresh[1] ?? '')).inbox, 'x')
    const answers = await Promise.allSettled(fresh.map((id) => place.sessions.spawn({ ...aSession, sessionId: id })))
    expect(answers).toMatchObject([
      { value: { kind: 'ok', sessionId: fresh[0] } },
      { reason: { message: expect.stringContaining(':mail:inbox is a string and should be a list') } },
      { value: { kind: 'ok', sessionId: fresh[2] } },
    ])
    expect(await place.redis.zcard(place.keys.sessions)).toBe(5)
  })

  test('of which some are there already: they are left as they are, and the others are created', async () => {
    await using place = await Place.open()
    const [, b] = await Promise.all([place.create({ label: 'a' }), place.create({ label: 'b' })])
    const before = await place.dump()
    const fresh = (b?.id ?? '').replace(/^./, 'f')
    const { last } = place.wire
    expect(await place.wire.again({ ...last, flat: last.flat.map((word) => (word === b?.id ? fresh : word)) })).toEqual(
      ['ok', ''],
    )
    const after = await place.dump()
    for (const key of Object.keys(before).filter((name) => name.startsWith('w:')))
      expect(after[key]).toEqual(before[key])
    expect(after['run:default']).toHaveLength(3)
    expect(await place.redis.lrange(place.workerKeys(rootIdOf(fresh)).inbox, 0, -1)).toEqual(['i\t-\t"first"'])
  })
})
