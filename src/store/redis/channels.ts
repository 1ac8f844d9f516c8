/** Duty: listens on pub/sub channels. Messages may be lost, for example while the connection is away. */
import { guarded } from './guarded.ts'
import type { Redis } from './redis.ts'

export type Handlers = ReadonlyMap<string, (message: string) => void>

/**
 * Calls the handler of a channel for each of its messages. Resolves when it listens, on a connection in subscriber mode on which others may listen
 * too. Throws a TransientError if it does not listen within the deadline. Without any channel it does nothing.
 */
export async function hearChannels(redis: Redis, handlers: Handlers, what: string, deadlineMs: number): Promise<void> {
  // Redis refuses to subscribe to no channel. A node that hosts no kinds has none.
  if (handlers.size === 0) return
  redis.on('message', (channel: string, message: string) => handlers.get(channel)?.(message))
  await guarded(`listening for ${what}`, () => redis.subscribe(...handlers.keys()), deadlineMs)
}
