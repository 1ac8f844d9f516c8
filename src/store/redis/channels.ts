/** Duty: listens on pub/sub channels. Messages may be lost, for example while the connection is away. */
import { guarded } from '../script/script.ts'
import type { Redis } from './redis.ts'

export type Handlers = ReadonlyMap<string, (message: string) => void>

/**
 * Calls the handler of a channel for each of its messages. Resolves when it listens, on a connection in subscriber mode on which others may listen
 * too. Throws a TransientError if it does not listen within the deadline.
 */
export async function hearChannels(redis: Redis, handlers: Handlers, what: string, deadlineMs: number): Promise<void> {
  redis.on('message', (channel: string, message: string) => handlers.get(channel)?.(message))
  await guarded(`listening for ${what}`, () => redis.subscribe(...handlers.keys()), deadlineMs)
}
