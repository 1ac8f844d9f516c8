/**
 * Transient events among the stored events of a session: they come as they are published, and change nothing of the stored ones (EVENTS-1 to
 * EVENTS-3).
 */
import { describe, expect, test } from 'vitest'
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { isEventBefore, type RawEvent, streamIdOf } from '../../../src/core/event/event.ts'
import { newId } from '../../../src/core/ids.ts'
import { RedisLivePublisher } from '../../../src/store/event/live-channel.ts'
import { partitionKeys, sessionChannels } from '../../../src/store/keys.ts'
import { openLossyRedis } from '../../../src/store/redis/redis.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitEvents } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { withoutLooks } from '../support/hub.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
const parent = defineWorker({
  receive(message, self) {
    if (message.kind === 'input') for (let child = 0; child < 5; child++) self.spawn('echo', child)
    else if (self.openChildren === 0) self.reply('done')
  },
})

/** A client, and somebody who publishes as a node would. */
async function opened() {
  const troupe = await TestTroupe.connect()
  const connection = openLossyRedis(troupe.redisUrl)
  await waitUntil('the publisher is connected', () => connection.status === 'ready')
  const publisher = new RedisLivePublisher(() => connection, troupe.namespace)
  const say = ({ id, rootId }: Session, text: string) =>
    publisher.publish(id, rootId, [['text.delta', { text, iteration: 1 }]])
  const subscribers = async ({ id }: Session) => {
    const [, count] = await troupe.redis.pubsub('NUMSUB', sessionChannels(troupe.tag, id).live)
    return Number(count)
  }
  /** Waits until Redis has answered everything: notes are dropped while too much is unanswered. */
  const heeded = () => waitUntil('what was said is answered', () => connection.commandQueue.length === 0)
  const close = async () => {
    connection.disconnect()
    await troupe[Symbol.asyncDispose]()
  }
  return { troupe, publisher, say, heeded, subscribers, [Symbol.asyncDispose]: close }
}

type EventsQuery = Parameters<Session['events']>[0]

/** Reads in the background; `events` grows, `done` resolves with the end. */
function reading(session: Parameters<typeof awaitEvents>[0], query: EventsQuery = {}) {
  const events: RawEvent[] = []
  const done = (async () => {
    for await (const event of awaitEvents(session, query)) events.push(event)
  })()
  return { events, done, texts: () => events.filter(({ transient }) => transient).map(({ details }) => details.text) }
}

const stored = (events: readonly RawEvent[]) => events.filter(({ transient }) => !transient)

describe('a follower', () => {
  test('a follower gets streamed text and progress of tools, by worker and in order [1.31]', async () => {
    await using scene = await opened()
    const { troupe, publisher, say, subscribers } = scene
    const session = await troupe.create('echo')
    const child = newId(0)
    const follower = reading(session, { after: '0-0' })
    await waitUntil('it follows', async () => (await subscribers(session)) === 1 && follower.events.length === 1)
    say(session, 'Hel')
    publisher.publish(session.id, session.rootId, [
      ['text.delta', { text: 'lo', iteration: 1 }],
      ['reasoning.delta', { text: 'hm', iteration: 2 }],
    ])
    publisher.publish(session.id, child, [['tool.progress', { toolCallId: 'c1', toolName: 'read', value: 0.5 }]])
    await waitUntil('all was told', () => follower.events.length === 5)
    const head = { id: follower.events[0]?.id, sessionId: session.id, transient: true }
    expect(follower.events.slice(1)).toMatchObject([
      { ...head, type: 'text.delta', workerId: session.rootId, details: { text: 'Hel', iteration: 1 } },
      { ...head, type: 'text.delta', workerId: session.rootId, details: { text: 'lo', iteration: 1 } },
      { ...head, type: 'reasoning.delta', workerId: session.rootId, details: { text: 'hm', iteration: 2 } },
      { ...head, type: 'tool.progress', workerId: child, details: { toolCallId: 'c1', toolName: 'read', value: 0.5 } },
    ])
    await troupe.startNode({ echo })
    await follower.done
    expect(follower.events.at(-1)?.ended).toBeDefined()
  })

  test('a follower that asks for stored events only gets nothing else, and subscribes to nothing', async () => {
    await using scene = await opened()
    const { troupe, say, subscribers } = scene
    const session = await troupe.create('echo')
    const follower = reading(session, { after: '0-0', transient: false })
    await waitUntil('it follows', () => follower.events.length === 1)
    expect(await subscribers(session)).toBe(0)
    say(session, 'unheard')
    await troupe.startNode({ echo })
    await follower.done
    expect(follower.events.every(({ transient }) => transient === undefined)).toBe(true)
  })

  test('a lone follower costs a subscription: there is none before the first, after the last, or for a waiter for the result', async () => {
    await using scene = await opened()
    const { troupe, subscribers } = scene
    const session = await troupe.create('echo')
    const controllers = [new AbortController(), new AbortController()]
    const waiting = session.result()
    expect(await subscribers(session)).toBe(0)
    const followers = controllers.map(({ signal }) => reading(session, { signal }))
    await waitUntil('both follow over one subscription', async () => (await subscribers(session)) === 1)
    controllers[0]?.abort()
    await followers[0]?.done
    expect(await subscribers(session)).toBe(1)
    controllers[1]?.abort()
    await followers[1]?.done
    await waitUntil('nobody is subscribed', async () => (await subscribers(session)) === 0)
    await troupe.startNode({ echo })
    expect((await waiting).status).toBe('completed')
  })
})

describe('stored events', () => {
  test('stored events keep their order, and none is doubled or missing, however many notes are published between them', async () => {
    await using scene = await opened()
    const { troupe, say } = scene
    const session = await troupe.create('parent')
    const live = withoutLooks(troupe, session)
    const [follower, late] = [reading(live, { after: '0-0' }), reading(live)]
    const saying = setInterval(() => say(session, 'x'), 1)
    await waitUntil('something was said', () => follower.texts().length > 3 && late.texts().length > 3)
    await troupe.startNode({ parent, echo })
    await Promise.all([follower.done, late.done])
    clearInterval(saying)
    const again = reading(session, { after: '0-0' })
    await again.done
    expect(again.texts()).toEqual([])
    expect(stored(follower.events)).toEqual(again.events)
    expect(stored(late.events)).toEqual(again.events.slice(1))
  })

  test('stored events follow without a gap or a duplicate on a resume after any event, transient ones too', async () => {
    await using scene = await opened()
    const { troupe, say } = scene
    const session = await troupe.create('parent')
    const [follower, live] = [reading(session, { after: '0-0' }), reading(session)]
    const saying = setInterval(() => say(session, 'x'), 1)
    await waitUntil('something was said before any event', () => live.texts().length > 0)
    await troupe.startNode({ parent, echo })
    await Promise.all([follower.done, live.done])
    clearInterval(saying)
    const all = stored(follower.events)
    // A transient event that came before the first event has the place from which its follower listened.
    expect(live.events[0]).toMatchObject({ transient: true, id: streamIdOf(all[0]?.id ?? '') })
    for (const { events } of [follower, live]) {
      const ids = new Set(events.filter(({ transient }) => transient).map(({ id }) => id))
      expect(ids.size).toBeGreaterThan(0)
      for (const id of ids) {
        const rest = reading(session, { after: id })
        await rest.done
        expect(rest.events).toEqual(all.filter((event) => isEventBefore(id, event.id)))
      }
      // The id of a transient event is that of the stored event before it.
      const strays = events.filter(({ id, transient }, index) => {
        const before = stored(events.slice(0, index)).at(-1)
        return transient && before && before.id !== id
      })
      expect(strays).toEqual([])
    }
  })

  test('stored events that came while the past was read come once, and transient events before them are dropped', async () => {
    await using scene = await opened()
    const { troupe, say, subscribers } = scene
    const session = await troupe.create('nobody')
    // Fills the past with more than one page.
    const filling = troupe.redis.pipeline()
    for (let count = 0; count < 600; count++) filling.xadd(partitionKeys(troupe.tag).events, '*', 'other', '[]')
    await filling.exec()
    const events = awaitEvents(session, { after: '0-0' })
    const told = [(await events.next()).value]
    const watching = reading(session)
    await waitUntil('both follow', () => {
      say(session, 'past')
      return watching.texts().length > 0
    })
    // The hub keeps the order of words: when the last one is there, none is on its way.
    say(session, 'the last of the past')
    await waitUntil('all of it was said', () => watching.texts().includes('the last of the past'))
    await session.root.send('more')
    await waitUntil('it was accepted', () => stored(watching.events).length === 1)
    told.push((await events.next()).value)
    const next = events.next()
    await waitUntil('something else was said', async () => {
      say(session, 'now')
      return (await Promise.race([next, Promise.resolve(null)])) !== null
    })
    told.push((await next).value)
    expect(await subscribers(session)).toBe(1)
    await events.return()
    expect(told).toMatchObject([
      { type: 'session.created' },
      { type: 'message.accepted' },
      { type: 'text.delta', details: { text: 'now' } },
    ])
  })

  test('stored events reach a follower that lags, and it learns exactly how many transient events were dropped [1.26]', async () => {
    await using scene = await opened()
    const { troupe, say, heeded, subscribers } = scene
    const session = await troupe.create('echo')
    const events = awaitEvents(session)
    const first = events.next()
    await waitUntil('it follows', async () => (await subscribers(session)) === 1)
    say(session, 'first')
    expect((await first).value).toMatchObject({ transient: true, details: { text: 'first' } })
    // From here on the follower takes nothing.
    let said = 0
    const sayMore = (text: string) => {
      said++
      say(session, text)
    }
    const watching = reading(session)
    await waitUntil('the other one follows, too', () => {
      sayMore('x')
      return watching.texts().length > 0
    })
    for (let round = 1; round <= 30; round++) {
      for (let count = 0; count < 500; count++) sayMore('x')
      await heeded()
      await waitUntil('the round was told', () => watching.texts().length > round * 500)
    }
    // The hub keeps the order of words: when the last one is there, none is on its way.
    sayMore('the last')
    await waitUntil('the last was told', () => watching.texts().at(-1) === 'the last')
    await troupe.startNode({ echo })
    await watching.done
    const late: RawEvent[] = []
    for await (const event of events) late.push(event)
    expect(stored(late)).toEqual(stored(watching.events))
    const [gap, ...others] = late.filter(({ type }) => type === 'events.dropped')
    expect(others).toEqual([])
    expect(late.length - stored(late).length).toBe(10_000 + 1)
    expect(gap).toMatchObject({ transient: true, workerId: session.rootId, details: { count: said - 10_000 } })
  })
})

test('notes from before the first follower are kept, and notes beyond the limit are counted', async () => {
  await using scene = await opened()
  const { troupe, say, heeded } = scene
  const session = await troupe.client.sessions.create({ kind: 'echo', input: 1 }, { follow: true })
  // Another object for the same session knows nothing from before.
  const watching = reading(troupe.client.sessions.get(session.id))
  await waitUntil('the other one follows', () => {
    say(session, 'x')
    return watching.texts().length > 0
  })
  for (let round = 1; round <= 21; round++) {
    for (let count = 0; count < 500; count++) say(session, 'x')
    await heeded()
    await waitUntil('the round was told', () => watching.texts().length > round * 500)
  }
  await troupe.startNode({ echo })
  await watching.done
  const follower = reading(session, { after: '0-0' })
  await follower.done
  const gaps = follower.events.filter(({ type }) => type === 'events.dropped')
  expect(gaps).toHaveLength(1)
  const told = follower.events.filter(({ type }) => type === 'text.delta').length
  expect(told + Number(gaps[0]?.details.count)).toBeGreaterThanOrEqual(watching.texts().length)
  expect(follower.events.at(-1)?.ended).toBeDefined()
})
