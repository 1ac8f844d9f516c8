/** What blobs must not let happen; a mutant of each guard fails here. */
import { expect } from 'vitest'
import { rootIdOf } from '../../../../src/core/ids.ts'
import type { Policy } from '../../../../src/core/policy.ts'
import { RedisBlobStore } from '../../../../src/store/blob-store.ts'
import { blobKey, sessionKeys } from '../../../../src/store/keys.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

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
  await blobs.keep(id, text('twice'))
  expect(await place.changed(() => blobs.keep(id, text('twice')))).toEqual({})
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
