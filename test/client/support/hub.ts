/**
 * Hubs of clients, each with connections of its own. They do not look by themselves for events that did not arrive, as a client does now and then: what a test
 * sees has arrived. A test of these looks sets `lookMs`.
 */
import { inject } from 'vitest'
import { EventHub, type EventHubOptions } from '../../../src/client/event/event-hub.ts'
import type { Session } from '../../../src/client/session/session.ts'
import { type EventsQuery, sessionEvents } from '../../../src/client/session/session-events.ts'
import type { TroupeEvent } from '../../../src/core/event/event.ts'
import { newId } from '../../../src/core/ids.ts'
import { openRedis } from '../../../src/store/redis/redis.ts'
import type { TestTroupe } from '../../support/test-troupe.ts'
import { hourMs } from '../../support/time/due-timers.ts'

/** Makes a hub of a namespace, and the connection of its client. */
export function hubFor(namespace: string, redisUrl = inject('redisUrl'), more: Partial<EventHubOptions> = {}) {
  const commands = openRedis(inject('redisUrl'))
  const hub = new EventHub({
    namespace,
    open: () => openRedis(redisUrl),
    deadlineMs: 5_000,
    commands: () => commands,
    lookMs: hourMs,
    ...more,
  })
  const stop = hub.stop.bind(hub)
  hub.stop = async () => {
    await stop()
    commands.disconnect()
  }
  return hub
}

/** A hub that listens already. */
export async function hubOf(troupe: TestTroupe): Promise<EventHub> {
  const hub = hubFor(troupe.namespace)
  await hub.listen(newId(0), () => {})
  return hub
}

/** The session as a client follows it that neither looks for events that did not arrive, nor whether the session has ended. */
export function withoutLooks({ namespace, redisUrl, redis, tag }: TestTroupe, session: Session) {
  async function* events(query: EventsQuery = {}): AsyncGenerator<TroupeEvent, void, undefined> {
    const hub = hubFor(namespace, redisUrl)
    const hasEnded = async () => {
      const { state } = await session.summary()
      return state !== 'active' && state !== 'cancelling'
    }
    const context = { hub, redis, tag, deadlineMs: 5_000, silenceMs: hourMs, createdAt: async () => null, hasEnded }
    try {
      yield* sessionEvents(session.id, context, query) as AsyncGenerator<TroupeEvent, void, undefined>
    } finally {
      await hub.stop()
    }
  }
  return { id: session.id, report: () => session.report(), events }
}
