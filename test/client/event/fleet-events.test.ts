/** The stored events of all sessions: what a follower gets, and what it does not get twice. */
import { expect, inject, test } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import type { FleetEvent } from '../../../src/client/event/fleet-events.ts'
import { newNamespace } from '../../support/namespace.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/wait-until.ts'

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

test('a position of another number of partitions is refused at once', async () => {
  await using client = await connectInternal({ redisUrl: inject('redisUrl'), namespace: newNamespace(), partitions: 2 })
  expect(() => client.events({ after: '1-0' })).toThrow('names 1 partitions, and the namespace has 2')
  expect(() => client.events({ after: '1-0,2-0' })).not.toThrow()
})
