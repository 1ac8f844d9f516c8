/**
 * Duty: the sessions that somebody follows now, as their followers announce it to all nodes over pub/sub.
 * FOLLOWED-1 A session that nobody follows costs its nodes no command: they publish what is transient only for sessions that are known here.
 * FOLLOWED-2 A follower repeats its announcement, so that a node which started later, or missed one, knows it within `announceEveryMs`. If no
 *            node received it, it is repeated at once.
 * FOLLOWED-3 A follower that is gone is forgotten after `followedMs`. At most `followedMax` sessions are known.
 */
import { performance } from 'node:perf_hooks'
import { isId, partitionOf } from '../../core/ids.ts'
import { type PartitionKeys, partitionKeys, tagOf } from '../keys.ts'
import { hearChannels, type ListenAt } from '../redis/channels.ts'
import type { Redis } from '../redis/redis.ts'

export const announceEveryMs = 2_000
/** How often a follower repeats its announcement while no node has received it. */
export const announceAgainMs = 100
const followedMs = 7_000
/** Anybody may write to the channel. */
const followedMax = 10_000
const newcomer = ' new'

/** Tells the nodes that somebody follows the session. Resolves with whether any node received it. Never rejects. */
export async function announceFollower(
  redis: Redis,
  namespace: string,
  sessionId: string,
  isNew: boolean,
): Promise<boolean> {
  // What waits in a queue while Redis is away would come too late.
  if (redis.status !== 'ready') return false
  const { followers } = partitionKeys(tagOf(namespace, partitionOf(sessionId)))
  // Without the right to publish, the follower gets stored events only. The next announcement is early enough.
  const count = await redis.publish(followers, isNew ? sessionId + newcomer : sessionId).catch(() => 1)
  return count > 0
}

export class FollowedSessions {
  /** By session, the time until which it counts as followed. */
  readonly #until = new Map<string, number>()

  has(sessionId: string): boolean {
    if (this.#until.size === 0) return false
    const until = this.#until.get(sessionId)
    if (until === undefined) return false
    if (until > performance.now()) return true
    this.#until.delete(sessionId)
    return false
  }

  /** Notes an announcement. Returns the session if its follower has yet to be told what goes on; otherwise null. */
  note(announcement: string): string | null {
    const isNew = announcement.endsWith(newcomer)
    const sessionId = isNew ? announcement.slice(0, -newcomer.length) : announcement
    if (!isId(sessionId)) return null
    const isKnown = this.has(sessionId)
    if (!isKnown && this.#until.size >= followedMax) this.#forgetThoseGone()
    if (!isKnown && this.#until.size >= followedMax) return null
    this.#until.set(sessionId, performance.now() + followedMs)
    return isNew || !isKnown ? sessionId : null
  }

  #forgetThoseGone(): void {
    const now = performance.now()
    for (const [sessionId, until] of this.#until) if (until <= now) this.#until.delete(sessionId)
  }
}

/** Calls back with the place and the announcement of each follower, as `hearChannels` does. */
export async function hearFollowers<Place extends { readonly keys: PartitionKeys }>(
  at: ListenAt,
  places: readonly Place[],
  onFollower: (place: Place, announcement: string) => void,
  deadlineMs: number,
): Promise<void> {
  const handlers = new Map(
    places.map((place) => [place.keys.followers, (text: string) => onFollower(place, text)] as const),
  )
  await hearChannels(at, handlers, 'followers', deadlineMs)
}
