/** Followers of all sessions: none misses an event, and what waits for a slow one is bounded. */
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { type FleetEvent, FleetEvents } from '../../../src/client/event/fleet-events.ts'
import { encodeEvents } from '../../../src/core/event/event-notes.ts'
import { newId } from '../../../src/core/ids.ts'
import { type Place, placesOf } from '../../../src/store/keys.ts'
import { openRedis, type Redis } from '../../../src/store/redis/redis.ts'
import { newNamespace } from '../../support/namespace.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

let redis: Redis
let place: Place
let fleet: FleetEvents
/** The ids from which pages were read. */
let readFrom: string[]

beforeEach(() => {
  redis = openRedis(inject('redisUrl'))
  place = placesOf(newNamespace(), 1)[0] as Place
  fleet = new FleetEvents(() => redis, [place], 5_000)
  readFrom = []
  const read = redis.xrange.bind(redis)
  redis.xrange = ((...args: Parameters<typeof read>) => {
    if (args[1] !== '-') readFrom.push(String(args[1]))
    return read(...args)
  }) as typeof redis.xrange
})
afterEach(async () => {
  fleet.stop()
  redis.disconnect()
})

async function add(to: string, why = ''): Promise<string> {
  const notes = encodeEvents([['message.undelivered', { to, why }]])
  return (await redis.xadd(place.keys.events, '*', newId(0), notes)) as string
}

async function next(follower: AsyncGenerator<FleetEvent, void>): Promise<unknown> {
  const { value } = await follower.next()
  return (value?.event.details as { to?: string } | undefined)?.to
}

test('a follower that begins while another asks where to begin gets every event (FLEET-1)', async () => {
  const { promise: isAnswered, resolve: answer } = Promise.withResolvers<void>()
  const newest = redis.xrevrange.bind(redis)
  let asked = 0
  redis.xrevrange = (async (...args: Parameters<typeof newest>) => {
    if (++asked === 2) await isAnswered
    return newest(...args)
  }) as typeof redis.xrevrange
  const first = next(fleet.follow({}))
  const second = fleet.follow({}).next()
  await waitUntil('the first one looks', () => readFrom.length > 0)
  await add('first')
  answer()
  expect(await first).toBe('first')
  fleet.stop()
  await second
})

test('a follower that reads what is stored misses nothing that is read for all of them meanwhile (FLEET-1)', async () => {
  const [from] = [await add('first'), await add('second')]
  const mayAnswer = Promise.withResolvers<void>()
  const read = redis.xrange.bind(redis)
  redis.xrange = (async (...args: Parameters<typeof read>) => {
    const page = await read(...args)
    if (args[1] === from) await mayAnswer.promise
    return page
  }) as typeof redis.xrange
  const newest = next(fleet.follow({}))
  const follower = fleet.follow({ after: from })
  const got = next(follower)
  await waitUntil('it reads', () => readFrom.includes(from))
  await add('meanwhile')
  expect(await newest).toBe('meanwhile')
  mayAnswer.resolve()
  expect(await got).toBe('second')
  const then = next(follower)
  await add('later')
  expect(await then).toBe('meanwhile')
})

test('a slow follower reads the stream itself when too many bytes wait for it, and gets every event once (FLEET-3)', async () => {
  const follower = fleet.follow({})
  const first = next(follower)
  await waitUntil('it looks', () => readFrom.length > 0)
  const seen = await add('0')
  expect(await first).toBe('0')
  for (const from of [1, 13]) {
    let last = ''
    for (let number = from; number < from + 12; number++) last = await add(String(number), 'x'.repeat(100_000))
    await waitUntil('they were read for all followers', () => readFrom.at(-1) === last)
  }
  readFrom = []
  const got: unknown[] = []
  for (let number = 1; number <= 24; number++) got.push(await next(follower))
  expect(got).toEqual(Array.from({ length: 24 }, (_, index) => String(index + 1)))
  expect(readFrom).toContain(seen)
})

test('a follower that is behind asks no more for events that Redis has lost', async () => {
  await add('first')
  const kept = await add('kept')
  const older = await redis.dumpBuffer(place.keys.events)
  const lost = await add('lost')
  const reading = fleet.follow({ after: lost })
  const newest = next(reading)
  const readsOf = (id: string) => readFrom.filter((one) => one === id).length
  await waitUntil('they were read for all followers', () => readsOf(lost) > 1)
  await redis.restore(place.keys.events, 0, older, 'REPLACE')
  const follower = fleet.follow({ after: '0-0' })
  expect([await next(follower), await next(follower)]).toEqual(['first', 'kept'])
  const later = next(follower)
  const looks = readsOf(lost)
  await waitUntil('it looks some more times', () => readsOf(lost) > looks + 2)
  expect(readsOf(kept)).toBeLessThan(3)
  await add('later')
  expect([await newest, await later]).toEqual(['later', 'later'])
})
