/** F30, F39, F40: a child takes its nodes down, and a tree is cancelled while nodes die. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { policy } from '../../../../src/core/policy.ts'
import type { Harness, NodeProcess } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { leniencyMs, type Row, type Stage, times } from '../../row.ts'

const startsAtMost = policy.suspectAfterStarts + policy.poisonAfterIsolatedStarts

/** Starts a node again each time it ends, until it is told to stop: what a process manager does. */
function keepAlive(harness: Harness, name: string): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const living = (async () => {
    while (!stopping.signal.aborted) {
      const node: NodeProcess | null = await harness.start(name).catch(() => null)
      const stopped = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()))
      if (node && !stopping.signal.aborted) await Promise.race([node.gone, stopped])
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await living
    },
  }
}

export const poisonRow: Row = {
  id: 'F30',
  promise: 'a message that kills its nodes is quarantined after at most 5 starts; the innocent go on (I14, F39, I8)',
  done: 'a child that kills or ends its process each time, beside 10 trees; its parent waits and gets one typed failure',
  atOnce: 2,
  trials: ({ isLong }) =>
    (['kill', 'exit'] as const).flatMap((how) => times(isLong ? 10 : 1, how, (stage) => poison(stage, how))),
}

export const childFailureRow: Row = {
  ...poisonRow,
  id: 'F39',
  promise: 'a parent whose child is poisoned gets exactly one failure (I8)',
  trials: ({ isLong }) => times(isLong ? 10 : 1, 'poisoned child', (stage) => poison(stage, 'kill')),
}

async function poison(stage: Stage, how: 'kill' | 'exit'): Promise<undefined> {
  await using harness = await stage.open()
  const nodes = ['a', 'b'].map((name) => keepAlive(harness, name))
  try {
    const parent = await harness.client.sessions.create({ kind: 'deadly-parent', input: how })
    const innocent = await Promise.all(
      Array.from({ length: 10 }, (_, number) =>
        harness.client.sessions.create({ kind: 'tree', input: { children: 2, steps: 3, stepMs: 100 + number * 20 } }),
      ),
    )
    const result = await awaitResult(parent, { msMax: 180_000 })
    assert.partialDeepStrictEqual(result, { status: 'completed', value: { status: 'failed', code: 'poison' } })
    for (const session of innocent)
      assert.partialDeepStrictEqual(await awaitResult(session), {
        status: 'completed',
      })
    const starts = harness.ledger.lines('deadly').length
    assert.ok(starts <= startsAtMost, `it was started ${starts} times`)
    const history = await harness.history(parent.rootId)
    const results = history.filter((entry) => entry.type === 'received' && entry.message.kind === 'result')
    assert.equal(results.length, 1, 'the parent did not get exactly one result')
  } finally {
    await Promise.all(nodes.map((node) => node.stop()))
  }
  const { dead } = await expectInvariants(harness.redis, harness.namespace)
  assert.equal(dead.length, 1)
  return undefined
}

export const cancelRow: Row = {
  id: 'F40',
  promise: 'a cancelled tree ends within its leases and 5 s, and nothing of it starts any more (I12)',
  done: 'trees of 141 workers and a depth of 5, cancelled at a random moment while a node is killed',
  atOnce: 2,
  trials: (scale) => times(scale.isLong ? 30 : 1, 'cancelled', (stage) => cancelDeep(stage, 8_000 + leniencyMs(scale))),
}

async function cancelDeep(stage: Stage, msMax: number): Promise<undefined> {
  await using harness = await stage.open()
  const nodes = await Promise.all(['a', 'b'].map((name) => harness.start(name, { concurrency: 20 })))
  const session = await harness.client.sessions.create({ kind: 'deep', input: { depth: 5, width: 10 } })
  await pause(300 * stage.random())
  const cancelling = session.cancel('enough')
  await nodes[0]?.kill()
  await cancelling
  const startedAt = performance.now()
  const size = () => harness.redis.llen(`${harness.tag}:s:${session.id}:workers`)
  const before = await size()
  const result = await awaitResult(session)
  assert.partialDeepStrictEqual(result, { status: 'cancelled' })
  const { workers } = await expectInvariants(harness.redis, harness.namespace)
  const ms = performance.now() - startedAt
  assert.ok(ms < msMax, `it took ${Math.round(ms)} ms`)
  assert.equal(await size(), before, 'a worker was spawned after the cancel')
  for (const { id, record } of workers.values())
    assert.equal(record.status, 'terminal', `worker ${id} is ${record.status}`)
  await waitUntil('no timer is left', async () => (await harness.redis.zcard(`${harness.tag}:timers`)) === 0)
  return undefined
}
