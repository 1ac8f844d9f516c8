/** The connections over which a client follows events: none outlives the client, nor an attempt to listen that failed. */
import { once } from 'node:events'
import { describe, expect, inject, test, vi } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { RawEvent } from '../../../src/core/event/event.ts'
import { newId } from '../../../src/core/ids.ts'
import { partitionKeys, tagOf } from '../../../src/store/keys.ts'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { newNamespace } from '../../support/namespace.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { trimEvents } from '../../support/redis/trim-events.ts'
import { reportEvent } from '../../support/report-event.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { hubFor, hubOf } from '../support/hub.ts'

/** A client whose next connection is accepted, and served once the proxy is mended. */
async function clientBehind(proxy: TcpProxy, deadlineMs: number) {
  const silent = { waker: { wake() {} } }
  const client = await connectInternal({ redisUrl: proxy.url, namespace: newNamespace(), deadlineMs, ...silent })
  proxy.holdNew()
  return client
}

test('a client that could not listen to events leaves no connection', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  await using client = await clientBehind(proxy, 2_000)
  const result = client.sessions.get(newId(0)).result()
  await expect(result).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/^Redis cannot be reached \(listening to events: no answer within [12]\d{3} ms\)/),
  })
  expect(proxy.waiting).toBe(1)
  proxy.mend()
  await waitUntil('only the connection of the client is open', () => proxy.connections === 1)
  // The hub listens with another connection as soon as somebody asks it again.
  await expect(client.sessions.get(newId(0)).result()).rejects.toMatchObject({ code: 'session_not_found' })
})

test('a client that is closed while it begins to listen to events leaves neither a connection nor a waiter', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  const client = await clientBehind(proxy, 60_000)
  const told = client.sessions
    .get(newId(0))
    .result()
    .catch((error: unknown) => error)
  await waitUntil('its connection is on its way', () => proxy.waiting === 1)
  await client.close()
  expect(await told).toMatchObject({ code: 'client_closed' })
  proxy.mend()
  await waitUntil('none is open', () => proxy.connections === 0)
})

describe('a session that is watched', () => {
  const gates = new Map<unknown, PromiseWithResolvers<void>>()
  const gated = defineWorker({
    async receive(message, self) {
      await gates.get(message.value)?.promise
      self.reply(message.value)
    },
  })
  function gate(name: string): PromiseWithResolvers<void> {
    const made = Promise.withResolvers<void>()
    gates.set(name, made)
    return made
  }
  test('a watched session is read from its record if its event cannot be decoded: its waiters wake, and get the events that follow', async () => {
    await using troupe = await TestTroupe.connect()
    const { redis, namespace } = troupe
    const about = newId(0)
    const hub = await hubOf(troupe)
    let woken = 0
    const heard: string[] = []
    await hub.wakeAtEnds(about, () => woken++)
    await hub.listen(about, (event) => heard.push(event?.type ?? ''))
    for (const notes of ['[["session.completed",4', '[["run.started"]]'])
      await reportEvent(redis, { namespace, about, notes })
    await waitUntil('what comes behind it was told', () => heard.length > 0)
    expect([woken, heard]).toEqual([1, ['run.started']])
    await hub.stop()
  })

  test('a watched session gets the events of a lost connection, once and in order, or learns that some are gone', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using troupe = await TestTroupe.connect()
    const { redis, namespace, tag } = troupe
    const [followed, awaited, other, failed] = [newId(0), newId(0), newId(0), newId(0)]
    const hub = hubFor(namespace, proxy.url)
    let woken = 0
    const heard: string[] = []
    await hub.listen(followed, (event) => void heard.push([event?.type, event?.details.number].join(' ')))
    await hub.wakeAtEnds(awaited, () => woken++)
    void hub.track(other)
    await hub.track(failed)
    await reportEvent(redis, { namespace, about: failed, notes: '[["session.failed",4]]' })
    await waitUntil('it has failed', () => hub.ended(failed)?.status === 'failed')
    const add = (number: number, about = followed) =>
      reportEvent(redis, { namespace, about, notes: `[["run.warned",{"number":${number}}]]` })
    await add(1)
    await waitUntil('the first was told', () => heard.length === 1)
    proxy.cut()
    for (let number = 2; number < 400; number++) await add(number, number % 2 ? followed : newId(0))
    proxy.mend()
    await waitUntil('the others were told', () => heard.length === 200)
    await add(400)
    await waitUntil('what comes next is told', () => heard.length === 201)
    const numbers = [...Array.from({ length: 200 }, (_, index) => 2 * index + 1), 400]
    expect(heard).toEqual(numbers.map((number) => `run.warned ${number}`))
    // A waiter finds what it missed in the record, and the hub does not remember an end that may be an old one: what failed may have been retried.
    expect([woken, hub.ended(other), hub.ended(failed)]).toEqual([1, undefined, undefined])

    proxy.cut()
    for (const number of [401, 402]) await add(number)
    await trimEvents(redis, tag, 'MAXLEN', 1)
    proxy.mend()
    await waitUntil('the last was told', () => heard.at(-1) === 'run.warned 402')
    expect(heard.slice(201)).toEqual(['events.trimmed ', 'run.warned 402'])
    await hub.stop()
  })

  test('a watched session gets the events of a lost connection even if a later one comes before the hub knows that it listens again (EVENT-CHANNEL-3)', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using troupe = await TestTroupe.connect()
    const { redis, namespace } = troupe
    const about = newId(0)
    const add = (number: number) =>
      reportEvent(redis, { namespace, about, notes: `[["run.warned",{"number":${number}}]]` })
    // After the cut ioredis subscribes first, and the hub second.
    let resubscribed: Promise<unknown> | undefined
    let isCut = false
    const open = () => {
      const connection = openRedis(proxy.url)
      for (const name of ['ssubscribe', 'subscribe'] as const) {
        const subscribe = connection[name].bind(connection) as (...channels: string[]) => Promise<unknown>
        const delayed = async (...channels: string[]) => {
          if (!isCut) return subscribe(...channels)
          if (resubscribed === undefined) {
            resubscribed = subscribe(...channels)
            return resubscribed
          }
          await resubscribed
          const arrived = Promise.race(['smessage', 'message'].map((event) => once(connection, event)))
          await add(3)
          await arrived
          return subscribe(...channels)
        }
        Object.assign(connection, { [name]: delayed })
      }
      return connection
    }
    const hub = hubFor(namespace, proxy.url, { open })
    const heard: unknown[] = []
    await hub.listen(about, (event) => void heard.push(event?.details.number))
    await add(1)
    await waitUntil('the first was told', () => heard.length === 1)
    isCut = true
    proxy.cut()
    await add(2)
    proxy.mend()
    await waitUntil('the last was told', () => heard.at(-1) === 3)
    expect(heard).toEqual([1, 2, 3])
    await hub.stop()
  })

  test('a watched session gets an event whose message was lost, without a lost connection (FEED-2)', async () => {
    await using troupe = await TestTroupe.connect()
    const { redis, namespace } = troupe
    const about = newId(0)
    const hub = hubFor(namespace, troupe.redisUrl, { lookMs: 20 })
    const heard: string[] = []
    await hub.listen(about, (event) => void heard.push(String(event?.type)))
    await reportEvent(redis, { namespace, about, notes: '[["run.started"]]' }, { isLost: true })
    await waitUntil('it was told', () => heard.length > 0)
    await reportEvent(redis, { namespace, about, notes: '[["run.completed"]]' })
    await waitUntil('the next was told', () => heard.length > 1)
    expect(heard).toEqual(['run.started', 'run.completed'])
    await hub.stop()
  })

  test('a watched session gets all its events without the right to subscribe, whatever else goes on in its partition (FEED-2)', async () => {
    await using troupe = await TestTroupe.connect()
    const { redis, namespace } = troupe
    await redis.acl('SETUSER', namespace, 'on', '>secret', '~*', 'resetchannels', '+@all')
    const url = new URL(troupe.redisUrl)
    url.username = namespace
    url.password = 'secret'
    const about = newId(0)
    const hub = hubFor(namespace, url.href, { lookMs: 50 })
    const heard: string[] = []
    await hub.listen(about, (event) => void heard.push(String(event?.type)))
    const others = Array.from({ length: 300 }, () => newId(0))
    // A single transaction: no look comes in between.
    const adding = redis.multi().xadd(partitionKeys(tagOf(namespace, 0)).events, '*', about, '[["run.started"]]')
    for (const other of others) adding.xadd(partitionKeys(tagOf(namespace, 0)).events, '*', other, '[["run.started"]]')
    await adding.exec()
    await waitUntil('it was told', () => heard.length > 0)
    expect(heard).toEqual(['run.started'])
    await hub.stop()
    await redis.acl('DELUSER', namespace)
  })

  test('whoever waits for the end of a session is told what is wrong, even if somebody else gave up to wait (EVENT-CHANNEL-2)', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    const hub = hubFor(newNamespace(), proxy.url, { deadlineMs: 2_500 })
    const [left, id] = [newId(0), newId(0)]
    const wake = () => {}
    await hub.wakeAtEnds(left, wake)
    hub.stopWaking(left, wake)
    proxy.blackhole()
    // It gives up after a second.
    await hub.track(id)
    await expect(hub.wakeAtEnds(id, wake)).rejects.toMatchObject({ code: 'store_unavailable' })
    await hub.stop()
  })

  test('a watched session costs its client nothing for other sessions: no message, and no read', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using troupe = await TestTroupe.connect()
    const { redis, namespace } = troupe
    const hub = hubFor(namespace, proxy.url)
    await hub.wakeAtEnds(newId(0), () => {})
    const before = proxy.replyBytes
    const notes = `[["run.warned",{"message":"${'x'.repeat(100_000)}"}]]`
    for (let number = 0; number < 20; number++) await reportEvent(redis, { namespace, about: newId(0), notes })
    const last = newId(0)
    await hub.wakeAtEnds(last, () => {})
    expect(proxy.replyBytes - before).toBeLessThan(2_000)
    await hub.stop()
  })

  test('a watched session passes events to each listener as long as it listens, and wakes waiters only at ends', async () => {
    await using troupe = await TestTroupe.start({ workers: { gated } })
    const session = await troupe.create('gated', 'first', { keepOpen: true })
    await session.result({ run: 1 })
    const hub = await hubOf(troupe)
    const [left, stays]: string[][] = [[], []]
    const leave = (event: RawEvent | null) => void left?.push(String(event?.type))
    const stay = (event: RawEvent | null) => void stays?.push(String(event?.type))
    let [woken, wokenLeft] = [0, 0]
    const wake = () => void woken++
    const wakeLeft = () => void wokenLeft++
    for (const listener of [leave, stay]) await hub.listen(session.id, listener)
    for (const waker of [wakeLeft, wake]) await hub.wakeAtEnds(session.id, waker)
    const open = gate('second')
    await session.root.send('second')
    await waitUntil('both hear of the run', () => [left, stays].every((heard) => heard?.includes('message.accepted')))
    expect([woken, wokenLeft]).toEqual([0, 0])
    hub.unlisten(session.id, leave)
    hub.stopWaking(session.id, wakeLeft)
    open.resolve()
    await waitUntil('who stays hears of its end', () => stays?.includes('run.completed'))
    expect(left).not.toContain('run.completed')
    expect([woken, wokenLeft]).toEqual([1, 0])
    // A listener that leaves twice, or never came, harms nobody.
    for (const listener of [leave, stay]) hub.unlisten(session.id, listener)
    hub.unlisten(newId(0), stay)
    hub.stopWaking(newId(0), wake)
    await session.root.send('third')
    await waitUntil('who waits for ends is woken still', () => woken === 2)
    expect(stays?.filter((type) => type === 'run.completed')).toHaveLength(1)
    await hub.stop()
    expect(woken).toBe(3)
  })
  test('a watched session passes events to listeners even after the last waiter is gone', async () => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('nobody')
    const hub = await hubOf(troupe)
    const heard: string[] = []
    const wake = () => {}
    await hub.listen(session.id, (event) => void heard.push(String(event?.type)))
    await hub.wakeAtEnds(session.id, wake)
    hub.stopWaking(session.id, wake)
    await session.root.send('more')
    expect(await waitUntil('it is told', () => heard.includes('message.accepted'))).toBe(true)
    await hub.stop()
  })

  test('a watched session leaves nothing in memory once nobody needs it: a client may live for long', async () => {
    const hub = hubFor(newNamespace())
    const [heard, awaited, tracked] = [newId(0), newId(0), newId(0)]
    const nothing = () => {}
    await hub.listen(heard, nothing)
    await hub.wakeAtEnds(awaited, nothing)
    void hub.track(tracked)
    using dropped = vi.spyOn(Map.prototype, 'delete')
    hub.unlisten(heard, nothing)
    hub.stopWaking(awaited, nothing)
    // The hub must still remember the end of this session.
    await hub.listen(tracked, nothing)
    hub.unlisten(tracked, nothing)
    expect(hub.ended(tracked)).toBeNull()
    hub.forget(tracked)
    expect(dropped.mock.calls.flat()).toEqual(expect.arrayContaining([heard, awaited, tracked]))
    await hub.stop()
  })
})
