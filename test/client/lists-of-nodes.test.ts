/** What clients are told of the nodes and kinds of all partitions together, and what clients leave behind if they could not connect. */
import { expect, inject, test } from 'vitest'
import { connectInternal } from '../../src/client/client.ts'
import { hostsByKind } from '../../src/client/fleet/node-summaries.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { partitionOf } from '../../src/core/ids.ts'
import { partitionKeys } from '../../src/store/keys.ts'
import { TcpProxy } from '../support/redis/tcp-proxy.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

test('kinds are listed by name, with the live nodes that host them, and none that no node hosts now', async () => {
  await using troupe = await TestTroupe.connect()
  await troupe.redis.hset(partitionKeys(troupe.tag).kinds, 'zebra', 'default {}')
  await troupe.startNode({ owl: echo, cat: echo })
  await troupe.startNode({ cat: echo })
  const kinds = await troupe.client.kinds()
  expect(kinds.map(({ kind, nodes, hosted }) => [kind, nodes, hosted])).toEqual([
    ['cat', 2, true],
    ['owl', 1, true],
    ['zebra', 0, false],
  ])
})

test('nodes with the same kinds have one list of them, and kinds are counted by lists', async () => {
  await using troupe = await TestTroupe.connect()
  const nodes = await Promise.all([1, 2, 3].map(() => troupe.startNode({ owl: echo, cat: echo })))
  const [first, ...others] = await troupe.client.nodes()
  expect(others.map(({ kinds }) => kinds === first?.kinds)).toEqual([true, true])
  expect(Object.fromEntries(hostsByKind(await troupe.client.nodes()))).toEqual({ owl: nodes.length, cat: nodes.length })
})

test('a node in a list says how long ago it was last seen', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  const [node] = await troupe.client.nodes()
  expect(node?.lastSeenMs).toBeGreaterThanOrEqual(0)
  expect(node?.lastSeenMs).toBeLessThan(15_000)
})

test('a node that drains says so in a list, and how many turns it still has', async () => {
  const ends = Array.from({ length: 2 }, () => Promise.withResolvers<void>())
  const held = defineWorker({
    async receive({ value }, self) {
      await ends[Number(value)]?.promise
      self.reply(value)
    },
  })
  await using troupe = await TestTroupe.connect()
  const node = await troupe.startNode({ held }, { policy: { sweepEveryMs: 100 } })
  expect((await troupe.client.nodes())[0]).not.toHaveProperty('draining')
  await Promise.all([troupe.create('held', 0), troupe.create('held', 1)])
  await waitUntil('both turns run', () => node.busy === 2)
  const stopped = node.stop()
  const turnsLeft = async () => (await troupe.client.nodes())[0]?.draining
  expect(await waitUntil('the list says that it drains', turnsLeft)).toBe(2)
  expect(await troupe.client.node(node.id).report()).toMatchObject({ draining: 2 })
  // It takes up no work: what waits for its kind waits for another node.
  expect(await troupe.client.kinds()).toMatchObject([{ kind: 'held', nodes: 0, hosted: false }])
  expect(await troupe.client.pools.get('default')).toMatchObject({ nodes: 0, slots: 0 })
  const waiting = await troupe.create('held', 2)
  expect(await waiting.root.report()).toMatchObject({ holdup: { reason: 'no node' } })
  ends[0]?.resolve()
  await waitUntil('the list says that one turn is left', async () => (await turnsLeft()) === 1)
  ends[1]?.resolve()
  await stopped
})

test('a node registers its kinds again after a while, because Redis may have lost them', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo }, policy: { pruneEveryMs: 50 } })
  await troupe.redis.del(partitionKeys(troupe.tag).kinds)
  await waitUntil('it is hosted', async () => (await troupe.client.kinds()).length > 0)
  expect(await troupe.client.kinds()).toMatchObject([{ kind: 'echo', hosted: true }])
})

test('pruning tells how many sessions of all partitions went, and an audit needs no session in each', async () => {
  await using troupe = await TestTroupe.connect({ partitions: 3 })
  // A key always leads to the same partition; sessions without a key might all miss a partition.
  const create = (number: number) => troupe.create('echo', number, { idempotencyKey: `key ${number}` })
  const first = await create(0)
  expect(await troupe.client.audit()).toMatchObject({ sessions: 1, findings: [] })
  await troupe.startNode({ echo })
  const sessions = [first, ...(await Promise.all(Array.from({ length: 15 }, (_, number) => create(number + 1))))]
  for (const session of sessions) await session.result()
  expect(new Set(sessions.map(({ id }) => partitionOf(id))).size).toBe(3)
  expect(await troupe.client.sessions.prune({ olderThanMs: 0 })).toBe(16)
  expect(await troupe.client.sessions.prune({ olderThanMs: 0 })).toBe(0)
})

test('a client that is refused leaves no connection', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  await using troupe = await TestTroupe.connect()
  const refused = connectInternal({ redisUrl: proxy.url, namespace: troupe.namespace, partitions: 7 })
  await expect(refused).rejects.toMatchObject({ code: 'config_invalid' })
  expect(proxy.opened).toBe(1)
  await waitUntil('it is closed', () => proxy.connections === 0)
})
