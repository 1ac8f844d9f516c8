/** A Redis that is full, read-only, gone or frozen: a clear error in time, and nothing half written. */
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import type { TransientError } from '../../../src/core/errors.ts'
import { awaitRedis, openRedis } from '../../../src/store/redis/redis.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { calls } from '../support/calls/calls.ts'
import { connectTo } from '../support/connect-to.ts'
import { changes } from '../support/dump.ts'
import { HandTurn } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'

/** Calls give up soon, so that the tests do. */
const impatient = { policy: { leaseMs: 3_000 }, deadlineMs: 1_000 }

/** Long enough to connect again after a refusal. */
const patient = { policy: { leaseMs: 1_500 }, deadlineMs: 1_500 }

async function outcome(call: () => Promise<unknown>): Promise<TransientError | 'done'> {
  try {
    await call()
    return 'done'
  } catch (error) {
    return error as TransientError
  }
}

describe('a Redis that is full', () => {
  let server: RedisServer
  /** As many servers as tests run beside each other, because each of them fills one. */
  let servers: RedisServer[]
  beforeAll(async () => {
    servers = await Promise.all(Array.from({ length: 5 }, () => RedisServer.start({ durability: 'none' })))
    server = servers[0] as RedisServer
  })
  afterAll(async () => {
    await Promise.all(servers.map((one) => one[Symbol.asyncDispose]()))
  })

  /** A server that no other test of this group uses at the same time. */
  async function withServer(body: (server: RedisServer) => Promise<void>): Promise<void> {
    const own = servers.pop()
    if (own === undefined) throw new Error('More tests run beside each other than there are servers.')
    try {
      await body(own)
    } finally {
      servers.push(own)
    }
  }

  test.concurrent.each(calls)(
    'a full Redis refuses the whole call or none of it, and takes it when there is room: $name',
    (call) =>
      withServer(async (server) => {
        await using expected = await Place.open({ ...impatient, redisUrl: server.url })
        await using place = await Place.open({ ...impatient, redisUrl: server.url })
        const [makeExpected, make] = await Promise.all([call.prepare(expected), call.prepare(place)])
        const before = await place.dump()
        await place.redis.config('SET', 'maxmemory', '1')
        const told = await outcome(make)
        const meanwhile = await place.dump()
        await place.redis.config('SET', 'maxmemory', '0')
        const refused = told !== 'done'
        const said = refused ? `${told.name} ${told.code}: ${told.message}` : told
        expect({ said, changed: refused ? changes(before, meanwhile) : {} }).toEqual({
          said: expect.stringMatching(
            /^done$|^TransientError store_refused: Redis refused \([\w -]+: OOM .*\)\. It is full: raise/,
          ),
          changed: {},
        })
        // Both in one moment, so that their times are the same.
        await makeExpected()
        if (refused) await make()
        const [seen, wanted] = await Promise.all([place.dump(), expected.dump()])
        expect(seen).toEqual(wanted)
      }),
  )

  test('a full Redis takes a call that waited for room within its deadline', async () => {
    await using place = await Place.open({ redisUrl: server.url })
    const { root } = await place.create()
    await place.redis.config('SET', 'maxmemory', '1')
    const posting = place.post(root, 'hello')
    await place.redis.config('SET', 'maxmemory', '0')
    expect(await posting).toMatchObject({ kind: 'ok', position: 1 })
  })

  test('a full Redis can be pruned, which makes room: even of a session with more workers than one call may look at', async () => {
    await using place = await Place.open({ redisUrl: server.url, policy: { sweepBatch: 1, leaseMs: 5_000 } })
    const { root } = await place.create()
    const node = place.node()
    const turn = await node.claim()
    const spawns = Array.from({ length: 30 }, (_, index) =>
      place.child(root, index + 1, `c${index}`, { detached: true }),
    )
    await turn.complete({ spawns })
    for (const _ of spawns) await (await node.claim()).complete()
    await place.redis.config('SET', 'maxmemory', '1')
    const pruned = await place.sessions.prune(0).catch(String)
    await place.redis.config('SET', 'maxmemory', '0')
    expect(pruned).toBe(1)
  })

  test('a full Redis is pruned by its nodes, even if sessions that are kept come first', async () => {
    const policy = { ...patient.policy, sweepBatch: 1, retentionMs: 0, pruneEveryMs: 0 }
    await using place = await Place.open({ redisUrl: server.url, policy })
    const node = place.node()
    await place.create({ label: 'kept' })
    const turn = await node.claim()
    await place.create({ label: 'ended' })
    await (await node.claim()).complete()
    await place.redis.config('SET', 'maxmemory', '1')
    const prune = async (): Promise<boolean> => (await node.upkeep.prune()).done || prune()
    const done = await prune().catch(String)
    await place.redis.config('SET', 'maxmemory', '0')
    expect([done, await place.redis.zcard(place.keys.sessions)]).toEqual([true, 1])
    await turn.complete()
  })

  test('a full Redis still shows the waiting messages of a mailbox', async () => {
    await using place = await Place.open({ redisUrl: server.url })
    const { root } = await place.create()
    await place.redis.config('SET', 'maxmemory', '1')
    const told = await outcome(() => place.inspect.mailbox(root, 10))
    await place.redis.config('SET', 'maxmemory', '0')
    expect(told).toBe('done')
  })
})

describe('a read-only replica', () => {
  test('a read-only replica refuses in words that say where to go, and nothing is written', async () => {
    const atOnce = ['repl-diskless-sync-delay 0', ...(inject('hasFunctions') ? ['shutdown-timeout 0'] : [])]
    await using primary = await RedisServer.start({ durability: 'none', settings: atOnce })
    await using server = await RedisServer.start({ durability: 'none' })
    await using origin = await Place.open({ redisUrl: primary.url })
    const { root } = await origin.create()
    const { assignment } = await origin.node().claim()
    const admin = openRedis(server.url)
    await admin.replicaof('127.0.0.1', primary.port)
    await using place = await Place.open({ redisUrl: server.url, namespace: origin.namespace, ...patient })
    await waitUntil('the replica has the record', async () => (await place.record(root)).status === 'running')
    const before = await place.dump()
    const turn = new HandTurn(place.node(), assignment)
    for (const make of [
      () => place.create({ label: 'two' }),
      () => place.post(root, 'hello'),
      () => turn.commit({ entries: ['{}'] }),
    ]) {
      expect(await outcome(make)).toMatchObject({
        name: 'TransientError',
        code: 'store_refused',
        message: expect.stringMatching(/read-only replica: point TROUPE_REDIS_URL \(redisUrl in code\) at the primary/),
      })
    }
    expect(await place.dump()).toEqual(before)
    await admin.replicaof('NO', 'ONE')
    expect(await place.post(root, 'hello')).toMatchObject({ kind: 'ok' })
    admin.disconnect()
  })

  test('a read-only replica that refuses many commands at once has their connection opened anew, and Node warns of no leak', async () => {
    await using server = await RedisServer.start({ durability: 'none' })
    await using proxy = await TcpProxy.start(server.url)
    const redis = openRedis(proxy.url)
    await redis.replicaof('127.0.0.1', '1')
    const warnings: Error[] = []
    const hear = (warning: Error) => warnings.push(warning)
    process.on('warning', hear)
    onTestFinished(() => void process.off('warning', hear))
    const told = await Promise.all(Array.from({ length: 20 }, () => redis.set('any', 1).catch(String)))
    expect(new Set(told)).toEqual(new Set([expect.stringContaining('READONLY')]))
    await redis.ping()
    expect(proxy.opened).toBe(2)
    expect(warnings).toEqual([])
    redis.disconnect()
  })

  test('a read-only replica is an error for a client that sets up its namespace there', async () => {
    await using server = await RedisServer.start({ durability: 'none' })
    const redis = openRedis(server.url)
    await redis.replicaof('127.0.0.1', '1')
    await expect(connectTo(server.url)).rejects.toThrow(
      /read-only replica: point TROUPE_REDIS_URL \(redisUrl in code\) at the primary/,
    )
    redis.disconnect()
  })
})

describe('a Redis that does not answer', () => {
  test('a Redis that does not answer is reported within the deadline if nothing listens', async () => {
    const redis = openRedis('redis://127.0.0.1:1')
    await expect(awaitRedis(redis, 'redis://user:secret@127.0.0.1:1', 300)).rejects.toMatchObject({
      code: 'store_unavailable',
      retryable: true,
      message: expect.stringMatching(
        /^Redis at redis:\/\/user:\*\*\*@127\.0\.0\.1:1 does not answer \(.*\)\. Start it, or set TROUPE_REDIS_URL \(redisUrl in code\)\.$/,
      ),
    })
    redis.disconnect()
  })

  test('a Redis that does not answer is reported within the deadline if a server listens and never answers', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const address = silent.address()
    const url = `redis://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
    await expect(connectTo(url, { deadlineMs: 300 })).rejects.toMatchObject({ code: 'store_unavailable' })
    silent.close()
  })

  test('a Redis that does not answer fails each call within its deadline, and serves the next one when it is back, on the same connection', async () => {
    await using server = await RedisServer.start()
    await using place = await Place.open({ deadlineMs: 2_000, redisUrl: server.url })
    const { root } = await place.create()
    await server.kill()
    const told = await outcome(() => place.post(root, 'hello', 'key'))
    expect(told).toMatchObject({ code: 'store_unavailable', retryable: true })
    expect((told as Error).message).toMatch(/^Redis cannot be reached \(post: .*\)\./)
    await server.restart()
    await awaitRedis(place.redis, server.url, 20_000)
    expect(await place.post(root, 'hello', 'key')).toMatchObject({ position: 1 })
    expect(await place.redis.llen(place.workerKeys(root).inbox)).toBe(2)
  })

  test('a Redis that stops answering and goes on later does a call once, even if it was abandoned and made again under the same key', async () => {
    await using server = await RedisServer.start({ durability: 'none' })
    await using place = await Place.open({ deadlineMs: 2_000, redisUrl: server.url })
    const { root } = await place.create()
    server.freeze()
    expect(await outcome(() => place.post(root, 'hello', 'key'))).toMatchObject({ code: 'store_unavailable' })
    server.thaw()
    await awaitRedis(place.redis, server.url, 20_000)
    expect(await place.post(root, 'hello', 'key')).toMatchObject({ position: 1 })
    expect(await place.redis.llen(place.workerKeys(root).inbox)).toBe(2)
  })

  test('a server that forgot the scripts gets them again', async () => {
    await using server = await RedisServer.start({ durability: 'none' })
    await using place = await Place.open({ redisUrl: server.url })
    const { root } = await place.create()
    if (inject('hasFunctions')) await place.redis.function('FLUSH')
    await place.redis.script('FLUSH')
    expect(await place.post(root, 'hello')).toMatchObject({ kind: 'ok' })
  })
})
