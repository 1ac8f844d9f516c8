/** F16b, F16c, F17, F18: Redis loses a little of its past, or refuses to write for a while. */
import assert from 'node:assert/strict'
import { globSync, statSync, truncateSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Session } from '../../../../src/client/session/session.ts'
import { type TreeInput, treeResult } from '../../../programs/node/fault-kinds.ts'
import type { Harness, NodeProcess } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { takeSnapshot } from '../../../support/snapshot.ts'
import { type Row, type Stage, times } from '../../row.ts'

const tree: TreeInput = { children: 4, steps: 4, stepMs: 100 }

export const everySecondRow: Row = {
  id: 'F16b',
  promise: 'with appendfsync everysec the loss is bounded, and nothing is torn (I4)',
  done: 'kill -9 of Redis under load; what it had acknowledged and lost is counted, the rest is checked',
  trials: ({ isLong, kills = isLong ? 20 : 1 }) => times(kills, 'kill', killEverySecond),
}

async function killEverySecond(stage: Stage): Promise<undefined> {
  await using harness = await stage.open({ ownRedis: { durability: 'everysec' } })
  await Promise.all([harness.start('a'), harness.start('b')])
  const sessions = await submit(harness, 20)
  await pause(1_500 * stage.random())
  await harness.killRedis()
  await harness.restartRedis()
  const { lost } = await outcome(harness, sessions)
  stage.say(`${lost} of ${sessions.length} acknowledged sessions lost`)
  await expectInvariants(harness.redis, harness.namespace)
  return undefined
}

export const tornFileRow: Row = {
  id: 'F16c',
  promise: 'a file whose end is cut off is loaded, and what it holds is a past that was (I4)',
  done: 'Redis is killed, its append-only file cut by 1 byte up to a quarter of it, and started again with the nodes that ran on',
  atOnce: 2,
  trials: ({ isLong }) => times(isLong ? 20 : 1, 'cut', cutFile),
}

async function cutFile(stage: Stage): Promise<undefined> {
  await using harness = await stage.open({ ownRedis: {} })
  await Promise.all([harness.start('a'), harness.start('b')])
  const sessions = await submit(harness, 12)
  await pause(200 + 1_500 * stage.random())
  await harness.killRedis()
  const [file] = globSync(`${harness.server.folder}/{appendonlydir/*.incr.aof,appendonly.aof}`)
  assert.ok(file !== undefined, 'Redis has no append-only file')
  const { size } = statSync(file)
  // From a byte to a quarter, as often small as large.
  const bytes = Math.floor(Math.exp(stage.random() * Math.log(size / 4)))
  truncateSync(file, size - bytes)
  await harness.restartRedis()
  const { lost } = await outcome(harness, sessions)
  stage.say(`${bytes} of ${size} bytes cut off: ${lost} of ${sessions.length} sessions lost`)
  await expectInvariants(harness.redis, harness.namespace)
  return undefined
}

/** Sessions of which Redis still knows end right; the others are counted. */
export async function outcome(
  { redis, namespace }: Pick<Harness, 'redis' | 'namespace'>,
  sessions: readonly Session[],
): Promise<{ lost: number }> {
  const { sessions: kept } = await takeSnapshot(redis, namespace)
  const signal = AbortSignal.timeout(120_000)
  let lost = 0
  for (const session of sessions) {
    if (!kept.has(session.id)) lost++
    else {
      const result = await session.result({ signal })
      assert.partialDeepStrictEqual(result, { status: 'completed', value: treeResult(tree) }, `session ${session.id}`)
    }
  }
  return { lost }
}

export async function submit(harness: Harness, count: number): Promise<Session[]> {
  const create = () => harness.client.sessions.create({ kind: 'tree', input: tree })
  return Promise.all(Array.from({ length: count }, create))
}

export const readOnlyRow: Row = {
  id: 'F17',
  promise: 'a Redis that becomes a replica and a primary again loses and fails nothing (I1)',
  done: 'REPLICAOF a place where nobody is, under load, for 0.2 to 2 s; then REPLICAOF NO ONE',
  atOnce: 2,
  trials: ({ isLong }) =>
    times(isLong ? 20 : 1, 'read-only', (stage) =>
      refuse(stage, {
        begin: (harness) => harness.redis.replicaof('127.0.0.1', 1),
        end: (harness) => harness.redis.replicaof('NO', 'ONE'),
      }),
    ),
}

export const fullRow: Row = {
  id: 'F18',
  promise: 'a full Redis refuses whole scripts, and work goes on when there is room (K20)',
  done: 'CONFIG SET maxmemory to what is used, under load, for 0.2 to 2 s; then as before',
  atOnce: 2,
  trials: ({ isLong }) =>
    times(isLong ? 20 : 1, 'full', (stage) =>
      refuse(stage, {
        begin: (harness) => harness.redis.config('SET', 'maxmemory', '1mb'),
        end: (harness) => harness.redis.config('SET', 'maxmemory', '0'),
      }),
    ),
}

interface Refusing {
  readonly begin: (harness: Harness) => Promise<unknown>
  readonly end: (harness: Harness) => Promise<unknown>
}

async function refuse(stage: Stage, { begin, end }: Refusing): Promise<undefined> {
  await using harness = await stage.open({ ownRedis: {} })
  const nodes: NodeProcess[] = await Promise.all([harness.start('a'), harness.start('b')])
  const sessions = await submit(harness, 10)
  await pause(400 * stage.random())
  await begin(harness)
  // Accepted in that time, or refused: never accepted and lost. The client waits until its deadline.
  const late = submit(harness, 5)
  late.catch(() => {})
  await pause(200 + 1_800 * stage.random())
  await end(harness)
  const signal = AbortSignal.timeout(120_000)
  for (const session of [...sessions, ...(await late)]) {
    const result = await session.result({ signal })
    assert.partialDeepStrictEqual(result, { status: 'completed', value: treeResult(tree) }, `session ${session.id}`)
  }
  assert.ok(
    nodes.every((node) => !node.isGone),
    'a node ended',
  )
  const { workers, dead } = await expectInvariants(harness.redis, harness.namespace)
  assert.deepEqual([workers.size, dead.length], [15 * (tree.children + 1), 0])
  return undefined
}
