/** How histories are read: in pieces of few bytes, however long their entries are. */
import { expect, test } from 'vitest'
import { packed } from '../../../src/store/history/pack.ts'
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

test('more entries than a history has are read from its end: all of them come', async () => {
  await using place = await Place.open()
  const log = `${place.keys.tag}:log`
  const all = Array.from({ length: 3 }, (_, index) => entry(index, 100))
  await place.redis.rpush(log, ...all)
  expect(await readEntries(place.redis, log, -500, -1)).toEqual(all)
  expect(await readEntries(place.redis, log, -500, -2)).toEqual(all.slice(0, 2))
  expect(await readEntries(place.redis, log, -500, -5)).toEqual([])
})

test.each([
  ['is missing in its pack', 2, (pack: string) => pack, 'entry 2 of \\S+ should be in the pack before it'],
  ['is in a pack that has another number of entries', 1, (pack: string) => pack.replace(/^z2/, 'z3'), 'entry 0 of'],
  ['is in a pack of a codec that is not known here', 1, (pack: string) => pack.replace(/^z/, 'y'), 'entry 0 of'],
  ['is in a pack that was cut', 1, (pack: string) => pack.slice(0, -3), 'entry 0 of'],
])('an entry that %s is damage, and no entry that is left out', async (_, distance, damage, why) => {
  await using place = await Place.open()
  const log = `${place.keys.tag}:log`
  const pack = await packed([0, 1].map((index) => Buffer.from(entry(index, 400))))
  const broken = Buffer.from(damage((pack as Buffer).toString('latin1')), 'latin1')
  const before = distance === 2 ? ['1'] : []
  await place.redis.rpush(log, broken, ...before, String(distance), entry(2, 100))
  await expect(readEntries(place.redis, log, 0, 9)).rejects.toThrow(new RegExp(why))
})
