/**
 * A storm: for a while nodes die and stand still and queues are obliterated, beside whatever else the caller does, while trees are spawned and cancelled
 * and messages sent. Then it waits until all rests, and judges what became of it.
 */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { Queue } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import { tagOf } from '../../../../src/store/keys.ts'
import type { Stage } from '../../../faults/row.ts'
import type { TreeInput } from '../../../programs/node/fault-kinds.ts'
import { waitUntil } from '../../time/wait-until.ts'
import type { Random } from '../fault-settings.ts'
import { harmNodes, untilStarted, type Way } from '../harm/harm-nodes.ts'
import type { Harness } from '../harness.ts'
import { together } from '../together.ts'
import { StormLoad } from './storm-load.ts'
import { judgeTalks, judgeTrees, type Losses } from './storm-verdict.ts'

const talks = 12
const names = ['a', 'b', 'c', 'd']
const ways: readonly Way[] = ['kill', 'kill', 'kill', 'freeze', 'freeze']
const tree: TreeInput = { children: 5, steps: 3, stepMs: 100 }
const restMsMax = 300_000

export interface StormScene {
  readonly harness: Harness
  readonly partitions: number
  /** For the queues of wake-ups. It stays the caller's. */
  readonly connection: Redis | Cluster
  /** The storm begins when this resolves, after nodes and conversations are there. */
  readonly ready?: () => Promise<unknown>
  /** Further disturbances until the storm is over; resolves with the number of times of each. */
  readonly also: (over: AbortSignal) => Promise<Readonly<Record<string, number>>>
  readonly losses: Losses
}

/** The tags of the keys of all partitions, in their order. */
export function tagsOf({ namespace }: Harness, partitions: number): string[] {
  return Array.from({ length: partitions }, (_, partition) => tagOf(namespace, partition))
}

/** Resolves with how many faults there were. */
export async function storm(stage: Stage, ms: number, scene: StormScene): Promise<number> {
  const { harness, partitions, connection, losses } = scene
  const start = (name: string) => untilStarted(() => harness.start(name, { policy: { leaseMs: 4_000 } }))
  const nodes = await Promise.all(names.map(start))
  const load = new StormLoad(harness, stage.random, tree)
  await load.begin(talks)
  await scene.ready?.()
  stage.say('the storm begins')
  const [faults, obliterated, also] = await together(ms, (over) => [
    harmNodes({ random: stage.random, nodes, ways, start }, over),
    obliterateQueues(stage.random, connection, tagsOf(harness, partitions), over),
    scene.also(over),
    load.run(over),
  ])
  stage.say(`${faults} faults of nodes, ${obliterated} queues of wake-ups obliterated; ${JSON.stringify(also)}`)
  await allRests(harness)
  stage.say('all rests')
  const lost = [...(await judgeTrees(load.trees, tree, losses)), ...(await judgeTalks(harness, load.talks, losses))]
  stage.say(`of ${load.trees.length} trees and ${load.talks.reduce((sum, { sent }) => sum + sent.size, 0)} messages:`)
  for (const [what, some] of Map.groupBy(lost, (one) => one)) stage.say(`  ${some.length} ${what}`)
  assert.deepEqual((await harness.client.audit()).findings, [])
  return faults + obliterated + Object.values(also).reduce((sum, count) => sum + count, 0)
}

/** Somebody empties the BullMQ queues of wake-ups, one now and then. */
async function obliterateQueues(
  random: Random,
  connection: Redis | Cluster,
  tags: readonly string[],
  over: AbortSignal,
): Promise<number> {
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
  return obliterated
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
