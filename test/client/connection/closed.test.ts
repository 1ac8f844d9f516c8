/** A closed client tells its callers, and those who wait for it, at once that it is closed. */
import { describe, expect, inject, test, vi } from 'vitest'
import { connectInternal, type Troupe } from '../../../src/client/client.ts'
import { EventHub } from '../../../src/client/event/event-hub.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import { partitionKeys } from '../../../src/store/keys.ts'
import { newNamespace } from '../../support/namespace.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
const id = newId(0)
const root = rootIdOf(id)

const calls: readonly [string, (client: Troupe) => Promise<unknown>][] = [
  ['sessions.create', (client) => client.sessions.create({ kind: 'echo', input: 1 })],
  ['sessions.list', (client) => client.sessions.list()],
  ['sessions.prune', (client) => client.sessions.prune()],
  ['workers.list', (client) => client.workers.list()],
  ['nodes', (client) => client.nodes()],
  ['kinds', (client) => client.kinds()],
  ['deadLetters', (client) => client.deadLetters()],
  ['redrive', (client) => client.redrive({ all: true })],
  ['dismiss', (client) => client.dismiss({ all: true })],
  ['audit', (client) => client.audit()],
  ['health', (client) => client.health()],
  ['session.report', (client) => client.sessions.get(id).report()],
  ['session.result', (client) => client.sessions.get(id).result()],
  ['session.events', (client) => client.sessions.get(id).events().next()],
  ['session.events of the past', (client) => client.sessions.get(id).events({ after: '0-0' }).next()],
  ['session.cancel', (client) => client.sessions.get(id).cancel()],
  ['session.close', (client) => client.sessions.get(id).close()],
  ['worker.send', (client) => client.workers.get(root).send('x')],
  ['worker.report', (client) => client.workers.get(root).report()],
  ['worker.history', (client) => client.workers.get(root).history()],
  ['worker.mailbox', (client) => client.workers.get(root).mailbox()],
]

const closed = {
  name: 'ConflictError',
  code: 'client_closed',
  retryable: false,
  message: 'this client was closed: connect again.',
}

/** Longer than a test may take: a call that waits for anything but the end of its client is never over. */
const deadlineMs = 600_000

async function outcome(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: unknown) => error)
}

describe('a client that was closed', () => {
  test.each(calls)('a closed client says so at once to a caller of %s', async (_, call) => {
    const client = await connectInternal({ redisUrl: inject('redisUrl'), namespace: newNamespace(), deadlineMs })
    await client.close()
    expect(await outcome(call(client))).toMatchObject(closed)
  })

  test('a closed client says so even if its connection has ended', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    const client = await connectInternal({ redisUrl: proxy.url, namespace: newNamespace(), deadlineMs })
    await client.close()
    await waitUntil('none is open', () => proxy.connections === 0)
    for (const [, call] of calls) expect(await outcome(call(client))).toMatchObject(closed)
  })

  test('a closed client may be closed again, even at the same time: both calls wait for the same end', async () => {
    using stops = vi.spyOn(EventHub.prototype, 'stop')
    const client = await connectInternal({ redisUrl: inject('redisUrl'), namespace: newNamespace() })
    await Promise.all([client.close(), client.close()])
    expect(await client.close()).toBe(undefined)
    expect(stops).toHaveBeenCalledOnce()
  })

  test('a closed client says so to a waiter for a result, and still answers a result that it knows', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    // Once it listens to events it remembers ends.
    await troupe.run('echo')
    const known = await troupe.create('echo', 1)
    const result = await known.result()
    const waiting = outcome((await troupe.create('nobody')).result())
    await troupe.client.close()
    expect(await waiting).toMatchObject(closed)
    expect(await known.result()).toEqual(result)
  })

  test('a closed client has sent the wake-ups of the sessions that it created before', async () => {
    await using troupe = await TestTroupe.connect()
    const client = await connectInternal({ redisUrl: troupe.redisUrl, namespace: troupe.namespace })
    const { kinds, queuePrefix } = partitionKeys(troupe.tag)
    await troupe.redis.hset(kinds, 'echo', 'default {}')
    await client.sessions.create({ kind: 'echo', input: 1 })
    await client.close()
    expect(await troupe.redis.llen(`${queuePrefix}:wakeup-default:wait`)).toBe(1)
  })

  test('a closed client says so at once to a waiter for the end of a session that it created, which only events would show', async () => {
    await using troupe = await TestTroupe.connect()
    using listens = vi.spyOn(EventHub.prototype, 'wakeAtEnds')
    void outcome((await troupe.create('nobody')).result())
    await waitUntil('it listens', () => listens.mock.settledResults[0]?.type === 'fulfilled')
    const told: unknown[] = []
    void outcome((await troupe.create('nobody')).result()).then((error) => told.push(error))
    await waitUntil('it waits', () => listens.mock.settledResults[1]?.type === 'fulfilled')
    await troupe.client.close()
    expect(told).toMatchObject([closed])
  })

  test('a closed client does not wait for a read of the events of all sessions', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    const client = await connectInternal({ redisUrl: proxy.url, namespace: newNamespace(), deadlineMs })
    const next = client.events().next()
    await client.sessions.create({ kind: 'echo', input: 1 })
    await next
    const before = proxy.replyBytes
    proxy.cutReplies()
    await waitUntil('a read gets no answer', () => proxy.replyBytes > before)
    expect(await client.close()).toBeUndefined()
  })

  const waits: readonly [string, (proxy: TcpProxy) => Promise<unknown>][] = [
    [
      'for an answer that was lost with its connection',
      (proxy) => waitUntil('it is lost', () => proxy.connections === 0),
    ],
    [
      'for a connection',
      async (proxy) => {
        await waitUntil('it is lost', () => proxy.connections === 0)
        proxy.holdNew()
        // The client opens two connections: the one for events, and the one that was lost.
        await waitUntil('it connects again', () => proxy.waiting > 1)
      },
    ],
  ]
  test.each(waits)('a closed client says so to a caller that waits %s', async (_, whileWaiting) => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    const client = await connectInternal({ redisUrl: proxy.url, namespace: newNamespace(), deadlineMs })
    proxy.resetWhen(() => {
      proxy.cut()
      return true
    })
    const waiting = [
      outcome(client.workers.get(root).send('x')),
      outcome(client.workers.get(root).report()),
      outcome(client.sessions.get(id).result()),
    ]
    await whileWaiting(proxy)
    const late = outcome(client.workers.get(root).history())
    await client.close()
    for (const told of await Promise.all([...waiting, late])) expect(told).toMatchObject(closed)
  })

  test('a closed client says so to a caller that waits for a Redis that stands still', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    const client = await connectInternal({ redisUrl: proxy.url, namespace: newNamespace(), deadlineMs })
    proxy.blackhole()
    const waiting = outcome(client.workers.get(root).send('x'))
    await client.close()
    expect(await waiting).toMatchObject(closed)
  })
})
