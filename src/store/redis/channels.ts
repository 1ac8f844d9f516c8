/**
 * Duty: listens on pub/sub channels. Messages may be lost, for example while the connection is away.
 * In a cluster each channel is listened to at the server that has its partition: a script that publishes counts only the listeners there.
 */
import { guarded } from './guarded.ts'
import type { Redis } from './redis.ts'

export type Handlers = ReadonlyMap<string, (message: string) => void>

/** The connection on which to listen to a channel. */
export type ListenAt = (channel: string) => Redis

/**
 * Calls the handler of a channel for each of its messages. Resolves when it listens, on connections in subscriber mode on which others may listen
 * too. Throws a TransientError if it does not listen within the deadline. Without any channel it does nothing.
 */
export async function hearChannels(at: ListenAt, handlers: Handlers, what: string, deadlineMs: number): Promise<void> {
  const groups = Map.groupBy(handlers, ([channel]) => at(channel))
  await Promise.all([...groups].map(([redis, of]) => hearOn(redis, new Map(of), what, deadlineMs)))
}

async function hearOn(redis: Redis, handlers: Handlers, what: string, deadlineMs: number): Promise<void> {
  redis.on('message', (channel: string, message: string) => handlers.get(channel)?.(message))
  await guarded(`listening for ${what}`, () => redis.subscribe(...handlers.keys()), deadlineMs)
}
