/** Blobs of sessions: kept once under a name that follows from their bytes, read in parts, bounded, and gone with their session. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { Place } from '../support/place.ts'
import * as checks from '../support/session/blob-checks.ts'
import { blobsOf, text } from '../support/session/blob-checks.ts'
import type { Check } from '../support/turn/checks.ts'

const held = Object.entries(checks).filter(([name]) => !['blobsOf', 'text'].includes(name)) as [string, Check][]

test.each(held)('this promise of blobs holds: %s', async (_name, check) => {
  await using place = await Place.open()
  await expect(check(place)).resolves.toBeUndefined()
})

test('any bytes come back as they were, whole and in parts', async () => {
  await using place = await Place.open()
  const { id } = await place.create()
  const blobs = blobsOf(place)
  for (const bytes of [Buffer.alloc(0), Buffer.from([0, 255, 13, 10, 0]), randomBytes(100_000)]) {
    const kept = await blobs.keep(id, { mediaType: 'image/png', bytes })
    if (kept.kind !== 'kept') throw new Error(kept.kind)
    expect(kept.ref).toMatchObject({ mediaType: 'image/png', bytes: bytes.length })
    expect(await blobs.find(id, kept.ref.id)).toEqual(kept.ref)
    expect(await blobs.read(id, kept.ref.id)).toEqual(bytes)
    expect(await blobs.read(id, kept.ref.id, { offset: 1, length: 3 })).toEqual(bytes.subarray(1, 4))
    expect(await blobs.read(id, kept.ref.id, { offset: 200_000, length: 3 })).toEqual(Buffer.alloc(0))
    expect(await blobs.read(id, kept.ref.id, { offset: 0, length: 0 })).toEqual(Buffer.alloc(0))
  }
  expect(await blobs.list(id)).toHaveLength(3)
})

test('a part of a larger buffer is kept without the rest', async () => {
  await using place = await Place.open()
  const { id } = await place.create()
  const kept = await blobsOf(place).keep(id, { mediaType: 'text/plain', bytes: Buffer.from('xxabcxx').subarray(2, 5) })
  expect(await blobsOf(place).read(id, kept.kind === 'kept' ? kept.ref.id : '')).toEqual(Buffer.from('abc'))
})

test('a blob of another session, one that nobody kept and a wrong name are not found', async () => {
  await using place = await Place.open()
  const { id } = await place.create({ label: 'one' })
  const other = await place.create({ label: 'two' })
  const kept = await blobsOf(place).keep(other.id, text('of the other'))
  for (const name of [kept.kind === 'kept' ? kept.ref.id : '', 'f'.repeat(32), '', '../x', 'bytes']) {
    expect(await blobsOf(place).find(id, name)).toBeNull()
    expect(await blobsOf(place).read(id, name)).toBeNull()
    expect(await blobsOf(place).read(id, name, { offset: 0, length: 9 })).toBeNull()
  }
})

test('a blob that is too long for any session is not sent', async () => {
  await using place = await Place.open()
  const { id } = await place.create()
  const blobs = blobsOf(place, { blobBytesMax: 3 })
  expect(
    await place.changed(async () => expect(await blobs.keep(id, text('four'))).toEqual({ kind: 'tooLong' })),
  ).toEqual({})
})
