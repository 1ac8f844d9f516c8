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
  const message = [sessionChannels(keys.tag, about).events, `${id}\n0\n\n${notes}`] as const
  // Redis before 7.0 has no sharded channels.
  if (!isLost) await redis.spublish(...message).catch(() => redis.publish(...message))
  return id
}
