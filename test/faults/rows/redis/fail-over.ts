/** F20: another server becomes the primary, as Sentinel sees to it. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { Queue } from 'bullmq'
import type { Session } from '../../../../src/client/session/session.ts'
import { partitionKeys } from '../../../../src/store/keys.ts'
import { openRedis } from '../../../../src/store/redis/redis.ts'
import { untilStarted } from '../../../support/fault/harm/harm-nodes.ts'
import type { Harness, NodeProcess } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import type { RedisServer } from '../../../support/redis/redis-server.ts'
import { ask, roleOf, SentinelGroup } from '../../../support/redis/sentinel-group.ts'
import { awaitEvents } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { type Row, type Stage, trial } from '../../row.ts'
import { outcome, submit } from './redis-trouble.ts'

export const failOverRow: Row = {
  id: 'F20',
  promise:
    'after a fail-over of Sentinel all that was replicated ends, nothing is torn, and all find the new primary (I4, I5)',
  done: 'the primary of two replicas is killed under load, also with writes that no replica has; comes back; hands over; answers on, stands still, or dies while the sentinels are away (long form)',
  trials: ({ isLong }) => [
    trial('killed with writes that no replica has', (stage) => failOver(stage, killAhead)),
    trial('comes back as a replica nobody uses', (stage) => failOver(stage, killAndRestart)),
    trial('a replica under open connections', (stage) => failOver(stage, handOver)),
    ...(isLong
      ? [
          trial('replaced, and still answers as a primary', (stage) => failOver(stage, replace)),
          trial('replaced while it holds writes back', (stage) => failOver(stage, replaceAsPlanned)),
          trial('stands still', (stage) => failOver(stage, standStill)),
          trial('killed while the sentinels are away', (stage) => failOver(stage, killUnseen)),
        ]
      : []),
  ],
}

interface Scene {
  readonly group: SentinelGroup
  readonly harness: Harness
  /** The primary at the beginning. */
  readonly old: RedisServer
}

/** Does it to the primary, and returns when there is another; what it resolves with is asked at the end. */
type Deed = (scene: Scene) => Promise<(() => Promise<void>) | undefined>

/** Nodes and a client have more behind them than the new primary knows of. */
const killAhead: Deed = async ({ group, old, harness }) => {
  const replicas = group.servers.filter((server) => server !== old)
  for (const replica of replicas) replica.freeze()
  await ask(old, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'replica'))
  const begun = harness.ledger.lines('leaf').length
  const ahead = await submit(harness, 10)
  await waitUntil('nodes work at them', () => harness.ledger.lines('leaf').length >= begun + 10)
  await old.kill()
  for (const replica of replicas) replica.thaw()
  await group.promotedAfter(old)
  return async () => assert.deepEqual(await outcome(harness, ahead), { lost: ahead.length })
}

const killAndRestart: Deed = async ({ group, old }) => {
  await old.kill()
  await group.promotedAfter(old)
  // It comes back as a primary. A sentinel that still named it would send those there who ask it first.
  await group.untilOnePrimary()
  await old.restart()
  await untilReplica(old)
  return async () => {
    const stats = await ask(old, (redis) => redis.info('commandstats'))
    assert.doesNotMatch(stats, /cmdstat_(eval|bzpopmin|xread)/, 'somebody works with the old primary')
  }
}

/** The sentinels would take ten seconds to make it a replica, and nobody would be connected to it any more. */
const handOver: Deed = async ({ group, old }) => {
  await group.failOver()
  const { port } = await group.takesOverFrom(old)
  await ask(old, async (redis) => {
    await redis.config('RESETSTAT')
    await redis.replicaof('127.0.0.1', port)
  })
  await group.promotedAfter(old)
  return async () => {
    await untilReplica(old)
    const stats = await ask(old, (redis) => redis.info('errorstats'))
    // Redis 6.2 counts what is refused within a script as a failed script.
    assert.match(stats, /errorstat_(READONLY|ERR)/, 'nobody was refused')
  }
}

/** It takes writes for ten seconds more. */
const replace: Deed = async ({ group, old }) => {
  await group.failOver()
  await group.promotedAfter(old)
  return undefined
}

/** Nothing is acknowledged that no replica has. */
const replaceAsPlanned: Deed = async ({ group, old, harness }) => {
  await ask(old, (redis) => redis.call('CLIENT', 'PAUSE', '10000', 'WRITE'))
  const held = submit(harness, 10)
  held.catch(() => {})
  await group.failOver()
  await group.promotedAfter(old)
  return async () => assert.deepEqual(await outcome(harness, await held), { lost: 0 })
}

const standStill: Deed = async ({ group, old }) => {
  old.freeze()
  await group.promotedAfter(old)
  return async () => {
    old.thaw()
    await untilReplica(old)
  }
}

/** Kills all Sentinels, then the primary, and starts Sentinels again before ten seconds are over: they promote no replica that was alone for longer. */
const killUnseen: Deed = async ({ group, old }) => {
  for (const sentinel of group.sentinels) await sentinel.kill()
  await old.kill()
  await pause(8_000)
  for (const sentinel of group.sentinels) await sentinel.restart()
  await group.promotedAfter(old)
  return undefined
}

function untilReplica(server: RedisServer): Promise<unknown> {
  return waitUntil('the old primary is a replica', async () => (await roleOf(server)) === 'slave')
}

async function failOver(stage: Stage, deed: Deed): Promise<void> {
  await using group = await SentinelGroup.start()
  await using harness = await stage.open({ redisUrl: group.url })
  const nodes = await Promise.all(['a', 'b'].map((name) => untilStarted(() => harness.start(name))))
  const [old] = group.servers as [RedisServer]
  const replicated = await submit(harness, 10)
  await untilReplicated(harness)
  const following = follow(replicated[0] as Session)
  await waitUntil('work is under way', () => harness.ledger.lines('leaf').length >= 10)
  const unsure = submit(harness, 10)
  unsure.catch(() => {})
  const check = await deed({ group, harness, old })
  assert.deepEqual(await outcome(harness, replicated), { lost: 0 }, 'what was replicated is lost')
  const { lost } = await outcome(harness, await unsure)
  stage.say(`${lost} of 10 sessions lost that may not have been replicated`)
  assert.equal(await following, 'session.completed')
  await group.untilOnePrimary()
  await goesOn(harness, nodes)
  await check?.()
}

/** What was written up to now is at both replicas. */
async function untilReplicated({ redis, namespace }: Harness): Promise<void> {
  // Redis waits for what was written over the same connection.
  await redis.set(`replicated:${namespace}`, 'yes')
  assert.equal(await redis.wait(2, 10_000), 2)
}

/** The type of the last event, also of a session that ended before it was followed. */
async function follow(session: Session): Promise<string | undefined> {
  let last: string | undefined
  for await (const { type } of awaitEvents(session, { after: '0-0' })) last = type
  return last
}

/** New work is done, jobs of others are taken, nodes hear of cancels, and the records say that all is well. */
async function goesOn(harness: Harness, nodes: readonly NodeProcess[]): Promise<void> {
  const { redis, namespace, tag, redisUrl, client } = harness
  // The harness may still be connected to the old primary, which has new sessions a moment later.
  const connection = openRedis(redisUrl)
  assert.deepEqual(await outcome({ redis: connection, namespace }, await submit(harness, 5)), { lost: 0 })
  const queue = new Queue('submit', { connection, prefix: `${tag}:q` })
  const { id = '' } = await queue.add('tree', { kind: 'echo', input: 1 })
  const sessionId = await waitUntil('a job of another program is taken', async () => {
    const made = (await queue.getJob(id))?.returnvalue as { sessionId: string } | null | undefined
    return made?.sessionId
  })
  await queue.close()
  connection.disconnect()
  assert.partialDeepStrictEqual(await client.sessions.get(sessionId).result(), { status: 'completed', value: 1 })
  const { cancelNotices } = partitionKeys(tag)
  await waitUntil('both nodes hear of cancels', async () => {
    const [, hearers] = (await redis.pubsub('NUMSUB', cancelNotices)) as [string, number]
    return hearers === nodes.length
  })
  assert.ok(
    nodes.every((node) => !node.isGone),
    'a node ended',
  )
  await expectInvariants(redis, namespace)
  assert.deepEqual((await client.audit()).findings, [])
}
