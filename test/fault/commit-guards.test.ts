/**
 * The guards of a commit, each where nothing else would catch the fault: no renewal, no cancel notice and no short lease helps here.
 * Mutants of commit.lua without one of them must fail here.
 */
import { Redis } from 'ioredis'
import { describe, expect, inject, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { policy } from '../../src/core/policy.ts'
import { partitionKeys } from '../../src/store/keys.ts'
import { ScriptCaller } from '../../src/store/script/script.ts'
import { SessionStore } from '../../src/store/session/session-store.ts'
import { expectInvariants } from '../support/fault/oracle.ts'
import { TcpProxy } from '../support/redis/tcp-proxy.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { awaitResult } from '../support/time/await-session.ts'
import { waitUntil } from '../support/time/wait-until.ts'

/** Nothing is renewed within the test, so nothing but the commit itself tells a node what became of its worker. */
const deaf = { policy: { leaseMs: 600_000, renewEveryMs: 600_000, busyAfterMs: 600_000, leaseMarginMs: 1_000 } }

describe('a commit', () => {
  test('a commit under an old token of the worker is refused, even if nothing was committed since (K13, I5)', async () => {
    const gates = { old: Promise.withResolvers<void>(), new: Promise.withResolvers<void>() }
    const begun: string[] = []
    const workers = (node: 'old' | 'new') => ({
      gated: defineWorker({
        async receive(_, self) {
          begun.push(node)
          await gates[node].promise
          self.reply(node)
        },
      }),
    })
    await using troupe = await TestTroupe.connect()
    // Its only slot stays taken, so that the new node is the one that claims the worker.
    const old = await troupe.startNode(workers('old'), { ...deaf, concurrency: 1 })
    const session = await troupe.create('gated')
    await waitUntil('the old node runs it', () => begun.length === 1)
    // The lease ends, by Redis's clock; the old node knows nothing of it.
    await troupe.redis.zadd(`${troupe.tag}:leases`, 1, session.rootId)
    await troupe.startNode(workers('new'), deaf)
    await waitUntil('the new node runs it', () => begun.length === 2)
    gates.old.resolve()
    await waitUntil('its commit was answered', () => old.busy === 0)
    expect((await troupe.history(session.rootId)).length).toBe(0)
    gates.new.resolve()
    expect(await awaitResult(session)).toMatchObject({ value: 'new' })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a commit of a cancelled run is refused although no notice came and no renewal was due (I12)', async () => {
    const gate = Promise.withResolvers<void>()
    const born: unknown[] = []
    let begun = false
    await using troupe = await TestTroupe.start({
      ...deaf,
      workers: {
        gated: defineWorker({
          async receive(_, self) {
            begun = true
            await gate.promise
            self.spawn('child', null)
            self.setState('changed')
            self.reply('too late')
          },
        }),
        child: defineWorker({ receive: () => void born.push(1) }),
      },
    })
    const session = await troupe.create('gated')
    await waitUntil('it runs', () => begun)
    const redis = new Redis(troupe.redisUrl)
    const silent = { ...partitionKeys(troupe.tag), cancelNotices: `${troupe.tag}:nobody-listens` }
    await new SessionStore(redis, new ScriptCaller(redis), silent, 0, policy, 5_000).cancel(session.id, 'quietly')
    redis.disconnect()
    gate.resolve()
    expect(await awaitResult(session)).toMatchObject({ status: 'cancelled' })
    expect((await troupe.history(session.rootId)).map(({ type }) => type)).toEqual(['cancelled'])
    const { workers } = await expectInvariants(troupe.redis, troupe.namespace)
    expect(workers.size).toBe(1)
    expect(born).toEqual([])
  })

  test('a commit that is sent again because its answer was lost is accepted again, and its turn goes on (K11)', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    const seen: unknown[] = []
    const started = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('worker', 'first', { keepOpen: true })
    await session.root.send('second')
    await troupe.startNode(
      {
        worker: defineWorker({
          async receive(message, self) {
            seen.push(message.value)
            if (message.value === 'first') {
              await started.promise
              proxy.cutReplies()
            } else await gate.promise
            self.reply(message.value)
          },
        }),
      },
      { ...deaf, redisUrl: proxy.url },
    )
    started.resolve()
    expect(await awaitResult(session, { run: 1 })).toMatchObject({ value: 'first' })
    proxy.mend()
    await waitUntil('the same turn receives the second', () => seen.length === 2)
    gate.resolve()
    expect(await awaitResult(session, { run: 2 })).toMatchObject({ value: 'second' })
    expect(seen).toEqual(['first', 'second'])
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})
