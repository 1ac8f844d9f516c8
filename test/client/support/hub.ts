/** Hubs of clients, each with connections of its own. */
import { inject } from 'vitest'
import { EventHub, type EventHubOptions } from '../../../src/client/event/event-hub.ts'
import { newId } from '../../../src/core/ids.ts'
import { openRedis } from '../../../src/store/redis/redis.ts'
import type { TestTroupe } from '../../support/test-troupe.ts'

/** Makes a hub of a namespace, and the connection of its client. */
export function hubFor(namespace: string, redisUrl = inject('redisUrl'), more: Partial<EventHubOptions> = {}) {
  const commands = openRedis(inject('redisUrl'))
  const hub = new EventHub({
    namespace,
    open: () => openRedis(redisUrl),
    deadlineMs: 5_000,
    commands: () => commands,
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
