/** F15, F16: Redis is stopped or killed while sessions run, and comes back. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { type TreeInput, treeResult } from '../../../programs/node/fault-kinds.ts'
import type { Harness } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { leniencyMs, type Row, type Stage } from '../../row.ts'

const tree: TreeInput = { children: 5, steps: 4, stepMs: 200 }
const perKill = 6

export const redisKillRow: Row = {
  id: 'F16',
  promise: 'nothing that Redis acknowledged is lost when it is killed, with appendfsync always (I1, I4)',
  done: 'kill -9 of Redis under load, again and again; two nodes and a client that stay; a trial is a kill',
  trials: ({ isLong, kills = isLong ? 50 : 3 }) => [
    { name: `${kills} kills`, run: (stage) => killRedis(stage, kills) },
  ],
}

async function killRedis(stage: Stage, kills: number): Promise<number> {
  await using harness = await stage.open({ ownRedis: {} })
  const nodes = await Promise.all([harness.start('a'), harness.start('b')])
  const results: Promise<unknown>[] = []
  for (let kill = 0; kill < kills; kill++) {
    results.push(...(await submit(harness, `${kill}`)))
    await pause(600 * stage.random())
    await harness.killRedis()
    await pause(300 * stage.random())
    await harness.restartRedis()
  }
  for (const result of await Promise.all(results))
    assert.partialDeepStrictEqual(result, { status: 'completed', value: treeResult(tree) })
  assert.deepEqual(
    nodes.map((node) => node.isGone),
    [false, false],
    'a node ended',
  )
  const { workers, dead } = await expectInvariants(harness.redis, harness.namespace)
  assert.equal(workers.size, kills * perKill * (tree.children + 1))
  assert.deepEqual(dead, [])
  return kills
}

async function submit(harness: Harness, key: string, input: TreeInput = tree): Promise<Promise<unknown>[]> {
  const created = await Promise.all(
    Array.from({ length: perKill }, (_, number) =>
      harness.client.sessions.create({ kind: 'tree', input, idempotencyKey: `tree ${key} ${number}` }),
    ),
  )
  return created.map((session) => {
    const result = awaitResult(session, { msMax: 180_000 })
    result.catch(() => {})
    return result
  })
}

export const redisDownRow: Row = {
  id: 'F15',
  promise: 'work goes on within 10 s when Redis is back, in the same processes (I1, I7)',
  done: 'Redis is stopped for 1 s and 7 s (and 30 s in the long form), or stands still, and comes back',
  atOnce: 3,
  trials: (scale) => {
    const msMax = 15_000 + leniencyMs(scale)
    return [
      ...(scale.isLong ? [1, 7, 30] : [1]).map((seconds) => ({
        name: `down for ${seconds} s`,
        run: (stage: Stage) => away(stage, seconds, 'down', msMax),
      })),
      ...(scale.isLong ? [1, 7] : []).map((seconds) => ({
        name: `still for ${seconds} s`,
        run: (stage: Stage) => away(stage, seconds, 'still', msMax),
      })),
    ]
  },
}

async function away(stage: Stage, seconds: number, how: 'down' | 'still', msMax: number): Promise<undefined> {
  await using harness = await stage.open({ ownRedis: {} })
  const nodes = await Promise.all([harness.start('a'), harness.start('b')])
  const before = await submit(harness, 'before')
  await pause(500 * stage.random())
  if (how === 'still') harness.server.freeze()
  else await harness.server.stop()
  await pause(seconds * 1_000)
  if (how === 'still') harness.server.thaw()
  else await harness.restartRedis()
  const backAt = performance.now()
  for (const result of await Promise.all([...before, ...(await submit(harness, 'after'))]))
    assert.partialDeepStrictEqual(result, { status: 'completed', value: treeResult(tree) })
  const ms = Math.round(performance.now() - backAt)
  stage.say(`all results ${ms} ms after its return`)
  assert.ok(ms < msMax, `the last result came ${ms} ms after Redis was back`)
  assert.ok(
    nodes.every((node) => !node.isGone),
    'a node ended',
  )
  await expectInvariants(harness.redis, harness.namespace)
  return undefined
}
