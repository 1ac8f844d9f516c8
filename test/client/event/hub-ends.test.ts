/** What a hub remembers of ends, and on which channels it listens for them. */
import { expect, inject, test } from 'vitest'
import { newCreator, newId } from '../../../src/core/ids.ts'
import { sessionChannels, tagOf } from '../../../src/store/keys.ts'
import type { Redis } from '../../../src/store/redis/redis.ts'
import { newNamespace } from '../../support/namespace.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { reportEvent } from '../../support/report-event.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { hubFor, hubOf } from '../support/hub.ts'

/** How many listen on each channel of a session. */
async function heardOf(redis: Redis, namespace: string, session: string) {
  const channels = sessionChannels(tagOf(namespace, 0), session)
  const { events, ends, created } = channels
  const count = inject('hasFunctions') ? 'SHARDNUMSUB' : 'NUMSUB'
  const counted = (await redis.call('PUBSUB', count, events, ends, created)) as unknown[]
  return { events: counted[1], ends: counted[3], created: counted[5] }
}

test('ends that nobody asks for are forgotten, the oldest first, even if a session before them is watched for long', async () => {
  const hub = hubFor(newNamespace())
  try {
    const [followed, ...ids] = Array.from({ length: 10_101 }, () => newId(0)) as [string, ...string[]]
    await hub.listen(followed, () => {})
    // Forgetting a session that is not remembered makes no room.
    const heard = newId(0)
    await hub.listen(heard, () => {})
    hub.forget(heard)
    void hub.track(followed)
    for (const id of ids) void hub.track(id)
    expect(ids.filter((id) => hub.ended(id) === null)).toEqual(ids.slice(-10_000))
    const again = newId(0)
    void hub.track(again)
    hub.forget(again)
    expect(ids.filter((id) => hub.ended(id) === null)).toHaveLength(9_999)
  } finally {
    await hub.stop()
  }
})

test('a watched session has its end remembered if the hub listened before it was created (HUB-1)', async () => {
  await using troupe = await TestTroupe.connect()
  const { redis, namespace } = troupe
  const hub = await hubOf(troupe)
  const [one, other] = [newId(0), newId(0)]
  await hub.track(one)
  expect(hub.ended(one)).toBeNull()
  const notes = '[["run.completed",{"run":1,"value":"said"}],["session.completed",4]]'
  for (const about of [one, other]) await reportEvent(redis, { namespace, about, notes })
  const ended = await waitUntil('it has ended', () => hub.ended(one))
  expect(ended).toMatchObject({ status: 'completed', result: { status: 'completed', run: 1, value: 'said' } })
  expect(hub.ended(other)).toBeUndefined()
  await hub.stop()
})

test('a failed end is remembered until its session goes on: then the next end counts', async () => {
  await using troupe = await TestTroupe.connect()
  const { redis, namespace } = troupe
  const hub = await hubOf(troupe)
  const id = newId(0)
  await hub.track(id)
  const report = (notes: string) => reportEvent(redis, { namespace, about: id, notes })
  const isAt = (status: string | undefined) =>
    waitUntil(`its end is ${status}`, () => hub.ended(id) !== undefined && hub.ended(id)?.status === status)
  await report('[["worker.failed",{"run":1}],["session.failed",4]]')
  await isAt('failed')
  await report('[["session.retried",{"run":1}]]')
  await isAt(undefined)
  await report('[["run.completed",{"run":1,"value":"said"}],["session.completed",7]]')
  await isAt('completed')
  expect(hub.ended(id)).toMatchObject({ position: 7, result: { value: 'said' } })
  await waitUntil('nobody listens any more', async () => (await heardOf(redis, namespace, id)).ends === 0)
  await hub.stop()
})

test('a hub listens once for the ends of all jobs that its client created, and goes on when one of them has ended (ID-4)', async () => {
  await using troupe = await TestTroupe.connect()
  const { redis, namespace } = troupe
  const creator = newCreator()
  const hub = hubFor(namespace, undefined, { creator })
  await hub.listen(newId(0), () => {})
  const [one, other, foreign] = [newId(0, creator), newId(0, creator), newId(0, newCreator())]
  await hub.track(one)
  expect(hub.track(other)).toBeUndefined()
  const notes = '[["run.completed",{"run":1,"value":"said"}],["session.completed",4]]'
  let woken = 0
  await hub.wakeAtEnds(one, () => woken++)
  await hub.track(foreign)
  for (const about of [one, foreign, other]) await reportEvent(redis, { namespace, about, notes })
  await waitUntil('all have ended', () => [one, foreign, other].every((id) => hub.ended(id)?.status === 'completed'))
  expect(woken).toBe(1)
  hub.forget(one)
  const later = newId(0, creator)
  expect(hub.track(later)).toBeUndefined()
  await reportEvent(redis, { namespace, about: later, notes })
  await waitUntil('the last has ended', () => hub.ended(later)?.status === 'completed')
  expect(await heardOf(redis, namespace, later)).toEqual({ events: 0, ends: 0, created: 1 })
  await hub.stop()
})

test('a session whose result somebody waits for is heard of by its ends alone (EVENT-CHANNEL-1)', async () => {
  await using troupe = await TestTroupe.connect()
  const { redis, namespace } = troupe
  const hub = await hubOf(troupe)
  const [waited, followed] = [newId(0), newId(0)]
  await hub.wakeAtEnds(waited, () => {})
  await hub.listen(followed, () => {})
  expect(await heardOf(redis, namespace, waited)).toEqual({ events: 0, ends: 1, created: 0 })
  expect(await heardOf(redis, namespace, followed)).toEqual({ events: 1, ends: 0, created: 0 })
  await hub.stop()
})

test('a watched session is created without a listener if Redis stands still: then its end is not remembered', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  const hub = hubFor(newNamespace(), proxy.url, { deadlineMs: 600_000 })
  await hub.listen(newId(0), () => {})
  proxy.blackhole()
  const id = newId(0)
  await hub.track(id)
  expect(hub.ended(id)).toBeUndefined()
  await hub.stop()
})

test('a session is not remembered by a hub that does not listen yet: its end might come before', async () => {
  const hub = hubFor(newNamespace())
  const id = newId(0)
  void hub.track(id)
  expect(hub.ended(id)).toBeUndefined()
  await hub.stop()
  await expect(hub.listen(id, () => {})).rejects.toMatchObject({ code: 'client_closed' })
  await expect(hub.wakeAtEnds(id, () => {})).rejects.toMatchObject({ code: 'client_closed' })
})
