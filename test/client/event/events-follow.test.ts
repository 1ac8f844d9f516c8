/** A follower of a session: how long it follows, and what it leaves behind. */
import { getEventListeners } from 'node:events'
import { setImmediate as later } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, inject, test, vi } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import { EventHub, type Listener } from '../../../src/client/event/event-hub.ts'
import type { Session } from '../../../src/client/session/session.ts'
import { sessionEvents } from '../../../src/client/session/session-events.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { RawEvent } from '../../../src/core/event/event.ts'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import type { LiveListener } from '../../../src/store/event/live-channel.ts'
import { openRedis, type Redis } from '../../../src/store/redis/redis.ts'
import { newNamespace } from '../../support/namespace.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { reportEvent } from '../../support/report-event.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitEvents } from '../../support/time/await-session.ts'
import { patienceMs } from '../../support/time/patience.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { withoutLooks } from '../support/hub.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

test('a live follower ends with the event with which the session ends, and leaves no listener at its signal', async () => {
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('echo', 1)
  const signal = AbortSignal.timeout(patienceMs)
  const seen: string[] = []
  const following = (async () => {
    for await (const { type } of withoutLooks(troupe, session).events({ signal, transient: false })) seen.push(type)
  })()
  await waitUntil('it follows', async () => {
    await session.root.send('x')
    return seen.length > 0
  })
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  await troupe.startNode({ echo })
  await following
  expect(signal.aborted).toBe(false)
  expect(seen.at(-1)).toBe('session.completed')
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('the past of a session that failed and was retried ends with its last end', async () => {
  let isBroken = true
  const mended = defineWorker({
    retries: 0,
    receive: (_, self) => (isBroken ? self.fail('not yet') : self.reply('done')),
  })
  await using troupe = await TestTroupe.start({ workers: { mended } })
  const session = await troupe.create('mended')
  expect(await session.result()).toMatchObject({ status: 'failed' })
  isBroken = false
  await session.retry()
  expect(await session.result()).toMatchObject({ status: 'completed' })
  const types = await Array.fromAsync(session.events({ after: '0-0', follow: false }), ({ type }) => type)
  expect(types.filter((type) => type.startsWith('session.'))).toEqual([
    'session.created',
    'session.failed',
    'session.retried',
    'session.completed',
  ])
})

test('the past of a session ends with the event of its end, not with events of a detached worker behind it', async () => {
  const starter = defineWorker({
    receive(_, self) {
      self.spawn('echo', 1, { detached: true })
      self.reply('done')
    },
  })
  await using troupe = await TestTroupe.start({ workers: { starter } })
  const session = await troupe.create('starter')
  await session.result()
  await troupe.startNode({ echo })
  const stored = async () => (await troupe.redis.xrange(`${troupe.tag}:events`, '-', '+')).join(' ')
  await waitUntil('the detached worker is done', async () => (await stored()).split('run.completed').length === 3)
  const seen = await Array.fromAsync(awaitEvents(session, { after: '0-0' }))
  expect(seen.at(-1)?.type).toBe('session.completed')
})

test('a follower that stops leaves no timer, which would keep its process alive for half a minute', async () => {
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('nobody')
  using set = vi.spyOn(globalThis, 'setTimeout')
  using cleared = vi.spyOn(globalThis, 'clearTimeout')
  const controller = new AbortController()
  const following = Array.fromAsync(session.events({ after: '0-0', signal: controller.signal }))
  const timers = () =>
    set.mock.calls.flatMap(([, ms], index) => (ms === 30_000 ? [set.mock.results[index]?.value] : []))
  await waitUntil('it waits', () => timers().length > 0)
  controller.abort()
  await following
  for (const timer of timers()) expect(cleared).toHaveBeenCalledWith(timer)
})

test('a past of more than one page comes whole', async () => {
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('nobody', 1, { keepOpen: true })
  await Promise.all(Array.from({ length: 620 }, (_, number) => session.root.send(number)))
  let seen = 0
  for await (const _ of awaitEvents(session, { after: '0-0' })) if (++seen === 621) break
  expect(seen).toBe(621)
})

test('a session that is being cancelled is followed until it is cancelled', async () => {
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('echo', 1)
  await session.cancel()
  const seen: string[] = []
  const following = (async () => {
    for await (const { type } of awaitEvents(withoutLooks(troupe, session), { after: '0-0' })) seen.push(type)
    return 'ended'
  })()
  await waitUntil('the past is told', () => seen.includes('session.cancelRequested'))
  await troupe.startNode({ echo })
  expect(await following).toBe('ended')
  expect(seen.at(-1)).toBe('session.cancelled')
})

test('a follower whose subscription fails follows the stored events after a while', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  await using troupe = await TestTroupe.connect({ redisUrl: proxy.url })
  const session = await troupe.create('nobody')
  const listening = session.events({ after: '0-0', transient: false })
  expect(await listening.next()).toMatchObject({ value: { type: 'session.created' } })
  proxy.holdNew()
  const following = awaitEvents(session, { after: '0-0' })
  expect(await following.next()).toMatchObject({ value: { type: 'session.created' } })
  await Promise.all([listening.return(), following.return()])
  proxy.mend()
})

test('a closed client leaves no connection of its followers', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  const client = await connectInternal({ redisUrl: proxy.url, namespace: newNamespace() })
  const session = await client.sessions.create({ kind: 'nobody', input: 1 })
  const following = session.events({ after: '0-0' })
  expect(await following.next()).toMatchObject({ value: { type: 'session.created' } })
  expect(proxy.connections).toBeGreaterThan(2)
  await client.close()
  await waitUntil('none is open', () => proxy.connections === 0)
  expect((await following.next()).done).toBe(true)
})

test('a follower that begins as its client is closed opens no connection', async () => {
  const opened: Redis[] = []
  const open = () => {
    const redis = openRedis(inject('redisUrl'))
    opened.push(redis)
    return redis
  }
  const hub = new EventHub({ namespace: newNamespace(), open, deadlineMs: 5_000, commands: () => open() })
  opened.length = 0
  await hub.stop()
  await hub.listenLive(newId(0), () => {})
  for (const redis of opened) redis.disconnect()
  expect(opened).toEqual([])
})

/** Passes on its events when the test says so. */
class HandHub extends EventHub {
  tell: Listener = () => {}
  say: LiveListener | undefined
  isHeard = false
  override async listen(_: string, listener: (event: RawEvent | null) => void): Promise<string> {
    this.tell = listener
    this.isHeard = true
    return '0-0'
  }
  override async listenLive(_: string, listener: LiveListener): Promise<void> {
    this.say = listener
  }
  override unlisten(_: string, listener: (event: RawEvent | null) => void): void {
    if (listener === this.tell) this.isHeard = false
  }
}

function handHub({ namespace, redis: commands, redisUrl }: TestTroupe): HandHub {
  return new HandHub({ namespace, open: () => openRedis(redisUrl), deadlineMs: 5_000, commands: () => commands })
}

const sendSome = (session: Session) => Promise.all(Array.from({ length: 9 }, (_, number) => session.root.send(number)))

test('a follower that aborts in the middle of past or live events gets nothing more', async () => {
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('nobody', 1, { keepOpen: true })
  await sendSome(session)
  const controller = new AbortController()
  const following = session.events({ after: '0-0', transient: false, signal: controller.signal })
  expect((await following.next()).done).toBe(false)
  controller.abort()
  expect((await following.next()).done).toBe(true)

  const second = new AbortController()
  const watching = session.events({ after: '0-0', transient: false })
  const lagging = session.events({ after: '0-0', transient: false, signal: second.signal })
  for (let told = 0; told < 10; told++) await Promise.all([watching.next(), lagging.next()])
  const live = [watching.next(), lagging.next()]
  await sendSome(session)
  await Promise.all(live)
  for (let told = 1; told < 9; told++) await watching.next()
  second.abort()
  expect((await lagging.next()).done).toBe(true)
  await watching.return()
})

test('a follower that aborts while Redis stands still ends at once, without waiting for a read', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  const client = await connectInternal({ redisUrl: proxy.url, namespace: newNamespace(), deadlineMs: 600_000 })
  const session = await client.sessions.create({ kind: 'nobody', input: 1 })
  const controller = new AbortController()
  proxy.blackhole()
  const following = session.events({ after: '0-0', signal: controller.signal }).next()
  const reading = session.events({ after: '0-0', transient: false, signal: controller.signal }).next()
  controller.abort()
  expect(await Promise.all([following, reading])).toMatchObject([{ done: true }, { done: true }])
  proxy.mend()
  await client.close()
})

test('a follower that lags gets nothing more once its client is closed', async () => {
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('nobody', 1, { keepOpen: true })
  await sendSome(session)
  const client = await connectInternal({ redisUrl: troupe.redisUrl, namespace: troupe.namespace })
  const following = client.sessions.get(session.id).events({ after: '0-0', transient: false })
  expect((await following.next()).done).toBe(false)
  await client.close()
  expect((await following.next()).done).toBe(true)
})

test('a follower in the middle of an entry gets no more of it once its client is closed', async () => {
  await using troupe = await TestTroupe.connect()
  const { redis, tag } = troupe
  const sessionId = newId(0)
  const hub = handHub(troupe)
  const sure = { createdAt: () => Promise.resolve(null), hasEnded: () => Promise.resolve(false) }
  const following = sessionEvents(sessionId, { hub, redis, tag, deadlineMs: 5_000, ...sure }, {})
  const first = following.next()
  const say = await waitUntil('it listens', () => hub.say)
  say({ sessionId, workerId: rootIdOf(sessionId), notes: ['a', 'b'].map((text) => ['text.delta', { text }]) })
  expect(await first).toMatchObject({ value: { details: { text: 'a' } } })
  await hub.stop()
  expect((await following.next()).done).toBe(true)
})

test('a follower that lags behind live events gets nothing more once its client is closed, and the hub keeps nothing for it', async () => {
  await using troupe = await TestTroupe.connect()
  const { redis, tag } = troupe
  const hub = handHub(troupe)
  const sure = { createdAt: () => Promise.resolve(null), hasEnded: () => Promise.resolve(false) }
  const id = newId(0)
  const following = sessionEvents(id, { hub, redis, tag, deadlineMs: 5_000, ...sure }, { transient: false })
  const next = following.next()
  await waitUntil('it listens', () => hub.isHeard)
  for (const number of [1, 2])
    hub.tell({ id: `${number}-0`, type: 'run.started', sessionId: id, workerId: id, at: 0, details: {} })
  expect(await next).toMatchObject({ value: { id: '1-0' } })
  await hub.stop()
  hub.tell(null)
  expect((await following.next()).done).toBe(true)
  expect(hub.isHeard).toBe(false)
})

test('past events do not come again when it turns out that earlier ones were trimmed', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  const session = await troupe.create('echo', 1, { keepOpen: true })
  await session.result({ run: 1 })
  const hub = handHub(troupe)
  const { redis, tag } = troupe
  const sure = { createdAt: () => Promise.resolve(null), hasEnded: () => Promise.resolve(false) }
  const controller = new AbortController()
  const seen: RawEvent[] = []
  const following = (async () => {
    const query = { after: '0-0', transient: false, signal: controller.signal }
    const events = sessionEvents(session.id, { hub, redis, tag, deadlineMs: 5_000, ...sure }, query)
    for await (const event of events) seen.push(event)
  })()
  await waitUntil('the past is told', () => seen.some(({ type }) => type === 'run.completed'))
  const [first] = seen as [RawEvent]
  const past = [...seen]
  await session.root.send('more')
  await session.result({ run: 2 })
  // The hub lags: it heard the first event last, and then that later ones were trimmed.
  hub.tell({ ...first, type: 'events.trimmed', details: { after: first.id } })
  for (const event of past) hub.tell(event)
  await waitUntil('what is new is told', () => seen.filter(({ type }) => type === 'run.completed').length === 2)
  for (const event of seen.slice(past.length)) hub.tell(event)
  hub.tell({ ...first, id: '99999999999999-0' })
  await waitUntil('all that was heard is told', () => seen.at(-1)?.id === '99999999999999-0')
  controller.abort()
  await following
  const ids = seen.map(({ id }) => id)
  expect(ids).toEqual([...new Set(ids)])
  await hub.stop()
})

test('a read after a silence does not bring past events again either', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  const session = await troupe.create('echo', 1, { keepOpen: true })
  await session.result({ run: 1 })
  const hub = handHub(troupe)
  const { redis, tag } = troupe
  let isOver = false
  const sure = { createdAt: () => Promise.resolve(null), hasEnded: () => Promise.resolve(isOver) }
  const seen: RawEvent[] = []
  const following = (async () => {
    const query = { after: '0-0', transient: false }
    const context = { hub, redis, tag, deadlineMs: 5_000, silenceMs: 20, ...sure }
    for await (const event of sessionEvents(session.id, context, query)) seen.push(event)
  })()
  const runs = () => seen.filter(({ type }) => type === 'run.completed').length
  await waitUntil('the past is told', () => runs() === 1)
  await session.root.send('more')
  await session.result({ run: 2 })
  const [first] = seen as [RawEvent]
  hub.tell({ ...first, type: 'events.trimmed', details: { after: first.id } })
  await waitUntil('what is new is told', () => runs() === 2)
  isOver = true
  await following
  const ids = seen.map(({ id }) => id)
  expect(ids).toEqual([...new Set(ids)])
  await hub.stop()
})

test('a follower that stands still keeps a bounded part of the events, gets every stored event once, and learns how much it lost (EVENTS-3)', async () => {
  await using troupe = await TestTroupe.connect()
  const { redis, namespace, tag } = troupe
  const hub = handHub(troupe)
  const id = newId(0)
  const sure = { createdAt: () => Promise.resolve(null), hasEnded: () => Promise.resolve(false) }
  const controller = new AbortController()
  const following = sessionEvents(id, { hub, redis, tag, deadlineMs: 5_000, ...sure }, { signal: controller.signal })
  const first = following.next()
  await waitUntil('it listens', () => hub.isHeard && hub.say)
  const stored = 1_300
  const waiting = new Set<WeakRef<RawEvent>>()
  for (let number = 0; number < stored; number++) {
    const newest = await reportEvent(redis, { namespace, about: id, notes: `[["run.warned",{"number":${number}}]]` })
    const event: RawEvent = {
      id: `${newest}.0`,
      type: 'run.warned',
      sessionId: id,
      workerId: rootIdOf(id),
      at: 0,
      details: { number },
    }
    waiting.add(new WeakRef(event))
    hub.tell(event, 50)
    hub.say?.({ sessionId: id, workerId: id, notes: [['run.warned', { number }]] }, 10_000)
  }
  await later()
  collectGarbage()
  const kept = [...waiting].filter((event) => event.deref() !== undefined).length
  expect(kept).toBeLessThan(1_100)
  const events = [(await first).value as RawEvent]
  const isWarning = ({ type }: RawEvent) => type === 'run.warned'
  const lost = () =>
    events.reduce((total, { type, details }) => total + (type === 'events.dropped' ? Number(details.count) : 0), 0)
  // Each was said twice: stored, and transient.
  while (events.filter(isWarning).length + lost() < 2 * stored) events.push((await following.next()).value as RawEvent)
  const numbers = events.filter(({ transient }) => !transient).map(({ details }) => details.number)
  expect(numbers).toEqual(Array.from({ length: stored }, (_, number) => number))
  expect(events.filter(({ type }) => type === 'events.dropped')).toHaveLength(1)
  controller.abort()
  await following.return()
  await hub.stop()
})
