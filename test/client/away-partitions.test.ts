/** What a client does in all partitions of a cluster while one of its servers stands still, or is away. */
import { tmpdir } from 'node:os'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startApi } from '../../src/api/api.ts'
import { connectInternal, type Troupe } from '../../src/client/client.ts'
import { judge } from '../../src/client/health/findings.ts'
import { startNode } from '../../src/compose.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { msOfDay } from '../../src/core/hours.ts'
import { partitionOf, partitionOfKey } from '../../src/core/ids.ts'
import { tagOf, usageKey } from '../../src/store/keys.ts'
import { RunningCommand } from '../cli/command-line.ts'
import { newNamespace } from '../support/namespace.ts'
import { RedisCluster } from '../support/redis/redis-cluster.ts'
import type { RedisServer } from '../support/redis/redis-server.ts'
import { ask } from '../support/redis/sentinel-group.ts'
import { waitUntil } from '../support/time/wait-until.ts'

const partitions = 6

let cluster: RedisCluster
beforeAll(async () => {
  const settings = ['cluster-require-full-coverage no']
  cluster = await RedisCluster.start({ primaries: 3, replicas: 0, settings })
})
afterAll(() => cluster[Symbol.asyncDispose]())

/**
 * A namespace, and a server that has some of its partitions: the first among them, or not. A client that connects needs the first one, which has the
 * number of all.
 */
async function placed(which: 'first' | 'another' = 'another') {
  for (;;) {
    const namespace = newNamespace()
    const homes = await Promise.all(
      Array.from({ length: partitions }, (_, partition) => cluster.primaryOf(tagOf(namespace, partition))),
    )
    const [first] = homes as [RedisServer]
    const other = homes.find((home) => home !== first)
    if (other === undefined) continue
    const victim = which === 'first' ? first : other
    const away = homes.flatMap((home, partition) => (home === victim ? [partition] : []))
    return { namespace, victim, away }
  }
}

async function killed(victim: RedisServer): Promise<void> {
  await victim.kill()
  onTestFinished(async () => {
    await victim.restart()
    await waitUntil('the cluster is whole', () => cluster.isWhole())
  })
}

test('while a server stands still, sessions without a key are created at the others (KEY-HOME-2)', async () => {
  const { namespace, victim, away } = await placed()
  await using client = await connectInternal({ redisUrl: cluster.url, namespace, partitions })
  victim.freeze()
  const created = await Promise.all(
    Array.from({ length: 20 }, () => client.sessions.create({ kind: 'nobody', input: null })),
  )
  victim.thaw()
  await waitUntil('the cluster is whole', () => cluster.isWhole())
  expect(created.map(({ id }) => away.includes(partitionOf(id)))).toEqual(Array.from(created, () => false))
  expect(await client.sessions.list()).toHaveLength(20)
})

test('while a server is away, sessions are created and cancelled at the others, and all partitions are listed', async () => {
  const { namespace, victim, away } = await placed()
  const place = { redisUrl: cluster.url, namespace, partitions }
  await using client = await connectInternal({ ...place, deadlineMs: 30_000 })
  await using looking = await connectInternal({ ...place, deadlineMs: 1_000 })
  const all = await client.partitions.list()
  await killed(victim)
  // What lists the partitions says which of them are away.
  const seen = all.map((row) => (away.includes(row.partition) ? { ...row, sessions: null, nodes: null } : row))
  await expect.poll(() => looking.partitions.list()).toEqual(seen)
  await using changing = await connectInternal({
    redisUrl: cluster.url,
    namespace,
    purpose: 'change',
    deadlineMs: 3_000,
  })
  const sessions = await Promise.all(
    Array.from({ length: 40 }, () => client.sessions.create({ kind: 'nobody', input: null })),
  )
  expect(sessions.map(({ id }) => away.includes(partitionOf(id)))).toEqual(Array.from(sessions, () => false))
  const [first] = sessions as [(typeof sessions)[number]]
  await changing.sessions.get(first.id).cancel()
  await expect(changing.pause()).rejects.toThrow(
    /pausing all sessions in partition .* The partitions that answered have done it/,
  )
})

/** What is found in the other partitions says which are away. */
async function findsAway(client: Troupe, partitions: readonly number[]): Promise<void> {
  const health = await client.health()
  expect(health).toMatchObject({ away: partitions, kinds: [], submitted: 0 })
  expect(judge(health)).toContainEqual(
    expect.objectContaining({ code: 'partitions_away', level: 'problem', facts: { partitions } }),
  )
}

test('while a server is away, lists show what the other partitions have, for those who take that', async () => {
  const { namespace, victim: gone, away } = await placed()
  await using client = await connectInternal({ redisUrl: cluster.url, namespace, partitions, deadlineMs: 20_000 })
  const created = await Promise.all(
    Array.from({ length: 30 }, () => client.sessions.create({ kind: 'nobody', input: null })),
  )
  const here = created.map(({ id }) => id).filter((id) => !away.includes(partitionOf(id)))
  await using looking = await connectInternal({ redisUrl: cluster.url, namespace, purpose: 'look', deadlineMs: 2_000 })
  await using api = await startApi({ redisUrl: cluster.url, namespace, port: 0 })
  await killed(gone)

  const env = { TROUPE_REDIS_URL: cluster.url, TROUPE_NAMESPACE: namespace }
  const command = new RunningCommand(['session', 'list', '--limit', '50', '--json'], { cwd: tmpdir(), env })
  const commands = [['usage'], ['ask', 'list'], ['mailbox', 'dead']].map(
    (args) => new RunningCommand(args, { cwd: tmpdir(), env }).ended,
  )
  const { sessions, workers, pools, asks, approvals } = looking
  const usageOf = looking.usage.bind(looking)
  const lists = [sessions.list, sessions.page, workers.list, pools.list, usageOf, looking.deadLetters.bind(looking)]
  const failed = sessions.list().catch((error: unknown) => error)
  await Promise.all(
    [...lists, asks.list.bind(asks), approvals.list.bind(approvals)].map(async (list) => {
      const told: number[] = []
      await list({ onAway: (partition) => void told.push(partition) })
      expect(told).toEqual(away)
    }),
  )
  expect(await failed).toMatchObject({ retryable: true })
  const listed = await command.ended
  const [last, ...shown] = listed.objects.toReversed()
  expect(last).toMatchObject({ type: 'error', code: 'store_unavailable' })
  expect(new Set(shown.map(({ sessionId }) => sessionId))).toEqual(new Set(here))
  const replies = await Promise.all(
    ['sessions?limit=50', 'workers', 'pools', 'usage', 'asks', 'approvals', 'dead?open=true'].map(async (list) => {
      const reply = await fetch(`${api.url}/v1/${list}`)
      const body = (await reply.json()) as { readonly sessions?: readonly { readonly id: string }[] }
      return { status: reply.status, body }
    }),
  )
  expect(replies).toMatchObject(Array.from(replies, () => ({ status: 200, body: { away } })))
  expect(new Set(replies[0]?.body.sessions?.map(({ id }) => id))).toEqual(new Set(here))
  await findsAway(looking, away)
  const autoscaled = await fetch(`${api.url}/v1/autoscale?pool=default`)
  const { detail } = (await autoscaled.json()) as { readonly detail: string }
  // A count without the work of a partition would stop nodes that are needed.
  expect([autoscaled.status, away.some((partition) => detail.includes(`partition ${partition}`))]).toEqual([503, true])
  const lacks = `the list lacks what is in ${away.length === 1 ? 'partition' : 'partitions'} ${away.join(', ')}, which`
  for (const ended of [listed, ...(await Promise.all(commands))])
    expect(ended).toMatchObject({ code: 69, stderr: expect.stringContaining(lacks) })
})

test('while the first partition is away, others tell of nodes and kinds, and of the pools and usage that they have (REGISTER-1)', {
  timeout: 60_000,
}, async () => {
  const { namespace, victim, away } = await placed('first')
  const place = { redisUrl: cluster.url, namespace }
  const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
  const logger = pino({ level: 'silent' })
  const node = await startNode({ ...place, partitions, workers: { echo }, logger })
  onTestFinished(() => node.stop({ force: true }))
  await using client = await connectInternal({ ...place, deadlineMs: 2_000 })
  await using other = await connectInternal({ ...place, deadlineMs: 2_000 })
  await using api = await startApi({ ...place, port: 0 })
  // The server of the API opens its client with the first request.
  expect((await fetch(`${api.url}/readyz`)).status).toBe(200)
  const listed = await client.partitions.list()
  // A key leads to one partition, wherever the others are.
  const [idempotencyKey] = Array.from({ length: 99 }, (_, number) => `key ${number}`).filter(
    (key) => !away.includes(partitionOfKey(key, partitions)),
  )
  const { id: sessionId } = await client.sessions.create({ kind: 'echo', input: null, idempotencyKey })
  const used = Array.from({ length: partitions }, async (_, partition) => {
    const key = usageKey(tagOf(namespace, partition), Math.floor(Date.now() / msOfDay))
    await ask(await cluster.primaryOf(key), (redis) => redis.hset(key, '0 echo test/m', '1 10 2 5 0'))
  })
  await Promise.all(used)
  await killed(victim)

  const env = { TROUPE_REDIS_URL: cluster.url, TROUPE_NAMESPACE: namespace }
  const command = new RunningCommand(['node', 'list'], { cwd: tmpdir(), env })
  const told: number[] = []
  const onAway = (partition: number) => void told.push(partition)
  const [rows, audited, usage, nodes, kinds, pools, ...replies] = await Promise.all([
    client.partitions.list(),
    client.audit({ sessionId }),
    client.usage({ by: ['kind'], onAway: () => {} }),
    client.nodes(),
    client.kinds(),
    client.pools.list({ onAway }),
    ...['readyz', 'v1/nodes', 'v1/kinds'].map((path) => fetch(`${api.url}/${path}`)),
  ])
  expect(nodes).toMatchObject([{ id: node.id }])
  expect(kinds).toMatchObject([{ kind: 'echo', nodes: 1, hosted: true }])
  expect(pools).toMatchObject([{ pool: 'default', nodes: 1 }])
  expect(told).toEqual(away)
  expect(rows.map(({ partition, sessions }) => sessions === null && partition)).toEqual(
    listed.map(({ partition }) => away.includes(partition) && partition),
  )
  expect(audited).toMatchObject({ sessions: 1, findings: [] })
  expect((await other.sessions.create({ kind: 'echo', input: null, idempotencyKey })).id).toBe(sessionId)
  expect(usage).toMatchObject([{ kind: 'echo', modelCalls: partitions - away.length }])
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
  const why =
    'Redis cannot be reached (checking the set-up in partition 0, which has the number of all: no answer within'
  expect(await command.ended).toMatchObject({ code: 69, stderr: expect.stringContaining(why) })
})
