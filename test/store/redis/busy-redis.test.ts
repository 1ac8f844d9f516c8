/** A Redis that is busy with a long script is asked again, by whoever asks it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectInternal, type Troupe } from '../../../src/client/client.ts'
import { newestEntry } from '../../../src/store/event/event-pages.ts'
import { hearChanges } from '../../../src/store/person/cancel-notices.ts'
import { hearChannels } from '../../../src/store/redis/channels.ts'
import { openRedis, type Redis } from '../../../src/store/redis/redis.ts'
import type { RedisUpkeepStore } from '../../../src/store/upkeep-store.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { type MadeSession, Place } from '../support/place.ts'

describe('a Redis that is busy with a script of somebody else', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start({ durability: 'none', settings: ['lua-time-limit 10'] })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })

  /** From here on Redis refuses nearly all commands, until the function that this returns is called. */
  async function occupy(): Promise<() => Promise<void>> {
    const [spinning, looking] = [openRedis(server.url), openRedis(server.url)]
    // A connection that is made while Redis is busy is refused as a whole.
    await Promise.all([spinning.ping(), looking.ping()])
    const ended = spinning.eval('while true do end', 0).catch(() => {})
    const answer = () => looking.get('any').catch(String)
    await waitUntil('Redis is busy', async () => (await answer())?.includes('BUSY'))
    return async () => {
      await looking.script('KILL')
      await ended
      for (const redis of [spinning, looking]) redis.disconnect()
    }
  }

  /** What a call gives that begins while Redis is busy. Redis is let go once `isRefused` says that it refused the call. */
  async function begunWhileBusy<T>(isRefused: () => boolean, call: () => Promise<T>): Promise<T> {
    const release = await occupy()
    const untilRefused = async () => {
      try {
        await waitUntil('the call was refused', isRefused)
      } finally {
        await release()
      }
    }
    const [answer] = await Promise.all([call(), untilRefused()])
    return answer
  }

  /** For calls that alone use the proxy: each reply from now on is a refusal. */
  function someReply(proxy: TcpProxy): () => boolean {
    let replies = 0
    proxy.resetWhen(() => {
      replies++
      return false
    })
    return () => replies > 0
  }

  /** Beside the client nobody uses the proxy. */
  async function clientOf(place: Place, proxy: TcpProxy): Promise<Troupe> {
    return connectInternal({ redisUrl: proxy.url, namespace: place.namespace, waker: { wake() {} } })
  }

  const list = (client: Troupe) => client.sessions.list()
  const report = (client: Troupe, { root }: MadeSession) => client.workers.get(root).report()
  const audit = (client: Troupe, { id }: MadeSession) => client.audit({ sessionId: id })
  const firstEvent = async (client: Troupe, { id }: MadeSession) => {
    for await (const event of client.sessions.get(id).events({ after: '0-1', transient: false })) return event
  }

  const reads: readonly [string, (client: Troupe, made: MadeSession) => Promise<unknown>, object][] = [
    ['a list of sessions', list, [{ name: 'one', state: 'active' }]],
    ['a report', report, { name: 'one', status: 'queued' }],
    ['an audit', audit, { sessions: 1, workers: 1, findings: [] }],
    ['past events', firstEvent, { type: 'session.created' }],
  ]

  test.each(reads)(
    'a busy Redis is called again by a client that reads, until it answers: %s',
    async (_, read, expected) => {
      await using place = await Place.open({ redisUrl: server.url })
      const made = await place.create()
      await using proxy = await TcpProxy.start(server.url)
      await using client = await clientOf(place, proxy)
      // From here on the connections are open that the read needs.
      await read(client, made)
      const answer = await begunWhileBusy(someReply(proxy), () => read(client, made))
      expect(answer).toMatchObject(expected)
    },
  )

  const upkeep: readonly [string, (store: RedisUpkeepStore) => Promise<unknown>][] = [
    ['registering kinds', (store) => store.announce(1, [{ kind: 'echo', pool: 'default', description: '' }])],
    ['finishing cancels', (store) => store.finishCancelled()],
    ['reading kinds', (store) => store.kindPools()],
  ]

  test.each(upkeep)('a busy Redis is called again by a node that starts or sweeps: %s', async (_, call) => {
    await using proxy = await TcpProxy.start(server.url)
    await using place = await Place.open({ redisUrl: server.url, wireUrl: proxy.url })
    const { id } = await place.create()
    await place.redis.hset(place.keys.kinds, 'echo', 'default {"description":""}')
    await place.sessions.cancel(id, 'enough')
    const store = place.node().upkeep
    await begunWhileBusy(someReply(proxy), () => call(store))
    await store.finishCancelled()
    expect(await place.session(id)).toMatchObject({ state: 'cancelled' })
    expect(await store.kindPools()).toEqual(new Map([['echo', 'default']]))
  })

  test('a busy Redis is called again by a node that got a message as a job, for the session of its worker', async () => {
    await using proxy = await TcpProxy.start(server.url)
    await using place = await Place.open({ redisUrl: server.url, wireUrl: proxy.url })
    const { id, root } = await place.create()
    const session = await begunWhileBusy(someReply(proxy), () => place.sessions.sessionOf(root))
    expect(session).toBe(id)
  })

  test('a busy Redis is called again by a client that begins to follow events', async () => {
    await using place = await Place.open({ redisUrl: server.url })
    const newest = await place.redis.xadd(place.keys.events, '*', 'one', '[]')
    await using proxy = await TcpProxy.start(server.url)
    const connection = openRedis(proxy.url)
    await connection.ping()
    expect(await begunWhileBusy(someReply(proxy), () => newestEntry(connection, place.keys, 5_000))).toBe(newest)
    connection.disconnect()
  })

  test('a busy Redis is called again by a node that begins to listen for cancels and wake-ups', async () => {
    await using place = await Place.open({ redisUrl: server.url })
    await using proxy = await TcpProxy.start(server.url)
    const connection = openRedis(proxy.url)
    await connection.ping()
    const heard: string[] = []
    const hearWakeups = () => {
      const handlers = new Map([[place.keys.wake('gpu', 'n-1'), (id: string) => void heard.push(id)]])
      return hearChannels(() => connection, handlers, 'wake-ups', 5_000)
    }
    await begunWhileBusy(someReply(proxy), hearWakeups)
    await hearChanges(
      () => connection,
      [place],
      (_, sessionId) => heard.push(sessionId),
      5_000,
    )
    await place.redis.publish(place.keys.wake('gpu', 'n-2'), 'not mine')
    await place.redis.publish(place.keys.cancelNotices, 'a session')
    await place.redis.publish(place.keys.wake('gpu', 'n-1'), 'a wake-up')
    await waitUntil('both were heard', () => heard.length > 1)
    expect(heard).toEqual(['a session', 'a wake-up'])
    connection.disconnect()
  })

  test('a busy Redis that refuses a new connection keeps nothing that waits for it from being asked', async () => {
    await using proxy = await TcpProxy.start(server.url)
    let redis: Redis | undefined
    const ask = () => {
      redis = openRedis(proxy.url)
      return redis.get('any')
    }
    // A client that was refused connects again.
    expect(await begunWhileBusy(() => proxy.opened > 1, ask)).toBe(null)
    redis?.disconnect()
  })

  test('a busy Redis that refuses a new connection gives a client its first result once it answers', async () => {
    await using place = await Place.open({ redisUrl: server.url })
    const { id } = await place.create()
    await place.sessions.cancel(id, 'enough')
    await place.node().upkeep.finishCancelled()
    await using proxy = await TcpProxy.start(server.url)
    await using client = await clientOf(place, proxy)
    const openedFirst = proxy.opened + 1
    const isRefused = () => proxy.opened > openedFirst
    const result = await begunWhileBusy(isRefused, () => client.sessions.get(id).result())
    expect(result).toEqual({ status: 'cancelled', run: 1 })
  })
})
