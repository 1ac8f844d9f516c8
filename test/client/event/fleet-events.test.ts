/** The stored events of all sessions: what a follower gets, and what it does not get twice. */
import { expect, inject, test } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import type { FleetEvent } from '../../../src/client/event/fleet-events.ts'
import { partitionOfKey } from '../../../src/core/ids.ts'
import { newNamespace } from '../../support/namespace.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

test('a follower that reads ahead of the others gets each event once, although it is read for all of them later', async () => {
  await using troupe = await TestTroupe.connect()
  const stop = new AbortController()
  const follow = (after?: string) => {
    const got: FleetEvent[] = []
    const following = (async () => {
      for await (const one of troupe.client.events({ after, signal: stop.signal })) got.push(one)
    })()
    const knows = (id: string) => got.some(({ event }) => event.sessionId === id)
    return { got, following, knows }
  }
  const reading = follow()
  await waitUntil('the first follower reads', async () => {
    await troupe.create('echo', 'first')
    return reading.got.length > 0
  })
  const followers: ReturnType<typeof follow>[] = []
  for (let round = 0; round < 5; round++) {
    const { id } = await troupe.create('echo', round)
    const follower = follow('0-0')
    followers.push(follower)
    await waitUntil('it has read ahead', () => follower.knows(id))
    await waitUntil('it is read for all', () => reading.knows(id))
  }
  const { id: last } = await troupe.create('echo', 'last')
  await waitUntil('all have got the last event', () => followers.every(({ knows }) => knows(last)))
  stop.abort()
  await Promise.all([reading, ...followers].map(({ following }) => following))
  for (const { got } of followers) expect(new Set(got.map(({ event }) => event.id)).size).toBe(got.length)
})

const keyOfNewPartition = Array.from({ length: 100 }, (_, number) => `key ${number}`).find(
  (key) => partitionOfKey(key, 3) === 2,
) as string

test('a position of another number of partitions is refused, unless the namespace had that number before', async () => {
  const place = { redisUrl: inject('redisUrl'), namespace: newNamespace() }
  await using client = await connectInternal({ ...place, partitions: 2 })
  await expect(client.events({ after: '1-0,1-0,1-0' }).next()).rejects.toThrow(
    'names 3 partitions, and the namespace has 2',
  )
  await expect(client.events({ after: '1-0' }).next()).rejects.toThrow('names 1 partitions, and the namespace has 2')
  expect(() => client.events({ after: '1-0,2-0' })).not.toThrow()
  await client.partitions.raise(3)
  await using later = await connectInternal(place)
  const order = { kind: 'echo', input: 1, idempotencyKey: keyOfNewPartition }
  const { id } = await later.sessions.create(order)
  const { value } = await later.events({ after: '1-0,2-0' }).next()
  expect(value?.event).toMatchObject({ type: 'session.created', sessionId: id })
  expect(value?.position).toMatch(/^1-0,2-0,\d+-\d+\.0$/)
})
