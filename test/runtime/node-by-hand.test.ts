/** A node whose claims the test answers: what its slots ask for, and whom they tell that they came. */
import { expect, test, vi } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { policy } from '../../src/core/policy.ts'
import type { ClaimAnswer, NextClaim, TurnStore, UpkeepStore, Wakeup } from '../../src/core/ports/ports.ts'
import { RuntimeNode } from '../../src/runtime/node/node.ts'
import { partitionKeys, workerKeys } from '../../src/store/keys.ts'
import { RedisUpkeepStore } from '../../src/store/upkeep-store.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/wait-until.ts'
import { silentLog } from './support/held-store.ts'

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
  const queuedWakeup: unknown[] = []
  const warned: unknown[] = []
  const node = new RuntimeNode({
    id: 'by hand',
    kinds: new Map(),
    concurrency,
    policy,
    stores: [{ turns, upkeep }],
    waker: { wake: (...given) => void queuedWakeup.push(given) },
    live: { publish() {} },
    log: { ...silentLog, warn: (...given) => void warned.push(given) },
  })
  return { node, claims, queuedWakeup, warned }
}

test('a slot that leaves gives the permission to claim a suspect to the next one, whichever that is', async () => {
  const { node, claims } = nodeByHand(2)
  const [first, second] = [node.answer(0, wakeup('a')), node.answer(0, wakeup('b'))]
  expect(claims.map(({ next }) => next.maySuspect)).toEqual([true, false])
  for (const [index, leaves] of [first, second].entries()) {
    claims[index]?.answer(none)
    expect(await leaves).toBe('done')
  }
  void node.answer(0, wakeup('c'))
  expect(claims[2]?.next).toMatchObject({ slot: claims[1]?.next.slot, maySuspect: true })
})

test('a wake-up that came while the only slot of its own line was leaving is answered by it', async () => {
  const { node, claims } = nodeByHand(1)
  const first = node.answer(0, wakeup('a'))
  expect(await node.answer(0, wakeup('b'))).toBe('full')
  const came = node.slotCame(0, wakeup('b'))
  claims[0]?.answer(none)
  await first
  expect(claims.map(({ next }) => next.wakeup)).toEqual(['a', 'b'])
  claims[1]?.answer(none)
  await came
})

test('who waits for a slot to come to a line is told also where its claim fails', async () => {
  const { node, claims } = nodeByHand(1)
  const first = node.answer(0, wakeup('a'))
  expect(await node.answer(0, wakeup('b', 'other'))).toBe('full')
  let isTold = false
  const came = node.slotCame(0, wakeup('b', 'other')).then(() => (isTold = true))
  claims[0]?.answer(none)
  await first
  expect(claims.map(({ next }) => next.pool)).toEqual(['default', 'other'])
  expect(isTold).toBe(false)
  claims[1]?.fail()
  expect(await came).toBe(true)
})

test.each([
  ['has claimed what there was counts as answered', none, 'done'],
  ['can run nothing of counts as heard in vain', { kind: 'unfit' }, 'unfit'],
] as const)(
  'a wake-up that is rung again of a line to which a slot came and which it %s, once',
  async (_, found, answer) => {
    const { node, claims } = nodeByHand(1)
    const first = node.answer(0, wakeup('a'))
    expect(await node.answer(0, wakeup('b', 'other'))).toBe('full')
    const came = node.slotCame(0, wakeup('b', 'other'))
    claims[0]?.answer(none)
    await first
    claims[1]?.answer(found)
    await came
    // What the slot does when it has gone there.
    await new Promise((resolve) => setImmediate(resolve))
    expect(await node.answer(0, wakeup('b', 'other'))).toBe(answer)
    expect(claims).toHaveLength(2)
    void node.answer(0, wakeup('b', 'other'))
    await waitUntil('it is answered anew', () => claims.length === 3)
  },
)

test('a slot whose claim fails says where, and of which wake-up', async () => {
  const { node, claims, warned } = nodeByHand(1)
  const answered = node.answer(0, wakeup('a', 'other'))
  claims[0]?.fail()
  expect(await answered).toBe('done')
  const what = 'a slot failed; the wake-up goes stale and is put again'
  expect(warned).toEqual([[what, { partition: 0, pool: 'other', wakeup: 'a', slot: 0, error: 'Error: lost' }]])
})

test('a node that drains leaves a wake-up that it is told of to its job, which finds it full', async () => {
  const { node, claims } = nodeByHand(2)
  void node.answer(0, wakeup('a'))
  const stopped = node.stop()
  await node.answerTold(0, wakeup('b'))
  expect(await node.answer(0, wakeup('b'))).toBe('full')
  claims[0]?.answer(none)
  await stopped
  expect(claims).toHaveLength(1)
})

test('a node that drains tells of no free slot, so that nothing waits for it', async () => {
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

test('a node writes its kinds again, as a Redis that lost its data must not forget what is hosted', async () => {
  const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
  await using troupe = await TestTroupe.start({ workers: { echo }, policy: { sweepEveryMs: 20, pruneEveryMs: 20 } })
  const { kinds } = partitionKeys(troupe.tag)
  expect(await troupe.redis.del(kinds)).toBe(1)
  expect(await waitUntil('it is known', async () => (await troupe.client.kinds())[0])).toMatchObject({ kind: 'echo' })
})

test('who waits for a slot is told that none comes when the node drains, and at once from then on', async () => {
  const { node, claims } = nodeByHand(1)
  void node.answer(0, wakeup('a'))
  expect(await node.answer(0, wakeup('b', 'other'))).toBe('full')
  const came = node.slotCame(0, wakeup('b', 'other'))
  const stopped = node.stop()
  await came
  await node.slotCame(0, wakeup('c', 'third'))
  claims[0]?.answer(none)
  await stopped
  expect(claims).toHaveLength(1)
})

test('a wake-up that was told and cannot be run here is rung again for others, as one that was heard in vain', async () => {
  const { node, claims, queuedWakeup } = nodeByHand(1)
  const told = node.answerTold(0, wakeup('a'))
  claims[0]?.answer({ kind: 'unfit' })
  await told
  expect(queuedWakeup).toEqual([[0, [{ ...wakeup('a'), isAgain: true, hops: 1 }]]])
})

test('a line that its node ran many turns of after a quiet time is told of at once, not with the next sweep', async () => {
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
