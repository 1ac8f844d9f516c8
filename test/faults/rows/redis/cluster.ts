/** F21: slots of a Redis Cluster move, and its primaries are lost, while sessions of several partitions run. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Session } from '../../../../src/client/session/session.ts'
import { NotFoundError } from '../../../../src/core/errors.ts'
import { tagOf } from '../../../../src/store/keys.ts'
import { type TreeInput, treeResult } from '../../../programs/node/fault-kinds.ts'
import type { Harness, NodeProcess } from '../../../support/fault/harness.ts'
import { RedisCluster } from '../../../support/redis/redis-cluster.ts'
import type { RedisServer } from '../../../support/redis/redis-server.ts'
import { ask } from '../../../support/redis/sentinel-group.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { type Row, type Stage, trial } from '../../row.ts'

const partitions = 3
const tree: TreeInput = { children: 4, steps: 4, stepMs: 100 }
const endMsMax = 120_000
const wholeMsMax = 60_000

export const clusterRow: Row = {
  id: 'F21',
  promise:
    'in a Redis Cluster nothing is lost or torn by slots that move; a primary that dies loses at most what its replica had not received, and tears nothing (I1, I4, I5)',
  done: 'the slots of all partitions move to other servers and back under load, also half of their keys for a while; a primary is killed and its replica takes over; comes back; hands over; stands still (long form)',
  trials: ({ isLong }) => [
    trial('slots move, and a primary is killed', (stage) => inCluster(stage, [moveSlots, killPrimary])),
    ...(isLong
      ? [
          trial('slots move again and again', (stage) => inCluster(stage, Array(10).fill(moveSlots))),
          trial('primaries are killed', (stage) => inCluster(stage, Array(5).fill(killPrimary))),
          trial('a primary hands over to its replica', (stage) => inCluster(stage, [handOver, moveSlots, handOver])),
          trial('a primary stands still', (stage) => inCluster(stage, [standStill, moveSlots])),
        ]
      : []),
  ],
}

interface Scene {
  readonly stage: Stage
  readonly cluster: RedisCluster
  readonly tags: readonly string[]
}

/** Does it to the cluster. `mayLose`: what was acknowledged last may be lost. */
type Deed = (scene: Scene) => Promise<{ readonly mayLose: boolean }>

const moveSlots: Deed = async ({ stage, cluster, tags }) => {
  for (const tag of tags) {
    const move = await cluster.beginMove(tag, await cluster.otherPrimary(tag))
    // As a large partition would be for longer: some keys are there, some are not.
    await move.moveKeys(stage.random())
    await pause(300 * stage.random())
    await move.end()
  }
  const told = (await errorsOf(cluster)).join(' ')
  assert.match(told, /errorstat_(ASK|MOVED|TRYAGAIN)/, 'no call met a slot on its way')
  return { mayLose: false }
}

const killPrimary: Deed = async ({ cluster, tags: [tag = ''] }) => {
  const old = await cluster.primaryOf(tag)
  await old.kill()
  await cluster.promotedAfter(old, tag)
  await old.restart()
  return { mayLose: true }
}

const handOver: Deed = async ({ cluster, tags: [tag = ''] }) => {
  const old = await cluster.primaryOf(tag)
  await ask(await cluster.replicaOf(old), (redis) => redis.call('CLUSTER', 'FAILOVER'))
  await cluster.promotedAfter(old, tag)
  return { mayLose: false }
}

/** Long enough for its replica to take over; then it finds that it is a replica. */
const standStill: Deed = async ({ cluster, tags: [tag = ''] }) => {
  const old = await cluster.primaryOf(tag)
  old.freeze()
  await cluster.promotedAfter(old, tag)
  old.thaw()
  return { mayLose: true }
}

async function inCluster(stage: Stage, deeds: readonly Deed[]): Promise<void> {
  await using cluster = await RedisCluster.start()
  await using harness = await stage.open({ redisUrl: cluster.url, client: { partitions } })
  const nodes = await Promise.all([harness.start('a'), harness.start('b')])
  const tags = Array.from({ length: partitions }, (_, partition) => tagOf(harness.namespace, partition))
  for (const deed of deeds) {
    const replicated = await submit(harness, 5)
    await untilReplicated(cluster, tags)
    const unsure = await submit(harness, 5)
    const { mayLose } = await deed({ stage, cluster, tags })
    assert.equal((await ended(replicated)).lost, 0, 'what was replicated is lost')
    const { lost } = await ended(unsure)
    if (mayLose) stage.say(`${lost} of ${unsure.length} sessions lost that may not have been replicated`)
    else assert.equal(lost, 0)
    await waitUntil('the cluster is whole', () => cluster.isWhole(), wholeMsMax)
  }
  assert.equal((await ended(await submit(harness, 5))).lost, 0)
  await allIsWell(harness, nodes)
  assert.doesNotMatch((await errorsOf(cluster)).join(' '), /CROSSSLOT/)
}

async function allIsWell({ client }: Harness, nodes: readonly NodeProcess[]): Promise<void> {
  assert.ok(
    nodes.every((node) => !node.isGone),
    'a node ended',
  )
  const rests = async () => {
    const { counts } = await client.audit()
    return counts.all.active === 0 && counts.all.waiting === 0
  }
  await waitUntil('nothing is in progress', rests, endMsMax)
  assert.deepEqual((await client.audit()).findings, [])
}

function submit({ client }: Harness, count: number): Promise<Session[]> {
  return Promise.all(Array.from({ length: count }, () => client.sessions.create({ kind: 'tree', input: tree })))
}

/** Sessions that are still known end right; the others are counted. */
async function ended(sessions: readonly Session[]): Promise<{ readonly lost: number }> {
  const signal = AbortSignal.timeout(endMsMax)
  let lost = 0
  for (const session of sessions) {
    const result = await session.result({ signal }).catch((error: unknown) => {
      if (!(error instanceof NotFoundError)) throw error
      lost++
    })
    if (result) assert.partialDeepStrictEqual(result, { status: 'completed', value: treeResult(tree) }, session.id)
  }
  return { lost }
}

/** What was written up to now is at the replicas of all primaries. */
async function untilReplicated(cluster: RedisCluster, tags: readonly string[]): Promise<void> {
  for (const tag of tags) {
    const server: RedisServer = await cluster.primaryOf(tag)
    await ask(server, async (redis) => {
      await redis.set(`replicated:${tag}`, 'yes')
      assert.equal(await redis.wait(1, 10_000), 1)
    })
  }
}

async function errorsOf(cluster: RedisCluster): Promise<string[]> {
  return Promise.all(
    cluster.servers
      .filter((server) => !server.isAway)
      .map((server) => ask(server, (redis) => redis.info('errorstats'))),
  )
}
