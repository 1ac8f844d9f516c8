/** F50: nodes die and stand still under load in a Redis Cluster whose slots move, and whose primaries die, stand still and hand over meanwhile. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { Cluster } from 'ioredis'
import { NotFoundError } from '../../../../src/core/errors.ts'
import { partitionOf } from '../../../../src/core/ids.ts'
import { tagOf } from '../../../../src/store/keys.ts'
import { type TreeInput, treeResult } from '../../../programs/node/fault-kinds.ts'
import { ClusterTrouble } from '../../../support/cluster-trouble.ts'
import type { Random } from '../../../support/fault/fault-settings.ts'
import type { Harness, NodeProcess } from '../../../support/fault/harness.ts'
import { StormLoad, type Talk, type Tree } from '../../../support/fault/storm-load.ts'
import { RedisCluster } from '../../../support/redis/redis-cluster.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import type { Row, Stage } from '../../row.ts'

const partitions = 6
const talks = 12
const names = ['a', 'b', 'c', 'd']
const tree: TreeInput = { children: 5, steps: 3, stepMs: 100 }
const restMsMax = 300_000
const startMsMax = 120_000
/** As docs/cluster.md advises. Servers that share a core with all others must not take each other for dead. */
const settings = ['cluster-node-timeout 4000', 'cluster-require-full-coverage no']

export const clusterStormRow: Row = {
  id: 'F50',
  promise:
    'a storm in a Redis Cluster whose slots move and whose primaries die loses and doubles nothing but what was acknowledged in the last moments of a primary, and tears nothing (I1 to I9, I12)',
  done: '4 nodes killed and frozen at random; 3 primaries with a replica each: slots move all the time, primaries are killed, stand still, hand over; queues of wake-ups are obliterated; trees, cancels, messages within and between partitions; for --minutes; a trial is a fault',
  isEndless: true,
  trials: ({ minutes = 1 }) => [{ name: `${minutes} min`, run: (stage) => storm(stage, minutes * 60_000) }],
}

async function storm(stage: Stage, ms: number): Promise<number> {
  await using cluster = await RedisCluster.start({ durability: 'everysec', settings })
  await using harness = await stage.open({ redisUrl: cluster.url, client: { partitions } })
  const nodes = await Promise.all(names.map((name) => startNode(harness, name)))
  const tags = Array.from({ length: partitions }, (_, partition) => tagOf(harness.namespace, partition))
  const trouble = new ClusterTrouble(cluster, tags, stage.random)
  const load = new StormLoad(harness, stage.random, tree)
  await load.begin(talks)
  await waitUntil('the cluster is whole', () => cluster.isWhole())
  stage.say('the storm begins')
  const [faults, obliterated] = await together(ms, (over) => [
    harmNodes(stage.random, harness, nodes, over),
    obliterateQueues(stage.random, cluster, tags, over),
    trouble.run(over),
    load.run(over),
  ])
  stage.say(
    `${faults} faults of nodes, ${obliterated} queues of wake-ups obliterated; of the cluster: ${JSON.stringify(trouble.done)}`,
  )
  await allRests(harness)
  stage.say('all rests')
  const lost = [...(await judgeTrees(load.trees, trouble)), ...(await judgeTalks(harness, load.talks, trouble))]
  stage.say(`of ${load.trees.length} trees and ${load.talks.reduce((sum, { sent }) => sum + sent.size, 0)} messages:`)
  for (const [what, some] of Map.groupBy(lost, (one) => one)) stage.say(`  ${some.length} ${what}`)
  assert.deepEqual((await harness.client.audit()).findings, [])
  return faults + obliterated + Object.values(trouble.done).reduce((sum, count) => sum + count, 0)
}

/** For so long, or until one of them fails; nothing of them is left when it resolves. */
async function together<Parts extends readonly Promise<unknown>[]>(
  ms: number,
  begin: (over: AbortSignal) => readonly [...Parts],
): Promise<{ readonly [Part in keyof Parts]: Awaited<Parts[Part]> }> {
  const failed = new AbortController()
  const parts = begin(AbortSignal.any([AbortSignal.timeout(ms), failed.signal]))
  for (const part of parts) part.catch(() => failed.abort())
  await Promise.allSettled(parts)
  return Promise.all(parts)
}

async function harmNodes(random: Random, harness: Harness, nodes: NodeProcess[], over: AbortSignal): Promise<number> {
  let faults = 0
  while (!over.aborted) {
    await pause(500 + 3_000 * random())
    const place = Math.floor(random() * nodes.length)
    const node = nodes[place] as NodeProcess
    if (random() < 0.6) {
      await node.kill()
      nodes[place] = await startNode(harness, names[place] as string)
    } else {
      node.freeze()
      await pause(3_000 * random())
      node.thaw()
    }
    faults++
  }
  return faults
}

/** Somebody empties the BullMQ queues of wake-ups, one now and then. */
async function obliterateQueues(
  random: Random,
  cluster: RedisCluster,
  tags: readonly string[],
  over: AbortSignal,
): Promise<number> {
  const connection = new Cluster(cluster.servers.map(({ port }) => ({ host: '127.0.0.1', port })))
  connection.on('error', () => {})
  const queues = tags.map((tag) => new Queue('wakeup-default', { connection, prefix: `${tag}:q` }))
  for (const queue of queues) queue.on('error', () => {})
  let obliterated = 0
  while (!over.aborted) {
    await pause(2_000 + 4_000 * random())
    const queue = queues[Math.floor(random() * queues.length)] as Queue
    // One that cannot be reached just now is left as it is.
    const isDone = await queue.obliterate({ force: true }).then(
      () => true,
      () => false,
    )
    if (isDone) obliterated++
  }
  for (const queue of queues) await queue.close().catch(() => {})
  connection.disconnect()
  return obliterated
}

/** A node ends at its start if a partition cannot be reached for the time of a lease; whatever started it starts it again. */
async function startNode(harness: Harness, name: string): Promise<NodeProcess> {
  const give = performance.now() + startMsMax
  for (;;) {
    try {
      return await harness.start(name, { policy: { leaseMs: 4_000 } })
    } catch (error) {
      if (performance.now() > give || !String(error).includes('store_')) throw error
    }
  }
}

async function allRests({ client }: Harness): Promise<void> {
  let told = ''
  const rests = async () => {
    const { counts } = await client.audit()
    told = JSON.stringify(counts.all)
    return counts.all.active === 0 && counts.all.waiting === 0
  }
  await waitUntil('nothing is in progress', rests, restMsMax).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${told}`)
  })
}

/** Returns what was lost, where it could be. */
async function judgeTrees(trees: readonly Tree[], trouble: ClusterTrouble): Promise<string[]> {
  const lost: string[] = []
  for (const { session, at, isToBeCancelled, cancelledAt } of trees) {
    const own = [partitionOf(session.id)]
    const result = await session.result({ signal: AbortSignal.timeout(30_000) }).catch((error: unknown) => {
      if (!(error instanceof NotFoundError)) throw error
      return null
    })
    if (result === null) {
      assert.ok(trouble.mayBeLost(own, at), `tree ${session.id} is lost`)
      lost.push('trees lost')
    } else if (result.status === 'cancelled') {
      assert.ok(isToBeCancelled, `nobody cancelled tree ${session.id}`)
    } else if (cancelledAt !== null) {
      assert.ok(trouble.mayBeLost(own, cancelledAt), `the cancel of tree ${session.id} is lost`)
      lost.push('cancels lost')
    } else {
      assert.partialDeepStrictEqual(result, { status: 'completed', value: treeResult(tree) }, session.id)
    }
  }
  return lost
}

async function judgeTalks(harness: Harness, all: readonly Talk[], trouble: ClusterTrouble): Promise<string[]> {
  const lost: string[] = []
  const forwarded = Map.groupBy(harness.ledger.lines('forwarded'), ({ worker }) => worker)
  for (const { session, by, sent } of all) {
    const received = (await harness.history(session.rootId)).flatMap((entry) =>
      entry.type === 'received' ? [{ number: Number(entry.message.value), at: entry.at }] : [],
    )
    const inputs = received.map(({ number }) => number)
    const lines = by === null ? [] : (forwarded.get(by.rootId) ?? [])
    const through = [partitionOf(session.id), ...(by === null ? [] : [partitionOf(by.id)])]
    /**
     * What came from outside rests where it was acknowledged. What comes by way of another rests with that one until the next arrives, since they
     * arrive in their order.
     */
    const mayBeLost = (number: number) => {
      const from = sent.get(number) ?? 0
      const sentOn = lines.filter(({ note }) => note === number).map(({ at }) => at)
      const next = received.find((one) => one.number > number)?.at ?? Date.now()
      return trouble.mayBeLost(through, from, by === null ? from : Math.max(from, next, ...sentOn))
    }
    const about = (number: number) => trouble.around(through, sent.get(number) ?? 0)
    const counts = Map.groupBy(inputs, (number) => number)
    for (const number of sent.keys()) {
      const times = counts.get(number)?.length ?? 0
      if (times === 1) continue
      assert.ok(mayBeLost(number), `message ${number} to ${session.rootId} came ${times} times: ${about(number)}`)
      assert.ok(by !== null || times === 0, `message ${number} to ${session.rootId} came ${times} times from outside`)
      lost.push(times === 0 ? 'messages lost' : 'messages twice')
    }
    const firsts = [...counts.keys()]
    assert.deepEqual(
      firsts,
      firsts.toSorted((a, b) => a - b),
      `messages to ${session.rootId} are out of order`,
    )
  }
  return lost
}
