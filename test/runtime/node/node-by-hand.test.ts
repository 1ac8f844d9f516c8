/** A node whose claims the test answers: what its slots ask for, and what it says of each wake-up. */

import { expect, test, vi } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { policy } from '../../../src/core/policy.ts'
import type { ClaimAnswer, NextClaim, TurnStore } from '../../../src/core/ports/ports.ts'
import type { UpkeepStore } from '../../../src/core/ports/upkeep.ts'
import type { Wakeup } from '../../../src/core/ports/wake.ts'
import { RuntimeNode } from '../../../src/runtime/node/node.ts'
import { partitionKeys, workerKeys } from '../../../src/store/keys.ts'
import { RedisUpkeepStore } from '../../../src/store/upkeep-store.ts'
import { MemoryBlobs } from '../../../src/testing/memory-blobs.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { silentLog } from '../support/held-store.ts'

const wakeup = (id: string, pool = 'default'): Wakeup => ({ id, pool })
const none: ClaimAnswer = { kind: 'none' }

function nodeByHand(concurrency: number) {
  const claims: { readonly next: NextClaim; answer(answer: ClaimAnswer): void; fail(): void }[] = []
  const turns = {
    partition: 0,
    claim: (next: NextClaim) =>
      new Promise<ClaimAnswer>((answer, reject) =>
        claims.push({ next, answer, fail: () => reject(new Error('lost')) }),
      ),
  } as unknown as TurnStore
  const swept = { healed: 0, wakeups: [], damaged: [], left: 0 }
  const upkeep = { partition: 0, sweep: async () => swept } as unknown as UpkeepStore
  const warned: unknown[] = []
  const node = new RuntimeNode({
    id: 'by hand',
    kinds: new Map(),
    concurrency,
    policy,
    stores: [
      {
        turns,
        upkeep,
        blobs: new MemoryBlobs(),
        outbox: { partitions: async () => [], carry: async () => ({ wakeups: [], delivered: 0, refused: 0 }) },
      },
    ],
    waker: { wake() {} },
    live: { isFollowed: () => false, publish() {} },
    log: { ...silentLog, warn: (...given) => void warned.push(given) },
  })
  return { node, claims, warned }
}

test('a slot that leaves passes the permission to claim a suspect on to the next slot that claims', async () => {
  const { node, claims } = nodeByHand(2)
  const [first, second] = [node.wake(0, wakeup('a')), node.wake(0, wakeup('b'))]
  expect(claims.map(({ next }) => next.maySuspect)).toEqual([true, false])
  for (const [index, { end }] of [first, second].entries()) {
    claims[index]?.answer(none)
    expect(await end).toBe('done')
  }
  node.wake(0, wakeup('c'))
  expect(claims[2]?.next).toMatchObject({ slot: claims[1]?.next.slot, maySuspect: true })
})

test.each([
  ['finds an empty queue', none, false, 'done'],
  ['can run nothing of the queue', { kind: 'unfit' }, true, 'unfit'],
] as const)('a slot that %s says so with its first claim and when it leaves', async (_, found, isUnfit, how) => {
  const { node, claims } = nodeByHand(1)
  const { firstClaim, end } = node.wake(0, wakeup('a'))
  claims[0]?.answer(found)
  expect([await firstClaim, await end]).toEqual([{ wakeup: 'a', isUnfit }, how])
})

test.each([
  ['finds an empty queue', none, false],
  ['can run nothing of the queue', { kind: 'unfit' }, true],
] as const)(
  'a wake-up without a free slot learns of the slot that comes to its queue and %s',
  async (_, found, isUnfit) => {
    const { node, claims } = nodeByHand(1)
    const first = node.wake(0, wakeup('a'))
    const waiting = ['b', 'c'].map((id) => node.wake(0, wakeup(id, 'other')))
    expect(waiting.map(({ end }) => end)).toEqual([null, null])
    claims[0]?.answer(none)
    await first.end
    expect(claims.map(({ next }) => `${next.pool} ${next.wakeup}`)).toEqual(['default a', 'other c'])
    claims[1]?.answer(found)
    expect(await Promise.all(waiting.map(({ firstClaim }) => firstClaim))).toEqual([
      { wakeup: 'c', isUnfit },
      { wakeup: 'c', isUnfit },
    ])
  },
)

test('a slot that leaves a queue comes back for a wake-up that reached that queue in the meantime', async () => {
  const { node, claims } = nodeByHand(1)
  const { end } = node.wake(0, wakeup('a'))
  node.wake(0, wakeup('b'))
  claims[0]?.answer(none)
  await end
  expect(claims.map(({ next }) => next.wakeup)).toEqual(['a', 'b'])
})

test('a slot whose claim fails answers no wake-up, and the log says where', async () => {
  const { node, claims, warned } = nodeByHand(1)
  const first = node.wake(0, wakeup('a', 'other'))
  const second = node.wake(0, wakeup('b', 'other'))
  claims[0]?.fail()
  expect([await first.firstClaim, await first.end]).toEqual([null, 'done'])
  claims[1]?.fail()
  expect(await second.firstClaim).toBeNull()
  const what = 'a slot failed; its wake-up goes stale and is replaced'
  const where = { partition: 0, pool: 'other', slot: 0, error: 'Error: lost' }
  expect(warned[0]).toEqual([what, { ...where, wakeup: 'a' }])
})

test('a node that drains wakes no slot, and no wake-up waits for one', async () => {
  const { node, claims } = nodeByHand(2)
  for (const id of ['a', 'b']) node.wake(0, wakeup(id))
  const waits = node.wake(0, wakeup('c', 'other'))
  const stopped = node.stop()
  const late = node.wake(0, wakeup('d', 'third'))
  expect([await waits.firstClaim, await late.firstClaim, late.end]).toEqual([null, null, null])
  for (const claim of claims) claim.answer(none)
  await stopped
  expect(claims).toHaveLength(2)
})

test('a node that drains reports no free slot, so that nothing waits for it', async () => {
  const gate = Promise.withResolvers<void>()
  const slow = defineWorker({ receive: () => gate.promise })
  await using troupe = await TestTroupe.connect()
  using sweeps = vi.spyOn(RedisUpkeepStore.prototype, 'sweep')
  const node = await troupe.startNode({ slow }, { concurrency: 3, policy: { sweepEveryMs: 20 } })
  const session = await troupe.create('slow')
  await waitUntil('it runs', async () => (await session.root.report()).status === 'running')
  const stopped = node.stop()
  const before = sweeps.mock.calls.length
  await waitUntil('it sweeps', () => sweeps.mock.calls.length > before)
  gate.resolve()
  await stopped
  const told = sweeps.mock.calls
    .slice(before)
    .map(([, poolLoads, leaving]) => [poolLoads.map(({ free }) => free), leaving])
  expect(told[0]).toEqual([[0], false])
  expect(told.at(-1)).toEqual([[0], true])
})

test('a node registers its kinds again and again, because Redis may have lost them', async () => {
  const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
  await using troupe = await TestTroupe.start({ workers: { echo }, policy: { sweepEveryMs: 20, pruneEveryMs: 20 } })
  const { kinds } = partitionKeys(troupe.tag)
  expect(await troupe.redis.del(kinds)).toBe(1)
  expect(await waitUntil('it is known', async () => (await troupe.client.kinds())[0])).toMatchObject({ kind: 'echo' })
})

test('a burst of short turns after a quiet time makes the node sweep at once', async () => {
  const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
  await using troupe = await TestTroupe.connect()
  using sweeps = vi.spyOn(RedisUpkeepStore.prototype, 'sweep')
  await troupe.startNode({ echo }, { policy: { sweepEveryMs: 600_000 } })
  expect(sweeps).toHaveBeenCalledTimes(1)
  await Promise.all(Array.from({ length: 20 }, (_, number) => troupe.run('echo', number)))
  expect(await waitUntil('it is swept', () => sweeps.mock.calls.length > 1)).toBe(true)
})

test('a child of a kind that other nodes host waits in the pool of that kind from the start', async () => {
  const parent = defineWorker({ receive: (_, self) => void self.spawn('draws', null) })
  const draws = defineWorker({ pool: 'gpu', receive: (_, self) => self.reply(null) })
  await using troupe = await TestTroupe.connect()
  await (await troupe.startNode({ draws })).stop()
  await troupe.startNode({ parent }, { policy: { sweepEveryMs: 600_000 } })
  const session = await troupe.create('parent')
  const child = await waitUntil('it has a child', async () => {
    const [, spawned] = await troupe.client.workers.list({ sessionId: session.id })
    return spawned
  })
  expect(await troupe.redis.hget(workerKeys(troupe.tag, child.id).record, 'pool')).toBe('gpu')
})
