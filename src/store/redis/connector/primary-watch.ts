/**
 * Duty: leaves a primary that Sentinel has replaced. It may answer for ten seconds more, and what is written there is lost; or it stands still.
 * PRIMARY-1 One timer asks the sentinels of an address for all connections of a process. A command costs nothing, and no sentinel is asked before the
 *    first look.
 * PRIMARY-2 A server is replaced once most sentinels that answer name another one in its place. Its connections are left, and none goes there again before
 *    most name it again. A connection whose sentinel named the next primary before most did stays there, and so does one whose server some know by another name.
 */
import type { Redis } from 'ioredis'
import { openOnce } from './open-once.ts'

/** Where sentinels are, and what they are asked for. */
interface Sentinels {
  readonly sentinels: readonly object[]
  readonly name: string | undefined
  readonly username: string | undefined
  readonly password: string | undefined
  readonly family: number | undefined
}

/** A connection to the server that a sentinel named. */
export interface PrimaryFollower {
  readonly server: string | undefined
  /** Leaves the server that the connection goes to, and opens it again. */
  moveOn(): void
}

const watches = new Map<string, PrimaryWatch>()

/** The watch that all connections of this process share whose sentinels are the same. */
export function primaryWatch(sentinels: Sentinels, lookEveryMs: number): PrimaryWatch {
  const key = JSON.stringify([sentinels, lookEveryMs])
  const watch = watches.get(key) ?? new PrimaryWatch(sentinels, lookEveryMs)
  watches.set(key, watch)
  return watch
}

export class PrimaryWatch {
  readonly #sentinels: Sentinels
  readonly #lookEveryMs: number
  readonly #followers = new Set<PrimaryFollower>()
  /** The connection to each sentinel that answered last time. */
  readonly #asked = new Map<object, Redis>()
  /** What most sentinels name; undefined until they were asked. */
  #primary: string | undefined
  readonly #replaced = new Set<string>()
  #isLooking = false
  #looking: NodeJS.Timeout | undefined

  constructor(sentinels: Sentinels, lookEveryMs: number) {
    this.#sentinels = sentinels
    this.#lookEveryMs = lookEveryMs
  }

  follow(follower: PrimaryFollower): void {
    this.#followers.add(follower)
    this.#looking ??= setInterval(() => void this.#look(), this.#lookEveryMs).unref()
  }

  unfollow(follower: PrimaryFollower): void {
    this.#followers.delete(follower)
    if (this.#followers.size > 0) return
    clearInterval(this.#looking)
    this.#looking = undefined
    this.#primary = undefined
    this.#replaced.clear()
    for (const redis of this.#asked.values()) redis.disconnect()
  }

  hasReplaced(server: string): boolean {
    return this.#replaced.has(server)
  }

  async #look(): Promise<void> {
    // An answer that is late must not take a newer one back.
    if (this.#isLooking) return
    this.#isLooking = true
    const answers = await Promise.all(this.#sentinels.sentinels.map((sentinel) => this.#ask(sentinel)))
    this.#isLooking = false
    const primary = mostNamed(answers.filter((server) => server !== null))
    if (primary !== undefined && this.#followers.size > 0) this.#learn(primary)
  }

  #learn(primary: string): void {
    const before = this.#primary
    this.#primary = primary
    if (before !== undefined && before !== primary) this.#replaced.add(before)
    this.#replaced.delete(primary)
    for (const follower of this.#followers) {
      const { server } = follower
      // Before the first look nobody knows which of two servers came first.
      const isLeft = before === undefined ? server !== primary : this.#replaced.has(server ?? '')
      if (server !== undefined && isLeft) follower.moveOn()
    }
  }

  /** The server that this sentinel names; null if it does not answer, or knows none. */
  async #ask(sentinel: object): Promise<string | null> {
    const { name, username, password, family } = this.#sentinels
    const redis = this.#asked.get(sentinel) ?? openOnce({ ...sentinel, username, password, family })
    this.#asked.set(sentinel, redis)
    try {
      const answer = await redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', `${name}`)
      return (answer as [host: string, port: string]).join(':')
    } catch {
      // The next look asks over another connection.
      redis.disconnect()
      this.#asked.delete(sentinel)
      return null
    }
  }
}

/** The server that more than half of them name. */
function mostNamed(named: readonly string[]): string | undefined {
  return named.find((server) => named.filter((other) => other === server).length > named.length / 2)
}
