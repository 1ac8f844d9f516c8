/** What blobs must not let happen; a mutant of each guard fails here. */
import { expect } from 'vitest'
import { blobRefOf } from '../../../../src/core/blob.ts'
import { newId, rootIdOf } from '../../../../src/core/ids.ts'
import type { Policy } from '../../../../src/core/policy.ts'
import { RedisBlobStore } from '../../../../src/store/blob-store.ts'
import { blobKey, sessionKeys } from '../../../../src/store/keys.ts'
import type { Redis } from '../../../../src/store/redis/redis.ts'
import { CreateSessions } from '../../../../src/store/session/create-sessions.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'
import { aSession } from './create-checks.ts'

export function blobsOf(place: Place, limits: Partial<Policy> = {}): RedisBlobStore {
  const { redis, caller, keys, deadlineMs } = place
  return new RedisBlobStore({
    redis,
    caller,
    keys,
    policy: { ...place.policy, ...limits },
    deadlineMs,
  })
}

export const text = (value: string) => ({ mediaType: 'text/plain', bytes: Buffer.from(value) })

export const nothingIsKeptOfASessionThatIsGone: Check = async (place) => {
  const { id } = await place.create()
  await (await place.node().claim()).complete()
  expect(await place.sessions.prune(0)).toBe(1)
  const changed = await place.changed(async () =>
    expect(await blobsOf(place).keep(id, text('late'))).toEqual({ kind: 'gone' }),
  )
  expect(changed).toEqual({})
}

export const aBlobThatIsThereCountsOnce: Check = async (place) => {
  const { id } = await place.create()
  const blobs = blobsOf(place)
  const kept = await blobs.keep(id, text('twice'))
  expect(await place.changed(() => blobs.keep(id, text('twice')))).toEqual({})
  // Also one whose bytes another program has deleted.
  const index = () => place.redis.hgetall(sessionKeys(place.keys.tag, id).blobs)
  const before = await index()
  await place.redis.del(blobKey(place.keys.tag, id, kept.kind === 'kept' ? kept.ref.id : ''))
  await blobs.keep(id, text('twice'))
  expect(await index()).toEqual(before)
}

export const aBlobThatWasKeptNeedNotBeSentAgain: Check = async (place) => {
  const { id } = await place.create()
  await blobsOf(place).keep(id, text('once'))
  expect(await place.wire.again()).toEqual(['ok', 4])
}

export const aBlobThatIsKeptStays: Check = async (place) => {
  const { id } = await place.create()
  const kept = await blobsOf(place).keep(id, text('stays'))
  expect(await place.redis.pttl(blobKey(place.keys.tag, id, kept.kind === 'kept' ? kept.ref.id : ''))).toBe(-1)
}

/** A Redis that loses what is sent to it. */
const forgetful = { set: async () => 'OK' } as unknown as Redis
const gone = { code: 'store_refused', message: expect.stringContaining('were gone each time') }

export const aBlobIsKeptWhole: Check = async (place) => {
  const { id } = await place.create()
  const { caller, keys, policy, deadlineMs } = place
  const blobs = new RedisBlobStore({ redis: forgetful, caller, keys, policy, deadlineMs })
  const kept = place.changed(() => expect(blobs.keep(id, text('lost'))).rejects.toMatchObject(gone))
  expect(await kept).toEqual({})
}

const picture = { mediaType: 'image/png', bytes: Buffer.from('a picture') }
const withPicture = (id: string) => ({
  ...aSession,
  sessionId: id,
  blobs: [{ ref: blobRefOf(picture), body: picture.bytes }],
})

export const theFirstBlobsOfASessionStay: Check = async (place) => {
  const id = newId(0)
  expect(await place.sessions.create(withPicture(id))).toMatchObject({ kind: 'ok' })
  const { id: blob } = blobRefOf(picture)
  expect(await blobsOf(place).read(id, blob)).toEqual(picture.bytes)
  expect(await blobsOf(place).list(id)).toEqual([blobRefOf(picture)])
  expect(await place.redis.pttl(blobKey(place.keys.tag, id, blob))).toBe(-1)
}

export const aSessionBeginsWithAllOfItsBlobs: Check = async (place) => {
  const { caller, keys, policy, deadlineMs } = place
  const creation = new CreateSessions(forgetful, caller, keys, policy, deadlineMs)
  const created = place.changed(() => expect(creation.create(withPicture(newId(0)))).rejects.toMatchObject(gone))
  expect(await created).toEqual({})
}

export const blobsOfASessionAreBounded: Check = async (place) => {
  const { id } = await place.create()
  expect(await blobsOf(place, { sessionBlobBytesMax: 3 }).keep(id, text('four'))).toEqual({ kind: 'full' })
  await blobsOf(place).keep(id, text('one'))
  expect(await blobsOf(place, { sessionBlobsMax: 1 }).keep(id, text('two'))).toEqual({ kind: 'full' })
  expect(await blobsOf(place).list(id)).toHaveLength(1)
}

/** A session that has ended and may go. */
async function endedWithABlob(place: Place) {
  const { id } = await place.create()
  const kept = await blobsOf(place).keep(id, text('kept'))
  await (await place.node().claim()).complete()
  const key = blobKey(place.keys.tag, id, kept.kind === 'kept' ? kept.ref.id : '')
  return { id, key, index: sessionKeys(place.keys.tag, id).blobs }
}

export const theBlobsOfASessionGoWithIt: Check = async (place) => {
  const { key, index } = await endedWithABlob(place)
  expect(await place.redis.exists(key, index)).toBe(2)
  expect(await place.sessions.prune(0)).toBe(1)
  expect(await place.redis.exists(key, index)).toBe(0)
}

export const blobsThatCannotBeReadKeepTheirSession: Check = async (place) => {
  const { id, index } = await endedWithABlob(place)
  const { record } = place.workerKeys(rootIdOf(id))
  await place.redis.set(index, 'another program wrote this')
  expect(await place.sessions.prune(0).catch(() => 0)).toBe(0)
  expect(await place.redis.exists(record)).toBe(1)
}
