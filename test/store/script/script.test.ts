/** Scripts as functions: arguments by name, errors of Redis as errors of troupe. */
import { performance } from 'node:perf_hooks'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { InvariantError, TransientError } from '../../../src/core/errors.ts'
import { defaultSessionLimits, encodeLimits } from '../../../src/core/policy.ts'
import { guarded, guardedReads } from '../../../src/store/redis/guarded.ts'
import { endRedis, openRedis, type Redis, withDeadline } from '../../../src/store/redis/redis.ts'
import { storeError } from '../../../src/store/redis/store-error.ts'
import { repliesOf } from '../../../src/store/script/replies.ts'
import { ScriptCaller } from '../../../src/store/script/script.ts'
import { closeScript, postScript } from '../../../src/store/script/scripts.ts'
import { loadScripts } from '../../support/redis/load-scripts.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { Place } from '../support/place.ts'

test('in a cluster, where partitions are at several servers, an error of a script names the partition', async () => {
  await using place = await Place.open()
  const { tag, events } = place.keys
  await place.redis.set(`${tag}:overwritten`, 'no record')
  const keys = { root: `${tag}:overwritten`, events, ends: `${tag}:ends` }
  const said = (isInCluster: boolean) =>
    new ScriptCaller(place.redis, false, undefined, isInCluster)
      .call(closeScript, keys, { sessionId: 'none', note: '{}', event: '[]' }, { deadlineMs: 5_000 })
      .catch(({ message }: Error) => /\(.*?: /.exec(message)?.[0])
  expect([await said(false), await said(true)]).toEqual(['(close: ', '(close in partition 0: '])
})

describe('storeError', () => {
  /** The error as Redis 7 says it, and as Redis 6.2 says it from within a script. */
  const phrasings = (text: string) => [
    text,
    `${text} script: 0123456789abcdef, on @user_script:12.`,
    `ERR Error running script (call to f_0123456789abcdef): @user_script:12: @user_script: 12: -${text}`,
  ]

  test.each([
    ["OOM command not allowed when used memory > 'maxmemory'.", /It is full: raise maxmemory or prune sessions/],
    [
      "READONLY You can't write against a read only replica.",
      /point TROUPE_REDIS_URL \(redisUrl in code\) at the primary/,
    ],
    [
      'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist on disk.',
      /cannot save to disk/,
    ],
    ['LOADING Redis is loading the dataset in memory', /Try again\. Nothing was written\.$/],
    [
      'TRYAGAIN Multiple keys request during rehashing of slot',
      /A slot of the cluster is on its way to another server\. Nothing was written\.$/,
    ],
    ['BUSY Redis is busy running a script.', /Try again\. Nothing was written\.$/],
    [
      'CLUSTERDOWN The cluster is down',
      /`troupe doctor` names the servers that do not answer\. Nothing was written\.$/,
    ],
    ['NOREPLICAS Not enough good replicas to write.', /min-replicas-to-write\): start them, .* Nothing was written\.$/],
  ])('%s is a refusal that may pass, with what to do', (text, advice) => {
    for (const message of phrasings(text)) {
      const error = storeError(new Error(message), 'post.lua')
      expect(error).toBeInstanceOf(TransientError)
      expect(error).toMatchObject({ code: 'store_refused', retryable: true })
      expect(error.message).toMatch(/^Redis refused \(post: /)
      expect(error.message).toMatch(advice)
    }
  })

  test.each([
    'connect ECONNREFUSED 127.0.0.1:6379',
    'read ECONNRESET',
    'Connection is closed.',
    'no answer within 300 ms',
  ])('%s is a Redis that cannot be reached', (text) => {
    expect(storeError(new Error(text), 'commit.lua')).toMatchObject({
      code: 'store_unavailable',
      retryable: true,
      message: expect.stringMatching(
        /^Redis cannot be reached \(commit: .*\)\. `troupe doctor` tells which server does not answer\.$/,
      ),
    })
  })

  test('a key of another type was written by another program, and audit names it', () => {
    const wrong = new Error('WRONGTYPE Operation against a key holding the wrong kind of value')
    const error = storeError(wrong, 'reading kinds')
    expect(error).toBeInstanceOf(InvariantError)
    expect(error.message).toMatch(
      /\(reading kinds: WRONGTYPE .*\)\. Another program wrote .*: `troupe audit` names it\.$/,
    )
    expect(error).toMatchObject({ retryable: false, details: { damaged: expect.any(String) } })
  })

  test('anything else is a fault of troupe, and is not tried again', () => {
    const error = storeError(new Error('ERR unknown command'), 'claim.lua')
    expect(error).toBeInstanceOf(InvariantError)
    expect(error).toMatchObject({ retryable: false, message: expect.stringContaining('claim: ERR'), details: {} })
  })
})

describe('a call', () => {
  test('a call of a script that fails for another reason is not repeated', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    await place.redis.del(place.workerKeys(root).inbox)
    await place.redis.set(place.workerKeys(root).inbox, 'a text')
    await loadScripts(place.redis)
    const before = place.wire.sent
    await expect(place.post(root, 'hello')).rejects.toThrow(InvariantError)
    expect(place.wire.sent - before).toBe(1)
  })

  test('a call sends the keys, the header and the arguments in the order of the descriptor', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    await place.post(root, 'hello')
    const { sha, keyCount, flat } = place.wire.last
    expect(sha).toBe(postScript.sha)
    expect(keyCount).toBe(postScript.keys.length)
    expect(flat).toHaveLength(postScript.keys.length + 1 + postScript.args.length)
    expect(flat[0]).toBe(place.workerKeys(root).record)
    expect(JSON.parse(String(flat[keyCount]))).toMatchObject({ worker: root })
    expect(flat.slice(keyCount + 1)).toEqual([
      expect.stringContaining('hello'),
      expect.stringContaining('message.accepted'),
    ])
  })

  test('a call that is refused until its deadline says why it was refused, even if the last attempt was not answered', async () => {
    await using place = await Place.open({ deadlineMs: 1_500 })
    const { root } = await place.create()
    place.wire.replace(postScript.sha, "return redis.error_reply('READONLY You may not write here')")
    for (let round = 0; round < 2; round++)
      await expect(place.post(root, 'hello')).rejects.toMatchObject({
        code: 'store_refused',
        message: expect.stringMatching(/You may not write here\)\. It is a read-only replica/),
      })
  })

  test('a call that was refused, and then not answered, says why it was refused', async () => {
    let asked = 0
    const ask = () =>
      asked++ === 0 ? Promise.reject(new Error('READONLY You may not write here')) : new Promise(() => {})
    const caller = new ScriptCaller({ fcall: ask, evalsha: ask } as unknown as Redis)
    const keys = { record: 'r', inbox: 'u', run: 'n', events: 'e', idem: 'i' }
    const args = { worker: 'w', mail: '', idemMs: 1, seed: '', wakeupMs: 1, event: '', asked: '', when: undefined }
    await expect(caller.call(postScript, keys, args, { deadlineMs: 2_000 })).rejects.toMatchObject({
      code: 'store_refused',
      message: expect.stringMatching(/You may not write here\)\. .* Then it did not answer in time\.$/),
    })
    expect(asked).toBe(2)
  })

  test('a call that was refused, and then failed for good, says why it failed', async () => {
    let asked = 0
    const words = () => (asked++ === 0 ? 'OOM command not allowed' : 'NOPERM this user has no permissions')
    const ask = () => Promise.reject(new Error(words()))
    const caller = new ScriptCaller({ fcall: ask, evalsha: ask } as unknown as Redis)
    const keys = { record: 'r', inbox: 'u', run: 'n', events: 'e', idem: 'i' }
    const args = { worker: 'w', mail: '', idemMs: 1, seed: '', wakeupMs: 1, event: '', asked: '', when: undefined }
    await expect(caller.call(postScript, keys, args, { deadlineMs: 20_000 })).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('NOPERM'),
    })
    expect(asked).toBe(2)
  })

  test('a call that only reads is made again while Redis says "not now", and no longer than its deadline', async () => {
    let asked = 0
    const read = async () => {
      if (++asked < 3) throw new Error('LOADING Redis is loading the dataset in memory')
      return 'read'
    }
    expect(await guarded('reading', read, 20_000)).toBe('read')
    const refused = async () => {
      throw new Error('LOADING for ever')
    }
    await expect(guarded('reading', refused, 50)).rejects.toMatchObject({ code: 'store_refused' })
    let tries = 0
    const refusedOnce = () => (tries++ === 0 ? refused() : new Promise<never>(() => {}))
    await expect(guarded('reading', refusedOnce, 2_000)).rejects.toMatchObject({
      code: 'store_refused',
      message: expect.stringMatching(/^Redis refused \(reading: .* Then it did not answer in time\.$/),
    })
  })

  test('a call that reads several things at once is made again if the connection ends between their answers', async () => {
    await using place = await Place.open()
    await using proxy = await TcpProxy.start(place.redisUrl)
    const redis = openRedis(proxy.url)
    onTestFinished(() => redis.disconnect())
    const { dead: key } = place.keys
    await place.redis.set(key, 'x'.repeat(4_000_000))
    await redis.ping()
    let pieces = 0
    proxy.resetWhen(() => ++pieces === 2)
    const read = () => repliesOf(redis.pipeline().exists(key).get(key).exists(key))
    const [first, text, last] = await guarded('reading', read, 20_000)
    expect([first, String(text).length, last]).toEqual([1, 4_000_000, 1])
    expect(proxy.opened).toBe(2)
  })

  test('a call is not repeated after another error: the error comes at once', async () => {
    let asked = 0
    const fails = async () => {
      asked++
      throw new Error('ECONNREFUSED')
    }
    await expect(guarded('reading', fails, 20_000)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(asked).toBe(1)
  })

  test('a call or a read whose time is nearly over names all of the time that its caller gave', async () => {
    const never = () => new Promise<never>(() => {})
    const since = performance.now() - 60_000
    const late = 'no answer within 60000 ms'
    await expect(guarded('reading', never, 60_000, since)).rejects.toThrow(late)
    const caller = new ScriptCaller({ fcall: never, evalsha: never } as unknown as Redis)
    const keys = { record: 'r', inbox: 'u', run: 'n', events: 'e', idem: 'i' }
    const args = { worker: 'w', mail: '', idemMs: 1, seed: '', wakeupMs: 1, event: '', asked: '', when: undefined }
    await expect(caller.call(postScript, keys, args, { deadlineMs: 60_000, since })).rejects.toThrow(late)
  })

  test('a read says in words what was read', async () => {
    const fails = () => Promise.reject(new Error('no answer within 5 ms'))
    const store = guardedReads({ leasesOf: fails, openLetters: fails, now: fails }, 50, () => ' of partition 1')
    await expect(store.leasesOf()).rejects.toThrow('(reading leases of partition 1: ')
    await expect(store.openLetters()).rejects.toThrow('(reading open letters of partition 1: ')
    await expect(store.now()).rejects.toThrow('(reading the time of partition 1: ')
  })

  test.each<[string, (proxy: TcpProxy, redis: Redis) => unknown]>([
    ['has no answer', (proxy) => proxy.blackhole()],
    ['was lost, and is to be opened again', cut],
  ])(
    'a call over a connection that %s is not made again once that was closed, which would keep its process',
    async (_, disturb) => {
      await using proxy = await TcpProxy.start(inject('redisUrl'))
      const redis = openRedis(proxy.url)
      await redis.ping()
      const keys = { record: 'r', inbox: 'u', run: 'n', events: 'e', idem: 'i' }
      const args = { worker: 'w', mail: '', idemMs: 1, seed: '', wakeupMs: 1, event: '', asked: '', when: undefined }
      const caller = new ScriptCaller(redis)
      const call = () => caller.call(postScript, keys, args, { deadlineMs: 600_000 })
      proxy.blackhole()
      const before = call()
      await disturb(proxy, redis)
      const calls = [before, call()]
      endRedis(redis)
      for (const one of [...calls, call()]) await expect(one).rejects.toMatchObject({ code: 'store_unavailable' })
    },
  )
})

async function cut(proxy: TcpProxy, redis: Redis): Promise<void> {
  proxy.cut()
  await waitUntil('it waits for its next try', () => redis.status === 'reconnecting')
}

test('the limits that scripts take for granted are the defaults', () => {
  expect(postScript.source).toContain(`local startLimits = '${encodeLimits(defaultSessionLimits)}'`)
})

describe('withDeadline', () => {
  test('gives the answer, or says how long it waited', async () => {
    expect(await withDeadline(Promise.resolve(7), 1_000)).toBe(7)
    await expect(withDeadline(new Promise(() => {}), 10)).rejects.toThrow('no answer within 10 ms')
    await expect(withDeadline(new Promise(() => {}), 9.999_12)).rejects.toThrow('no answer within 10 ms')
    await expect(withDeadline(Promise.reject(new Error('x')), 1_000)).rejects.toThrow('x')
  })
})
