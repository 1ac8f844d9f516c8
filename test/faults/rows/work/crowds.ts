/** F32, F36, F37, F44: many workers at once: parked, woken together, spawned without end, healed by many sweeps. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import type { Harness, NodeProcess } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { type Row, type Stage, times } from '../../row.ts'

const heapTeller = new URL('../../../programs/preload/heap-teller.ts', import.meta.url)
const silent = { waker: { wake() {} } }

export const parkedRow: Row = {
  id: 'F32',
  promise: 'parked workers hold no lease, no job and no memory of their node (I9)',
  done: '10 000 workers that wait for an hour (300 in the short form); memory of the node at a tenth of them and at the end',
  trials: ({ isLong }) => [{ name: 'parked', run: (stage) => parked(stage, isLong ? 10_000 : 300) }],
}

async function parked(stage: Stage, count: number): Promise<number> {
  await using harness = await stage.open()
  const heapFile = `${harness.ledger.file}.heap`
  const preload = { program: heapTeller, env: { TROUPE_HEAP_FILE: heapFile } }
  const node = await harness.start('a', { concurrency: 50, preload })
  const asleep = () => harness.redis.zcard(`${harness.tag}:timers`)
  let first = 0
  for (let made = 0; made < count; ) {
    const batch = Math.min(100, count - made)
    await Promise.all(
      Array.from({ length: batch }, () =>
        harness.client.sessions.create({ kind: 'sleeper', input: null, keepOpen: true }),
      ),
    )
    made += batch
    await waitUntil(`${made} are parked`, async () => (await asleep()) === made)
    if (first === 0 && made >= count / 10) first = await heapOf(node, heapFile)
  }
  const grown = (await heapOf(node, heapFile)) / first - 1
  stage.say(
    `the node's heap: ${Math.round(first / 1024)} KiB at a tenth, ${Math.round(100 * grown)} % more at ${count}`,
  )
  const queue = new Queue('wakeup-default', { connection: { url: harness.redisUrl }, prefix: `${harness.tag}:q` })
  const jobs = waitUntil('no job is active', async () => (await queue.getActiveCount()) === 0)
  try {
    await jobs
  } finally {
    await queue.close()
  }
  assert.equal(await harness.redis.zcard(`${harness.tag}:leases`), 0)
  assert.ok(grown < 0.2, `the node's heap grew by ${Math.round(100 * grown)} %`)
  await expectInvariants(harness.redis, harness.namespace)
  return count
}

/** Bytes in the heap of a node after a collection. */
async function heapOf(node: NodeProcess, file: string): Promise<number> {
  const lines = () => (existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [])
  const before = lines().length
  node.signal('SIGUSR2')
  await waitUntil('the node tells its heap', () => lines().length > before)
  return Number(lines().at(-1))
}

export const herdRow: Row = {
  id: 'F36',
  promise: 'workers that wake at once all run, and none waits far longer than the others',
  done: '10 000 sessions queued before a node is there (500 in the short form); longest wait against the median',
  trials: ({ isLong }) => [{ name: 'herd', run: (stage) => herd(stage, isLong ? 10_000 : 500, 1) }],
}

export const sweepStormRow: Row = {
  id: 'F44',
  promise: 'many sweeps at once send no wake-up, and each worker is run once',
  done: '8 nodes started together on 10 000 queued sessions without a wake-up (500 in the short form)',
  trials: ({ isLong }) => [{ name: 'sweeps', run: (stage) => herd(stage, isLong ? 10_000 : 500, isLong ? 8 : 4) }],
}

async function herd(stage: Stage, count: number, nodes: number): Promise<number> {
  await using harness = await stage.open({ client: silent })
  // Their kind has to be known, or nothing says which pool they wait in.
  await (await harness.start('first')).stop()
  for (let made = 0; made < count; made += 100)
    await Promise.all(Array.from({ length: 100 }, () => harness.client.sessions.create({ kind: 'echo', input: null })))
  const startedAt = Date.now()
  await Promise.all(Array.from({ length: nodes }, (_, number) => harness.start(`n${number}`, { concurrency: 20 })))
  const ends = () => harness.redis.zcard(`${harness.tag}:run:default`)
  await waitUntil('all have run', async () => (await ends()) === 0, 120_000 + 20 * count)
  await expectInvariants(harness.redis, harness.namespace)
  const lines = harness.ledger.lines('echo')
  assert.equal(lines.length, count, `${lines.length} handlers ran for ${count} sessions`)
  assert.equal(await jobsAdded(harness), 0, 'a sweep sent a wake-up')
  const waits = lines.map(({ at }) => at - startedAt).sort((a, b) => a - b)
  const median = waits[Math.floor(count / 2)] as number
  const longest = waits.at(-1) as number
  stage.say(`median wait ${median} ms, longest ${longest} ms`)
  assert.ok(longest <= 5 * median, `the longest wait is ${longest} ms, the median ${median} ms`)
  return count
}

/** How many jobs were ever added to the queue of wake-ups. */
async function jobsAdded(harness: Harness): Promise<number> {
  const redis = new Redis(harness.redisUrl)
  const events = await redis.xlen(`${harness.tag}:q:wakeup-default:events`).finally(() => redis.disconnect())
  return events
}

export const bombRow: Row = {
  id: 'F37',
  promise: 'a session never has more workers than its limit, however they multiply',
  done: 'each worker spawns 10 that do the same, on three nodes; limits of 60 workers and a depth of 4',
  atOnce: 2,
  trials: ({ isLong }) => times(isLong ? 20 : 1, 'bomb', bomb),
}

async function bomb(stage: Stage): Promise<undefined> {
  await using harness = await stage.open()
  await Promise.all(['a', 'b', 'c'].map((name) => harness.start(name)))
  const limits = { workers: 60, depth: 4 }
  const session = await harness.client.sessions.create({ kind: 'bomb', input: 10, limits })
  await awaitResult(session)
  const { workers } = await expectInvariants(harness.redis, harness.namespace)
  assert.ok(workers.size <= limits.workers, `${workers.size} workers, ${limits.workers} allowed`)
  assert.ok(workers.size > limits.workers / 2, `only ${workers.size} workers came to be`)
  assert.partialDeepStrictEqual(await harness.client.health(), {})
  return undefined
}
