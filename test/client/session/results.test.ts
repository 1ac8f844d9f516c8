/** Results are latched: they may be asked for before, during and after the end, by anyone, any number of times. */
import { getEventListeners } from 'node:events'
import { describe, expect, inject, test, vi } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import { EventHub } from '../../../src/client/event/event-hub.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { newId } from '../../../src/core/ids.ts'
import { rememberSecret } from '../../../src/core/secret/known-secrets.ts'
import { say } from '../../../src/models/local/scripted-model.ts'
import { InspectStore } from '../../../src/store/audit/inspect-store.ts'
import { workerKeys } from '../../../src/store/keys.ts'
import { newNamespace } from '../../support/namespace.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { commandsNaming } from '../../support/redis/watched-commands.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { hourMs } from '../../support/time/due-timers.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

describe('session.result', () => {
  test('session.result is the same before, during and after the end, for many waiters in several clients [1.20]', async () => {
    const gate = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.start({
      workers: {
        gated: defineWorker({
          async receive(message, self) {
            await gate.promise
            self.reply(message.value)
          },
        }),
      },
    })
    await using other = await connectInternal({ redisUrl: troupe.redisUrl, namespace: troupe.namespace })
    const session = await troupe.create('gated', 'once')
    const early = Array.from({ length: 20 }, () => session.result())
    const elsewhere = Array.from({ length: 20 }, () => other.sessions.get(session.id).result())
    gate.resolve()
    const expected = { status: 'completed', run: 1, value: 'once' }
    for (const result of await Promise.all([...early, ...elsewhere])) expect(result).toEqual(expected)
    for (const late of [session, other.sessions.get(session.id)]) {
      expect(await late.result()).toEqual(expected)
      expect(await late.result({ run: 1 })).toEqual(expected)
    }
  })

  test('session.result reads no report: thousands of waiting callers may each look again and again', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo', 'said', { keepOpen: true })
    expect(await session.result({ run: 1 })).toMatchObject({ value: 'said' })
    const { record } = workerKeys(troupe.tag, session.rootId)
    const asked = await commandsNaming(troupe.redis, record, async () => {
      expect(await session.result()).toMatchObject({ value: 'said' })
    })
    expect(asked.map(({ name }) => name).toSorted()).toEqual(['hmget', 'hmget', 'lindex'])
  })

  test('a result is that of the last run if what waited was an order, which begins no run', async () => {
    const agent = defineWorker({ instructions: 'x', model: recordedModel('test/m', [say('said')]) })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'first', { keepOpen: true })
    await session.result({ run: 1 })
    await session.pause()
    const configured = session.root.configure({ settings: { temperature: 0.5 } })
    await waitUntil('the order waits', async () => (await session.root.report()).status === 'queued')
    const looked = vi.spyOn(InspectStore.prototype, 'session')
    const result = awaitResult(session)
    await waitUntil('it was looked for', () => looked.mock.calls.some(([, run]) => run === 2))
    looked.mockRestore()
    await session.resume()
    await configured
    expect(await result).toMatchObject({ status: 'completed', run: 1 })
  })

  test('a result that holds a secret of the node is the same from an event as from the history', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    rememberSecret('postgres-db')
    await troupe.run('echo', 'first')
    expect(await troupe.run('echo', 'postgres-db is up')).toMatchObject({ value: 'postgres-db is up' })
  })

  test('a client that has waited for one session gets the result of its next one from an event, without a read', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    await (await troupe.create('echo', 'first')).result()
    const asked = await commandsNaming(troupe.redis, `${troupe.tag}:w:`, async () => {
      const run = async () => (await troupe.create('echo', 'said')).result()
      // Few at once: a client that has waited for two seconds reads, since an event may be lost.
      for (let wave = 0; wave < 5; wave++)
        for (const result of await Promise.all(Array.from({ length: 5 }, run)))
          expect(result).toMatchObject({ value: 'said' })
    })
    expect(asked.filter(({ name }) => name === 'hmget' || name === 'lindex')).toEqual([])
  })

  test('a client that has waited for one job subscribes to nothing more for its next jobs (ID-4)', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    await (await troupe.create('echo', 'first')).result()
    const asked = await commandsNaming(troupe.redis, `${troupe.tag}:events:`, async () => {
      for (let wave = 0; wave < 3; wave++)
        await Promise.all(Array.from({ length: 5 }, () => troupe.run('echo', 'said')))
    })
    expect(new Set(asked.map(({ name }) => name)).size).toBeGreaterThan(0)
    expect(asked.filter(({ name }) => name.includes('subscribe'))).toEqual([])
  })

  test.each(['create', 'createMany'] as const)(
    'session.result misses no end, because %s waits until the client listens',
    async (way) => {
      await using troupe = await TestTroupe.start({ workers: { echo } })
      const { sessions } = troupe.client
      await (await troupe.create('echo', 'first')).result()
      const listens = Promise.withResolvers<void>()
      using tracked = vi.spyOn(EventHub.prototype, 'track').mockReturnValue(listens.promise)
      const order = { kind: 'echo', input: 'second' }
      const creating = way === 'create' ? sessions.create(order) : sessions.createMany([order])
      await waitUntil('it is to be created', () => tracked.mock.calls.length === 1)
      for (let turn = 0; turn < 5; turn++) expect(await sessions.list()).toHaveLength(1)
      listens.resolve()
      await creating
      expect(await sessions.list()).toHaveLength(2)
    },
  )

  test('many sessions that end while their first waiter connects all have their results delivered', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using troupe = await TestTroupe.connect()
    await troupe.startNode({ echo })
    await using client = await connectInternal({ redisUrl: proxy.url, namespace: troupe.namespace })
    const first = await client.sessions.create({ kind: 'echo', input: 'first' })
    proxy.holdNew()
    const firstResult = first.result()
    await waitUntil('the connection that follows events is held', () => proxy.waiting > 0)
    const second = await client.sessions.create({ kind: 'echo', input: 'second' })
    await waitUntil(
      'it has ended',
      async () => (await troupe.client.sessions.get(second.id).report()).session.finishedAt,
    )
    proxy.mend()
    expect(await firstResult).toMatchObject({ value: 'first' })
    expect(await awaitResult(second)).toMatchObject({ value: 'second' })
  })

  test('session.result ends with the reason of its signal', async () => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('nobody')
    const controller = new AbortController()
    const waiting = session.result({ signal: controller.signal })
    controller.abort(new Error('no more patience'))
    await expect(waiting).rejects.toThrow('no more patience')
    await expect(session.result({ signal: AbortSignal.abort(new Error('none at all')) })).rejects.toThrow('none at all')
    await troupe.startNode({ nobody: echo })
    expect(await session.result({ signal: new AbortController().signal })).toMatchObject({ status: 'completed' })
    await expect(session.result({ signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow('too late')
  })

  test('session.result ends with the reason of its signal while Redis stands still', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    const client = await connectInternal({ redisUrl: proxy.url, namespace: newNamespace(), deadlineMs: 600_000 })
    const session = await client.sessions.create({ kind: 'nobody', input: 1 })
    const controller = new AbortController()
    proxy.blackhole()
    const waiting = session.result({ run: 1, signal: controller.signal })
    controller.abort(new Error('no more patience'))
    await expect(waiting).rejects.toThrow('no more patience')
    proxy.mend()
    await client.close()
  })

  test('the result of a conversation is that of the run in progress, even if the next run has begun before it is read', async () => {
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const gates = new Map([
      ['first', first],
      ['second', second],
    ])
    const gated = defineWorker({
      async receive(message, self) {
        await gates.get(message.value as string)?.promise
        self.reply(message.value)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { gated } })
    const session = await troupe.create('gated', 'first', { keepOpen: true })
    await session.root.send('second')
    await waitUntil('it runs', async () => (await session.root.report()).status === 'running')
    using looks = vi.spyOn(InspectStore.prototype, 'session')
    const result = awaitResult(session)
    await waitUntil('it is known which', () => looks.mock.settledResults.some(({ type }) => type === 'fulfilled'))
    first.resolve()
    expect(await result).toEqual({ status: 'completed', run: 1, value: 'first' })
    second.resolve()
  })

  test('session.result leaves nobody waiting, however it ends', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const [done, open] = [await troupe.create('echo', 1), await troupe.create('nobody')]
    using waits = vi.spyOn(EventHub.prototype, 'wakeAtEnds')
    using leaves = vi.spyOn(EventHub.prototype, 'stopWaking')
    const controller = new AbortController()
    const aborted = open.result({ signal: controller.signal }).catch((error: unknown) => error)
    const closed = open.result().catch((error: unknown) => error)
    await done.result()
    await expect(troupe.client.sessions.get(newId(0)).result()).rejects.toMatchObject({ code: 'session_not_found' })
    controller.abort(new Error('no more patience'))
    await aborted
    await troupe.client.close()
    await closed
    const byWaiter = (calls: readonly (readonly [string, () => void])[]) =>
      new Map(calls.map(([id, wake]) => [wake, id]))
    expect(waits).toHaveBeenCalledTimes(4)
    expect(byWaiter(leaves.mock.calls)).toEqual(byWaiter(waits.mock.calls))
  })

  test('a result of a session or run that does not exist is a typed error', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo', 1)
    await session.result()
    await expect(session.result({ run: 7 })).rejects.toMatchObject({ code: 'session_not_found' })
    const unknown = troupe.client.sessions.get('01890000-0000-7000-8000-000000000000')
    await expect(unknown.result()).rejects.toMatchObject({ code: 'session_not_found' })
  })

  test('a session that is being cancelled is waited for', async () => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('echo')
    await session.cancel()
    using looks = vi.spyOn(InspectStore.prototype, 'session')
    const result = awaitResult(session).catch((error: unknown) => error)
    await waitUntil('it is looked for', () => looks.mock.settledResults[0]?.type === 'fulfilled')
    await troupe.startNode({ echo })
    expect(await result).toMatchObject({ status: 'cancelled' })
  })

  test('session.result is rejected, not forgotten, when the client closes', async () => {
    await using troupe = await TestTroupe.connect()
    const client = await connectInternal({ redisUrl: troupe.redisUrl, namespace: troupe.namespace })
    const session = await client.sessions.create({ kind: 'nobody', input: 1 })
    const tracked = await client.sessions.create({ kind: 'nobody', input: 1 })
    const waiting = Promise.allSettled([session.result(), tracked.result()])
    await waitUntil('they wait', async () => (await troupe.client.sessions.get(session.id).report()).session.state)
    await client.close()
    const settled = await Promise.race([
      waiting,
      new Promise((resolve) => setTimeout(() => resolve('forgotten'), 30_000)),
    ])
    expect(settled).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }])
  })

  test('session.result leaves nothing when its signal fires, not even a timer, which would keep the process alive', async () => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('nobody')
    const controller = new AbortController()
    using set = vi.spyOn(globalThis, 'setTimeout')
    using cleared = vi.spyOn(globalThis, 'clearTimeout')
    const result = session.result({ signal: controller.signal }).catch((error: unknown) => error)
    const timers = () =>
      set.mock.calls.flatMap(([, ms], index) => (ms === 2_000 ? [set.mock.results[index]?.value] : []))
    await waitUntil('it is waited for', () => timers().length > 0)
    controller.abort(new Error('no more patience'))
    await result
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    for (const timer of timers()) expect(cleared).toHaveBeenCalledWith(timer)
  })
})

test('a result for which no event comes is looked for after a while', async () => {
  await using troupe = await TestTroupe.connect()
  const gone = { code: 'session_not_found' }
  // From this call on the client listens to events, and waits to be told how the sessions that it creates end.
  await expect(troupe.client.sessions.get(newId(0)).result()).rejects.toMatchObject(gone)
  const session = await troupe.create('nobody')
  const result = session.result()
  await troupe.redis.del(workerKeys(troupe.tag, session.rootId).record)
  await expect(result).rejects.toMatchObject(gone)
})

test('a client that follows events learns a result from them alone, even in a conversation', async () => {
  await using troupe = await TestTroupe.connect()
  const { setTimeout: later } = globalThis
  using _ = vi
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation(((run: () => void, ms: number) => later(run, ms === 2_000 ? hourMs : ms)) as typeof setTimeout)
  using listens = vi.spyOn(EventHub.prototype, 'wakeAtEnds')
  const waiting = [awaitResult(await troupe.create('echo', 'first'))]
  await waitUntil('it listens', () => listens.mock.settledResults[0]?.type === 'fulfilled')
  waiting.push(awaitResult(await troupe.create('echo', 'job')))
  waiting.push(awaitResult(await troupe.create('echo', 'conversation', { keepOpen: true })))
  await waitUntil('all wait', () => listens.mock.settledResults.length === 3)
  await troupe.startNode({ echo })
  expect((await Promise.all(waiting)).map((result) => result.status === 'completed' && result.value)).toEqual([
    'first',
    'job',
    'conversation',
  ])
})

test('reads become rarer and rarer, but at least one comes every ten seconds', async () => {
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('nobody')
  const { setTimeout: later } = globalThis
  const waits: number[] = []
  using _ = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms: number) => {
    if (ms < 2_000) return later(run, ms)
    waits.push(ms)
    return later(run, 1)
  }) as typeof setTimeout)
  const controller = new AbortController()
  const result = session.result({ signal: controller.signal })
  await waitUntil('it was looked for again and again', () => waits.length >= 5)
  controller.abort(new Error('enough'))
  await expect(result).rejects.toThrow('enough')
  expect(waits.slice(0, 5)).toEqual([2_000, 4_000, 8_000, 10_000, 10_000])
})

describe('a result over which somebody wrote', () => {
  const fails = defineWorker({ receive: (_, self) => self.fail('no') })
  test.each([
    ['completed', 'echo', '{bad'],
    ['completed', 'echo', '{"type":"failed","failure":{"code":"run_failed","message":"none"}}'],
    ['failed', 'fails', '{"type":"completed","value":"all is well"}'],
  ])('an overwritten result is reported as such, with its place: a result that %s', async (status, kind, written) => {
    await using troupe = await TestTroupe.start({ workers: { echo, fails } })
    const session = await troupe.create(kind, 'x', { keepOpen: true })
    await session.result({ run: 1 })
    const { log } = workerKeys(troupe.tag, session.rootId)
    await troupe.redis.lset(log, -1, written)
    const told = `entry 1 of the history of worker ${session.rootId} should be that it ${status}`
    await expect(session.result({ run: 1 })).rejects.toThrow(told)
    expect((await session.report()).workers).toMatchObject([{ status: 'idle', historyLength: 2 }])
  })

  test('a result that is pruned while it is read is reported as one of an unknown session, not as overwritten', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo')
    await session.result({ run: 1 })
    const { log, record } = workerKeys(troupe.tag, session.rootId)
    using _ = vi.spyOn(InspectStore.prototype, 'entryAt').mockImplementationOnce(async () => {
      await troupe.redis.del(log, record)
      return null
    })
    await expect(session.result({ run: 1 })).rejects.toMatchObject({ code: 'session_not_found' })
  })

  test('a session of which nothing is left is neither cancelled nor unknown if its result was overwritten', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo', 'x', { keepOpen: true })
    await session.result({ run: 1 })
    const { log, record } = workerKeys(troupe.tag, session.rootId)
    await troupe.redis.del(log)
    const damaged = `entry 1 of the history of worker ${session.rootId} should be there`
    await expect(session.result({ run: 1 })).rejects.toMatchObject({ code: 'bug', details: { damaged } })
    await troupe.redis.del(record)
    await expect(session.result({ run: 1 })).rejects.toMatchObject({ code: 'session_not_found' })
  })
})
