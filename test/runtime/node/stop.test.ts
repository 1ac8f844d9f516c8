/** What a node that stops says of the turns it does not wait for, and what it leaves behind; also one that stops as it cannot start. */
import { RedisConnection, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { expect, inject, test, vi } from 'vitest'
import type { TroupeNode } from '../../../src/compose.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { TurnStore } from '../../../src/core/ports/ports.ts'
import { changedStore } from '../../support/changed-store.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const stays = defineWorker({
  receive: (_, self) => new Promise((_resolve, reject) => self.signal.addEventListener('abort', reject)),
})
const quick = defineWorker({ receive: (message, self) => self.reply(message.value) })

test.each([
  [{}, 'a turn is released, and goes on elsewhere: the drain time of 0.05 s is over'],
  [{ force: true }, 'a turn is released, and goes on elsewhere: this node is to stop at once'],
])('a node that stops with %j names each worker that it releases', async (options, msg) => {
  const told: { level: number; worker: unknown }[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void told.push(JSON.parse(line)) })
  await using troupe = await TestTroupe.connect()
  const node = await troupe.startNode({ stays, quick }, { logger, policy: { drainMs: 50 } })
  expect(await troupe.run('quick', 1)).toMatchObject({ value: 1 })
  const session = await troupe.create('stays')
  await waitUntil('its turn runs', async () => (await session.root.report()).status === 'running')
  await node.stop(options)
  expect(told.filter(({ worker }) => worker !== undefined && worker !== session.rootId)).toEqual([])
  expect(told).toContainEqual(
    expect.objectContaining({ level: 40, msg, worker: session.rootId, session: session.id, kind: 'stays' }),
  )
})

test('a node that stops receives no message of a worker that was assigned to it at that moment (NODE-1)', async () => {
  const received: unknown[] = []
  const notes = defineWorker({
    receive(message, self) {
      received.push(message.value)
      self.reply(message.value)
    },
  })
  const [assigned, stopping] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const late = (turns: TurnStore): TurnStore =>
    changedStore(turns, {
      async commit(request) {
        const answer = await turns.commit(request)
        if (answer.kind === 'ok' && answer.claimed.kind === 'assigned') {
          assigned.resolve()
          await stopping.promise
        }
        return answer
      },
    })
  await using troupe = await TestTroupe.connect()
  const sessions = await Promise.all([1, 2].map((number) => troupe.create('notes', number)))
  // No renewal finds in between that the first turn is over.
  const policy = { leaseMs: 600_000, renewEveryMs: 600_000, busyAfterMs: 600_000 }
  const node = await troupe.startNode({ notes }, { concurrency: 1, policy, aroundTurns: late })
  await assigned.promise
  const stopped = node.stop()
  stopping.resolve()
  await stopped
  expect(received).toEqual([1])
  await troupe.startNode({ notes })
  expect(await sessions[1]?.result()).toMatchObject({ value: 2 })
})

test('a node that stops while Redis is silent leaves no connection that opens again', async () => {
  using bringBack = vi.spyOn(RedisConnection.prototype, 'reconnect')
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  await using troupe = await TestTroupe.connect()
  const webhooks = { secrets: [`whsec_${Buffer.alloc(32).toString('base64')}`] }
  const node = await troupe.startNode({ quick }, { redisUrl: proxy.url, webhooks })
  proxy.cut()
  proxy.blackhole()
  await waitUntil('BullMQ brings the connections back that it blocks on', () => bringBack.mock.calls.length >= 2)
  await node.stop({ force: true })
  proxy.mend()
  expect(await waitUntil('all of its connections have ended', () => proxy.connections === 0)).toBe(true)
})

test('a node that stops while Redis is silent does not wait for turns that it cannot release', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  await using troupe = await TestTroupe.connect()
  const policy = { leaseMs: 600_000, goodbyeMs: 50 }
  const node = await troupe.startNode({ stays }, { redisUrl: proxy.url, policy })
  const session = await troupe.create('stays')
  await waitUntil('its turn runs', async () => (await session.root.report()).status === 'running')
  proxy.blackhole()
  await expect(node.stop({ force: true })).resolves.toBeUndefined()
})

test.each<[string, (node: TroupeNode) => Promise<void>]>([
  ['at once', (node) => node.stop({ force: true })],
  [
    'at once, after it was to drain',
    (node) => {
      const draining = node.stop()
      void node.stop({ force: true })
      return draining
    },
  ],
])('a node that stops %s while Redis is silent waits for no claim that has no answer', async (_, stop) => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  await using troupe = await TestTroupe.connect()
  const policy = { leaseMs: 600_000, drainMs: 600_000, goodbyeMs: 50 }
  let claims = 0
  const silent = (turns: TurnStore): TurnStore => {
    const claim = turns.claim.bind(turns)
    turns.claim = (next) => {
      claims++
      proxy.blackhole()
      return claim(next)
    }
    return turns
  }
  const node = await troupe.startNode({ quick }, { redisUrl: proxy.url, policy, aroundTurns: silent })
  await troupe.create('quick')
  await waitUntil('it claims', () => claims > 0)
  await expect(stop(node)).resolves.toBeUndefined()
})

test('a node that has stopped leaves nothing that waits for its drain time', async () => {
  await using troupe = await TestTroupe.connect()
  // Only such a time is looked for: tests before this one in the same process may have left timers, which end at any time.
  const drainMs = 654_321
  const node = await troupe.startNode({ quick }, { policy: { drainMs, goodbyeMs: drainMs } })
  expect(await troupe.run('quick', 1)).toMatchObject({ value: 1 })
  using set = vi.spyOn(globalThis, 'setTimeout')
  using cleared = vi.spyOn(globalThis, 'clearTimeout')
  await node.stop()
  const begun = set.mock.calls.flatMap(([, ms = 0], index) =>
    ms > 0 && ms % drainMs === 0 ? [set.mock.results[index]?.value as NodeJS.Timeout] : [],
  )
  expect(begun.length).toBeGreaterThan(0)
  // One that keeps no process alive may be left.
  expect(begun.filter((timer) => timer.hasRef() && !cleared.mock.calls.flat().includes(timer))).toEqual([])
})

test('a node that stops while BullMQ alone has lost its connection leaves none of its workers half closed', async () => {
  using duplicates = vi.spyOn(Redis.prototype, 'duplicate')
  using closings = vi.spyOn(Worker.prototype, 'close')
  await using troupe = await TestTroupe.connect()
  const node = await troupe.startNode({ quick })
  const copies = duplicates.mock.results.map(({ value }) => value as Redis)
  expect(copies.length).toBeGreaterThan(0)
  for (const copy of copies) {
    // Nobody listens at this port.
    copy.options.port = 1
    copy.disconnect(true)
  }
  await waitUntil('each waits for its next try', () => copies.every(({ status }) => status === 'reconnecting'))
  await node.stop()
  let closed = 0
  for (const { value } of closings.mock.results) void (value as Promise<void>).then(() => closed++)
  await waitUntil('all of its workers have closed', () => closed === closings.mock.results.length)
  expect(closed).toBeGreaterThan(0)
})

test('a node to which Redis gives no further connections does not start, and says so', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  await using troupe = await TestTroupe.connect()
  const starting = troupe.startNode(
    { quick },
    {
      redisUrl: proxy.url,
      // A busy machine, too, answers in this time what the node asked before.
      deadlineMs: 3_000,
      policy: { leaseMs: 3_000 },
      // Its first connection is open by now, and the node goes on to open the others.
      aroundTurns(turns) {
        proxy.holdNew()
        return turns
      },
    },
  )
  await expect(starting).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/^Redis cannot be reached \(listening for wake-ups: no answer within/),
  })
  expect(await waitUntil('all of its connections have ended', () => proxy.connections === 0)).toBe(true)
})
