/** Events of a session: live and from the past, resumed by id without a gap or a duplicate. */
import { describe, expect, inject, test } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import { EventHub } from '../../../src/client/event/event-hub.ts'
import type { Session } from '../../../src/client/session/session.ts'
import { type EventsQuery, sessionEvents } from '../../../src/client/session/session-events.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { type EventType, eventTypes, type RawEvent } from '../../../src/core/event/event.ts'
import { newId } from '../../../src/core/ids.ts'
import { sessionNotFound } from '../../../src/core/worker/refusal.ts'
import { partitionKeys } from '../../../src/store/keys.ts'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { trimEvents } from '../../support/redis/trim-events.ts'
import { commandsNaming } from '../../support/redis/watched-commands.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitEvents } from '../../support/time/await-session.ts'
import { hourMs } from '../../support/time/due-timers.ts'
import { patienceMs } from '../../support/time/patience.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { withoutLooks } from '../support/hub.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
const parent = defineWorker({
  receive(message, self) {
    if (message.kind === 'input') for (let child = 0; child < 5; child++) self.spawn('echo', child)
    else if (self.openChildren === 0) self.reply('done')
  },
})

type Followed = Parameters<typeof awaitEvents>[0]

const all = (session: Followed, after = '0-0'): Promise<RawEvent[]> => Array.fromAsync(awaitEvents(session, { after }))

async function upTo(session: Session, after: string, type: EventType): Promise<RawEvent[]> {
  const events: RawEvent[] = []
  for await (const event of awaitEvents(session, { after })) {
    events.push(event)
    if (event.type === type) break
  }
  return events
}

/** A hub that passes on what it hears when the test says so, as if its connection were slow. */
class LateHub extends EventHub implements AsyncDisposable {
  /** How many runs ended while the test held the hub. */
  heard = 0
  #waiting: (() => void)[] = []

  constructor(troupe: TestTroupe) {
    const { namespace, redis: commands } = troupe
    super({
      namespace,
      open: () => openRedis(troupe.redisUrl),
      deadlineMs: 5_000,
      commands: () => commands,
      lookMs: hourMs,
    })
  }

  override listen(sessionId: string, listener: (event: RawEvent | null) => void): Promise<string> {
    return super.listen(sessionId, (event) => {
      if (event?.type === 'run.completed') this.heard++
      this.#waiting.push(() => listener(event))
    })
  }

  deliver(): void {
    for (const tell of this.#waiting.splice(0)) tell()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

/** An event without the fields that differ from reading to reading. */
const facts = ({ type, workerId, details }: RawEvent) => JSON.stringify({ type, workerId, details })

describe('session.events', () => {
  test('session.events gives the whole story, live or afterwards, and ends with the session', async () => {
    await using troupe = await TestTroupe.connect()
    const before = Date.now()
    const session = await troupe.create('parent')
    const other = await troupe.create('echo')
    const live = all(withoutLooks(troupe, session))
    await troupe.startNode({ parent, echo })
    await other.result()
    const events = await live
    expect(events.at(0)?.type).toBe('session.created')
    expect(events.at(-1)).toMatchObject({ type: 'session.completed', ended: { status: 'completed' } })
    for (const event of events) {
      expect(eventTypes).toContain(event.type)
      expect(event.sessionId).toBe(session.id)
      expect(event.at).toBeGreaterThanOrEqual(before)
      expect(event.at).toBeLessThanOrEqual(Date.now())
    }
    expect(events.filter(({ type }) => type === 'worker.spawned')).toHaveLength(5)
    expect(events.filter(({ type }) => type === 'run.completed')).toHaveLength(6)
    expect((await all(session)).map(facts)).toEqual(events.map(facts))
  })

  test('session.events resumed after any event continues with the next one: no gap, no duplicate', async () => {
    await using troupe = await TestTroupe.start({ workers: { parent, echo } })
    const session = await troupe.create('parent')
    await session.result()
    const events = await all(session)
    expect(events.length).toBeGreaterThan(10)
    for (const [index, event] of events.slice(0, -1).entries()) {
      const rest = await all(session, event.id)
      expect(rest.map(facts), `after event ${index}, ${event.type}`).toEqual(events.slice(index + 1).map(facts))
    }
  })

  test('session.events broken off and resumed again and again while the session runs gives each event once', async () => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('parent')
    const seen: RawEvent[] = []
    const reading = (async () => {
      let after = '0-0'
      while (seen.at(-1)?.ended === undefined) {
        let count = 0
        for await (const event of awaitEvents(withoutLooks(troupe, session), { after })) {
          seen.push(event)
          after = event.id
          if (++count === 2) break
        }
      }
    })()
    await troupe.startNode({ parent, echo })
    await reading
    expect(seen.map(facts)).toEqual((await all(session)).map(facts))
  })

  test('ends when its signal fires', async () => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('nobody')
    const controller = new AbortController()
    const seen: string[] = []
    const reading = (async () => {
      for await (const event of session.events({ after: '0-0', signal: controller.signal })) seen.push(event.type)
    })()
    await waitUntil('the first event came', () => seen.length === 1)
    controller.abort()
    await reading
    expect(seen).toEqual(['session.created'])
  })

  const follow: readonly [string, EventsQuery][] = [
    ['live', {}],
    ['from the past', { after: '0-0' }],
    ['without what is transient', { after: '0-0', transient: false }],
  ]
  test.each(follow)('ends when its client is closed: %s', async (_, query) => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('nobody')
    const waiting = session.events(query)
    const seen: string[] = []
    const reading = (async () => {
      for await (const event of waiting) seen.push(event.type)
      return 'ended'
    })()
    await waitUntil('it follows', async () => {
      await session.root.send('hello')
      return seen.includes('message.accepted')
    })
    await troupe.client.close()
    expect(await reading).toBe('ended')
  })

  test('says that events are gone, and ends, if its connection was lost until they were trimmed (E-a)', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using troupe = await TestTroupe.connect()
    await using far = await connectInternal({ redisUrl: proxy.url, namespace: troupe.namespace })
    const session = await troupe.create('echo')
    const seen: string[] = []
    const following = (async () => {
      for await (const event of awaitEvents(far.sessions.get(session.id))) seen.push(event.type)
    })()
    await waitUntil('it follows', async () => {
      await session.root.send('x')
      return seen.length > 0
    })
    proxy.cut()
    await troupe.startNode({ echo })
    await session.result()
    await troupe.run('echo')
    await trimEvents(troupe.redis, troupe.tag, 'MAXLEN', 1)
    proxy.mend()
    await following
    expect(seen.at(-1)).toBe('events.trimmed')
  })

  test('ends when its client is closed while it begins to listen', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    await using troupe = await TestTroupe.connect({ redisUrl: proxy.url })
    const session = await troupe.create('nobody')
    proxy.holdNew()
    const next = session.events().next()
    await waitUntil('its connections are on their way', () => proxy.waiting === 2)
    await troupe.client.close()
    expect(await next).toEqual({ done: true, value: undefined })
  })

  test('events of an ended session end at once, whether resumed after the last event or live', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo')
    await session.result()
    const last = (await all(session)).at(-1) as RawEvent
    for (const query of [{ after: last.id }, {}]) {
      // This time is over long before silence makes the follower look whether the session still goes on.
      const signal = AbortSignal.timeout(20_000)
      expect((await session.events({ ...query, signal }).next()).done).toBe(true)
      expect(signal.aborted).toBe(false)
    }
  })

  test('yields each event once, even if it arrives both from the past and live (EVENTS-1)', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo', 1, { keepOpen: true })
    await session.result({ run: 1 })
    await using hub = new LateHub(troupe)
    const next = async (run: number) => {
      await session.root.send(run)
      await session.result({ run })
      await waitUntil('its events have come', () => hub.heard === run - 1)
    }
    const context = {
      hub,
      redis: troupe.redis,
      tag: troupe.tag,
      deadlineMs: 5_000,
      silenceMs: hourMs,
      // Asked for when it listens and has read nothing yet.
      async createdAt() {
        await next(2)
        return null
      },
      hasEnded: () => Promise.resolve(false),
    }
    const seen: RawEvent[] = []
    const controller = new AbortController()
    const reading = (async () => {
      const query = { after: '0-0', transient: false, signal: controller.signal }
      for await (const event of sessionEvents(session.id, context, query)) seen.push(event)
    })()
    const runs = () => seen.filter(({ type }) => type === 'run.completed').length
    await waitUntil('the past is told', () => runs() === 2)
    hub.deliver()
    await next(3)
    hub.deliver()
    await waitUntil('what is new is told', () => runs() > 2)
    controller.abort()
    await reading
    expect(seen.map(({ id }) => id)).toEqual([...new Set(seen.map(({ id }) => id))])
    expect(runs()).toBe(3)
  })

  test('session.events yields the end even if it came after all had been read and before the next read (EVENTS-1)', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo', 1, { keepOpen: true })
    await session.result({ run: 1 })
    await using hub = new LateHub(troupe)
    const context = {
      hub,
      redis: troupe.redis,
      tag: troupe.tag,
      deadlineMs: 5_000,
      silenceMs: hourMs,
      createdAt: () => Promise.resolve(null),
      async hasEnded() {
        await session.close()
        return waitUntil('it has ended', async () => (await session.report()).session.state === 'completed')
      },
    }
    const seen: EventType[] = []
    const query = { after: '0-0', transient: false, signal: AbortSignal.timeout(patienceMs) }
    for await (const { type } of sessionEvents(session.id, context, query)) seen.push(type)
    expect(seen.at(-1)).toBe('session.completed')
  })

  test('ends without an event if the session is gone or its end was missed (EVENTS-4)', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo', 1, { keepOpen: true })
    await session.result({ run: 1 })
    await using hub = new LateHub(troupe)
    let looks = 0
    let answer: () => Promise<boolean> = () => Promise.resolve(false)
    const follow = async () => {
      const context = {
        hub,
        redis: troupe.redis,
        tag: troupe.tag,
        deadlineMs: 5_000,
        silenceMs: 20,
        createdAt: () => Promise.resolve(null),
        hasEnded: () => (looks++ === 0 ? Promise.resolve(false) : answer()),
      }
      looks = 0
      const seen: string[] = []
      for await (const { type } of sessionEvents(session.id, context, { transient: false })) seen.push(type)
      return seen
    }
    const away = follow()
    answer = () => Promise.reject(new TransientError('Redis is away'))
    await waitUntil('it has looked again and again', () => looks > 3)
    answer = () => Promise.reject(sessionNotFound(session.id))
    await expect(away).rejects.toMatchObject({ code: 'session_not_found' })

    const missed = follow()
    answer = () => Promise.resolve(false)
    await waitUntil('it has looked again', () => looks > 2)
    await session.close()
    await waitUntil('it has ended', async () => (await session.report()).session.state === 'completed')
    answer = () => Promise.resolve(true)
    expect(await missed).toEqual(['session.closeRequested', 'session.completed'])
  })

  test('reads no event to learn that a session does not exist', async () => {
    await using troupe = await TestTroupe.connect()
    const { events } = partitionKeys(troupe.tag)
    const asked = await commandsNaming(troupe.redis, events, async () => {
      await expect(all(troupe.client.sessions.get(newId(0)))).rejects.toMatchObject({ code: 'session_not_found' })
    })
    expect(asked.map(({ name }) => name)).not.toContain('xrange')
  })

  test('says so if events that it asked for are no longer kept', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo', 1, { keepOpen: true })
    await session.result({ run: 1 })
    const before = await upTo(session, '0-0', 'run.completed')
    expect(before.map(({ type }) => type)).not.toContain('events.trimmed')
    const after = before[0]?.id ?? ''
    await session.root.send(2)
    await session.result({ run: 2 })
    await trimEvents(troupe.redis, troupe.tag, 'MAXLEN', 1)
    const [told, ...kept] = await upTo(session, after, 'run.completed')
    expect(told).toMatchObject({
      type: 'events.trimmed',
      id: after,
      sessionId: session.id,
      workerId: session.rootId,
      details: { after },
    })
    expect(kept.map(({ type }) => type)).toEqual(['run.started', 'run.completed'])
  })
})
