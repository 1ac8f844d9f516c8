import type { Redis } from 'ioredis'
import { partitionKeys, sessionChannels, tagOf } from '../../src/store/keys.ts'

interface Reported {
  readonly namespace: string
  readonly partition?: number
  /** The session that the event is about, by its root. */
  readonly about: string
  readonly notes: string
}

/** Adds to the stream what a script would report of a session, and publishes it unless its message is to be lost. Resolves with its id. */
export async function reportEvent(
  redis: Redis,
  { namespace, partition = 0, about, notes }: Reported,
  { isLost = false } = {},
): Promise<string> {
  const keys = partitionKeys(tagOf(namespace, partition))
  const id = (await redis.xadd(keys.events, '*', about, notes)) as string
  const { events, ends, created } = sessionChannels(keys.tag, about)
  const messages = { [events]: `${id}\n0\n\n${notes}`, [ends]: `${id}\n0\n${about}\n${notes}` }
  const all = { ...messages, [created]: messages[ends] as string }
  for (const [channel, message] of isLost ? [] : Object.entries(all)) {
    // Redis before 7.0 has no sharded channels.
    await redis.spublish(channel, message).catch(() => redis.publish(channel, message))
  }
  return id
}
