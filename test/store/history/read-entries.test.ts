/** How histories are read: in pieces of few bytes, however long their entries are. */
import { expect, test } from 'vitest'
import { readEntries } from '../../../src/store/history/read-entries.ts'
import type { Redis } from '../../../src/store/redis/redis.ts'
import { Place } from '../support/place.ts'

/** The same connection; `sizes` gets the bytes of each answer of a range. */
function noting(redis: Redis, sizes: number[]): Redis {
  const lrangeBuffer: Redis['lrangeBuffer'] = async (...args: Parameters<Redis['lrangeBuffer']>) => {
    const page = await redis.lrangeBuffer(...args)
    sizes.push(page.reduce((sum, { length }) => sum + length, 0))
    return page
  }
  return new Proxy(redis, { get: (of, name) => (name === 'lrangeBuffer' ? lrangeBuffer : Reflect.get(of, name, of)) })
}

const entry = (index: number, bytes: number) => JSON.stringify({ type: 'x', at: index, text: 'x'.repeat(bytes) })

test('long entries are read in pieces of about a megabyte, and all of them are there, from either end', async () => {
  await using place = await Place.open()
  const log = `${place.keys.tag}:log`
  const all = Array.from({ length: 40 }, (_, index) => entry(index, 200_000))
  await place.redis.rpush(log, ...all)
  const sizes: number[] = []
  const redis = noting(place.redis, sizes)
  expect(await readEntries(redis, log, 0, 999)).toEqual(all)
  expect(sizes.length).toBeGreaterThan(4)
  expect(Math.max(...sizes.slice(1))).toBeLessThan(1_200_000)
  expect(await readEntries(redis, log, -30, -1)).toEqual(all.slice(10))
  expect(await readEntries(redis, log, -30, -11)).toEqual(all.slice(10, 30))
})

test('a thousand short entries are read with two reads', async () => {
  await using place = await Place.open()
  const log = `${place.keys.tag}:log`
  const all = Array.from({ length: 1_000 }, (_, index) => entry(index, 100))
  await place.redis.rpush(log, ...all)
  const sizes: number[] = []
  expect(await readEntries(noting(place.redis, sizes), log, 0, 999)).toEqual(all)
  expect(sizes).toHaveLength(2)
})
