/** F51: nodes die and stand still under load, while Redis forgets its functions and scripts, and queues are obliterated. */
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Random } from '../../../support/fault/fault-settings.ts'
import { storm } from '../../../support/fault/storm/storm.ts'
import { noLosses } from '../../../support/fault/storm/storm-verdict.ts'
import type { Row, Stage } from '../../row.ts'

const partitions = 2

export const flushStormRow: Row = {
  id: 'F51',
  promise: 'a storm on one Redis loses, doubles and tears nothing (I1 to I9, I12)',
  done: '4 nodes killed and frozen at random; functions and scripts are flushed, queues of wake-ups obliterated; trees, cancels, messages within and between partitions; for --minutes; a trial is a fault',
  isEndless: true,
  trials: ({ minutes = 1 }) => [{ name: `${minutes} min`, run: (stage) => onOneRedis(stage, minutes * 60_000) }],
}

async function onOneRedis(stage: Stage, ms: number): Promise<number> {
  await using harness = await stage.open({ ownRedis: {}, client: { partitions } })
  const connection = new Redis(harness.redisUrl, { maxRetriesPerRequest: null })
  try {
    return await storm(stage, ms, {
      harness,
      partitions,
      connection,
      losses: noLosses,
      also: async (over) => ({ flush: await flushScripts(stage.random, connection, over) }),
    })
  } finally {
    connection.disconnect()
  }
}

async function flushScripts(random: Random, redis: Redis, over: AbortSignal): Promise<number> {
  let flushed = 0
  while (!over.aborted) {
    await pause(1_000 + 3_000 * random())
    await redis.call('FUNCTION', 'FLUSH')
    await redis.call('SCRIPT', 'FLUSH')
    flushed++
  }
  return flushed
}
