/** F49: nodes die that hold places at the gate of a kind, at each moment of a run there; and so does the server that has the gate. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Session } from '../../../../src/client/session/session.ts'
import { NotFoundError } from '../../../../src/core/errors.ts'
import { partitionOf, partitionOfKey } from '../../../../src/core/ids.ts'
import { gateKeys, tagOf } from '../../../../src/store/keys.ts'
import { Connections } from '../../../../src/store/redis/connections.ts'
import type { Redis } from '../../../../src/store/redis/redis.ts'
import { gatedMost } from '../../../programs/node/fault-kinds.ts'
import { type CrashPoint, gatePoints, guestPoints } from '../../../support/fault/harm/crash-points.ts'
import type { Harness, HarnessOptions } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { tagsOf } from '../../../support/fault/storm/storm.ts'
import { RedisCluster } from '../../../support/redis/redis-cluster.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { type Row, type Stage, type Trial, trial } from '../../row.ts'
import { heirLeases, startDoomed, untilDead } from '../node/crash-points.ts'

/** Where there are several. */
const partitions = 3
const endMsMax = 120_000

export const gateRow: Row = {
  id: 'F49',
  promise:
    'no more runs of a kind are in progress at once than it says, over all partitions, and each place comes back (I18); a fail-over of the server with the gate may double that number until the runs in progress have been reported again',
  done: 'a node dies at each moment of runs that ask, begin, wait, are parked, end and are cancelled; another goes on; also in a Redis Cluster, each partition at a primary of its own, and the primary with the gate dies before its replica has what it wrote last',
  atOnce: 4,
  trials: ({ isLong }) =>
    [
      ...gatePoints.map((point) => gateTrial(point, 'one partition')),
      ...guestPoints.flatMap((point) => [gateTrial(point, '3 partitions'), gateTrial(point, 'a cluster')]),
      trial('the primary with the gates dies (a cluster)', (stage) => loseServerOf(0, stage)),
      trial('another primary dies (a cluster)', (stage) => loseServerOf(1, stage)),
    ].flatMap((one) => Array.from({ length: isLong ? 5 : 1 }, () => one)),
}

type Where = 'one partition' | '3 partitions' | 'a cluster'

function gateTrial(point: CrashPoint, where: Where): Trial {
  return trial(`${point.name}: ${point.when} (${where})`, async (stage) => {
    if (where === 'one partition') return dieAt(point, 1, stage)
    if (where === '3 partitions') return dieAt(point, partitions, stage)
    await using cluster = await RedisCluster.start({ replicas: 0 })
    await dieAt(point, partitions, { ...stage, open: (options) => openSpread(stage, cluster, options) })
  })
}

/** Each partition is at a primary of its own: the first one, with the gates, too. */
async function openSpread(stage: Stage, cluster: RedisCluster, options: HarnessOptions = {}): Promise<Harness> {
  const harness = await stage.open({ ...options, redisUrl: cluster.url })
  await cluster.spread(tagsOf(harness, partitions))
  return harness
}

async function dieAt(point: CrashPoint, count: number, stage: Stage): Promise<void> {
  await using harness = await stage.open({ client: { partitions: count } })
  const doomed = await startDoomed(harness, point, stage)
  const create = (parkMs?: number) => harness.client.sessions.create({ kind: 'gated', input: { parkMs } })
  const holder = await create(600_000)
  const work = await Promise.all([undefined, 30, undefined, 60, undefined, 30].map((ms) => create(ms)))
  const waiting = await create()
  await waiting.cancel('enough')
  const cancelled = cancelOnceIn(harness, holder)
  cancelled.catch(() => {})
  if (doomed) await untilDead(point, doomed, harness)
  await harness.start('heir', { policy: heirLeases })
  const signal = AbortSignal.timeout(endMsMax)
  for (const session of work) assert.partialDeepStrictEqual(await session.result({ signal }), { status: 'completed' })
  for (const session of [holder, waiting])
    assert.partialDeepStrictEqual(await session.result({ signal }), { status: 'cancelled' })
  const most = mostAtOnce(harness, { endedAt: new Map([[holder.rootId, await cancelled]]) })
  assert.ok(most <= gatedMost, `${most} runs were in progress at once`)
  await untilPlacesAreBack(harness)
  if (count === 1) await expectInvariants(harness.redis, harness.namespace)
  else assert.deepEqual((await harness.client.audit()).findings, [])
}

/**
 * Runs begin that the replica of a primary does not learn of, and then it takes over: what this partition acknowledged meanwhile is lost. Runs of
 * the others go on. If the first partition is the one, they may be more at once than the kind says, until its gate knows of them again.
 */
async function loseServerOf(partition: number, stage: Stage): Promise<void> {
  await using cluster = await RedisCluster.start()
  await using harness = await openSpread(stage, cluster, { client: { partitions } })
  const tag = tagOf(harness.namespace, partition)
  await Promise.all(['a', 'b'].map((name) => harness.start(name, { policy: heirLeases })))
  const create = (parkMs: number, idempotencyKey?: string) =>
    harness.client.sessions.create({ kind: 'gated', input: { parkMs }, idempotencyKey })
  const wave = (count: number) => Promise.all(Array.from({ length: count }, (_, number) => create(30 * (number % 3))))
  assert.equal(await untilEnded(await wave(4)), 0)

  const primary = await cluster.primaryOf(tag)
  await cluster.cutReplicaOf(primary)
  const holder = await create(600_000, keyOf(1))
  await untilIn(harness, holder)
  const unsure = await wave(8)
  await pause(600 * stage.random())
  await primary.kill()
  const killedAt = harness.ledger.lines().length
  await cluster.promotedAfter(primary, tag)
  await primary.restart()
  await waitUntil('the cluster is whole', () => cluster.isWhole(), endMsMax)
  const isSure = (id: string) => partitionOf(id) !== partition
  assert.equal(await untilEnded([...unsure.filter(({ id }) => isSure(id)), ...(await wave(4))]), 0)
  const lost = await untilEnded(unsure)
  const isHeld = isSure(holder.id)
  const counts = async () => (await membersOfGate(harness)).some((member) => member.includes(holder.rootId))
  await waitUntil('the gate counts what is in progress', async () => (await counts()) === isHeld, endMsMax)

  const countedAt = harness.ledger.lines().length
  assert.equal(await untilEnded(await wave(6)), 0)
  const endedAt = new Map([[holder.rootId, isHeld ? harness.ledger.lines().length : killedAt]])
  if (isHeld) await holder.cancel('enough')
  assert.equal(await untilEnded([holder]), isHeld ? 0 : 1)
  // A run that was taken back may begin again, so that it is in progress for longer than its lines say.
  const most = mostAtOnce(harness, { endedAt, isSure })
  stage.say(`${most} runs at once; ${lost} of ${unsure.length} sessions lost`)
  const bound = partition === 0 ? 2 * gatedMost : gatedMost
  assert.ok(most <= bound, `${most} runs were in progress at once, more than one fail-over lets in`)
  const later = mostAtOnce(harness, { endedAt, from: countedAt })
  assert.ok(later <= gatedMost, `${later} runs were in progress at once after the gate counted all of them`)
  await untilPlacesAreBack(harness)
  assert.deepEqual((await harness.client.audit()).findings, [])
}

/** A key under which sessions begin in this partition. */
function keyOf(partition: number): string {
  for (let number = 0; ; number++)
    if (partitionOfKey(`holder ${number}`, partitions) === partition) return `holder ${number}`
}

/** Resolves with how many of them are not known any more. */
async function untilEnded(sessions: readonly Session[]): Promise<number> {
  const signal = AbortSignal.timeout(endMsMax)
  const ends = sessions.map((session) =>
    session.result({ signal }).then(
      () => 0,
      (error: unknown) => {
        if (error instanceof NotFoundError) return 1
        throw error
      },
    ),
  )
  return (await Promise.all(ends)).reduce<number>((sum, one) => sum + one, 0)
}

async function untilIn(harness: Harness, { rootId }: Session): Promise<void> {
  const isIn = () => harness.ledger.lines('in').some(({ worker }) => worker === rootId)
  await waitUntil('the first run is in progress', isIn, endMsMax)
}

/** It holds a place until it is cancelled. Returns how many lines the ledger had then. */
async function cancelOnceIn(harness: Harness, holder: Session): Promise<number> {
  await untilIn(harness, holder)
  const { length } = harness.ledger.lines()
  await holder.cancel('enough')
  return length
}

interface Counted {
  /** Where a run ended that did not say so: the number of lines before. */
  readonly endedAt: ReadonlyMap<string, number>
  readonly isSure?: (worker: string) => boolean
  /** The first line that counts. */
  readonly from?: number
}

/** A run is in progress from the first time that it says so until the last time that it is about to end. */
function mostAtOnce(harness: Harness, { endedAt, isSure = () => true, from: first = 0 }: Counted): number {
  const lines = harness.ledger.lines()
  const runs = Map.groupBy(lines.keys(), (index) => lines[index]?.worker ?? '')
  const spans = [...runs]
    .filter(([worker]) => isSure(worker))
    .map(([worker, all]) => ({ from: all[0] as number, to: endedAt.get(worker) ?? (all.at(-1) as number) }))
  const counts = lines.keys().map((index) => spans.filter(({ from, to }) => from <= index && index < to).length)
  return Math.max(0, ...counts.drop(first))
}

async function untilPlacesAreBack(harness: Harness): Promise<void> {
  const isEmpty = () => readGates(harness, async (redis, tag) => (await redis.keys(`${tag}:gate*`)).length === 0)
  await waitUntil('every place has come back', isEmpty, endMsMax)
}

function membersOfGate(harness: Harness): Promise<string[]> {
  return readGates(harness, (redis, tag) => redis.zrange(gateKeys(tag, 'gated:runs:all').in, 0, '-1'))
}

/** Asks the server of the first partition, which has the gates of all. */
async function readGates<T>(harness: Harness, read: (redis: Redis, tag: string) => Promise<T>): Promise<T> {
  const connections = await Connections.open(harness.redisUrl, { deadlineMs: 10_000 })
  const tag = tagOf(harness.namespace, 0)
  try {
    return await read(connections.at(tag), tag)
  } finally {
    connections.end()
  }
}
