/** F08, K14: someone empties, deletes or pauses BullMQ's queue of wake-ups while sessions run. Wake-ups are only wake-ups: everything ends. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { type TreeInput, treeResult } from '../../programs/node/fault-kinds.ts'
import type { Harness } from '../../support/fault/harness.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { type Row, type Stage, type Trial, trial } from '../row.ts'

const tree: TreeInput = { children: 5, steps: 6, stepMs: 150 }
const sessions = 12

type Harm = (queue: Queue, redis: Redis, tag: string) => Promise<unknown>

const harms: readonly (readonly [how: string, harm: Harm])[] = [
  ['is obliterated', (queue) => queue.obliterate({ force: true })],
  [
    'is drained, and its jobs are removed',
    async (queue) => {
      await queue.drain(true)
      for (const job of await queue.getJobs(['wait', 'active', 'prioritized', 'delayed'])) await job?.remove()
    },
  ],
  [
    'loses all its keys',
    async (_, redis, tag) => {
      const keys = await redis.keys(`${tag}:q:wakeup-*`)
      if (keys.length > 0) await redis.del(...keys)
    },
  ],
  ['is paused', (queue) => queue.pause()],
]

export const sabotageRow: Row = {
  id: 'F08',
  promise: 'whatever happens to the jobs of BullMQ, every session ends right (I1, I7)',
  done: 'the queue of wake-ups is obliterated, emptied, deleted or paused again and again under load',
  atOnce: 4,
  trials: ({ isLong }) =>
    Array.from({ length: isLong ? 5 : 1 }, () => harms.map(([how, harm]) => harmed(how, harm))).flat(),
}

function harmed(how: string, harm: Harm): Trial {
  return trial(how, async (stage: Stage) => {
    await using harness = await stage.open()
    await Promise.all([harness.start('a'), harness.start('b')])
    const over = new AbortController()
    const harming = harmUntil(over.signal, harness, harm)
    const results = await Promise.all(
      Array.from({ length: sessions }, async () => {
        const session = await harness.client.sessions.create({ kind: 'tree', input: tree })
        return awaitResult(session)
      }),
    ).finally(() => over.abort())
    assert.ok((await harming) > 5, 'too little harm was done')
    for (const result of results)
      assert.partialDeepStrictEqual(result, { status: 'completed', value: treeResult(tree) })
    await expectInvariants(harness.redis, harness.namespace)
  })
}

/** Does harm again and again until it is told to stop; says how often. */
async function harmUntil(stop: AbortSignal, harness: Harness, harm: Harm): Promise<number> {
  const connection = new Redis(harness.redisUrl, { maxRetriesPerRequest: null })
  const queue = new Queue('wakeup-default', { connection, prefix: `${harness.tag}:q` })
  queue.on('error', () => {})
  let harmed = 0
  while (!stop.aborted) {
    // Harm fails now and then, because BullMQ works on the same keys.
    await harm(queue, connection, harness.tag).catch(() => {})
    harmed++
    await pause(5)
  }
  await queue.close()
  connection.disconnect()
  return harmed
}
