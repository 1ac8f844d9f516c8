/**
 * Duty: which server of a cluster has which slot, as the servers themselves say.
 * MAP-1 Each time a connection of a slot opens, it asks anew which server has the slot. So a server that took the slot over is found as a primary
 * behind Sentinel is.
 * MAP-2 The map also looks every `lookEveryMs`: a connection that still answers, or hangs, may go to a server that has the slot no longer.
 * MAP-3 The servers are asked in turn, as any of them may be away or out of date; the one that a redirection names is asked first.
 *    A server that was taken out of the cluster, or is cut off from most of it, answers as well: the others are asked before it is believed.
 * MAP-4 Where a slot was redirected to is tried once, whatever the server that is asked says: servers may disagree for seconds after a slot has moved.
 */
import type { Redis } from 'ioredis'
import { otherServer, redisPlace, serversOf } from '../../../core/redis-url.ts'
import { infoFields } from '../server-facts.ts'
import { slotCount } from '../slot.ts'
import { openOnce } from './open-once.ts'

export interface Server {
  readonly host: string
  readonly port: number
}

/** Slots that a server has, and the servers that follow it. */
export interface Range extends Server {
  readonly from: number
  readonly to: number
  readonly replicas: readonly Server[]
}

/** A connection that follows a slot. */
export interface Follower {
  readonly slot: number
  /** The server that the connection goes to now. */
  readonly server: Server | undefined
  /** Leaves the server that the connection goes to, and opens it again. */
  moveOn(): void
}

/** What one server says. */
interface View {
  readonly ranges: readonly Range[]
  /** It knows a server for each slot, and is in touch with most of them. */
  readonly isWhole: boolean
}

const lookEveryMs = 2_000
/** Connections that open at the same time share one answer, if it is no older than this. */
const freshMs = 50

export class ClusterMap {
  readonly #url: string
  /** Addresses of all servers that were ever named, the next to be asked first. */
  #servers: string[]
  #ranges: readonly Range[] = []
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined
  readonly #redirections = new Map<number, Server>()
  #asked: { readonly server: string; readonly redis: Redis } | undefined
  readonly #followers = new Set<Follower>()
  #looking: NodeJS.Timeout | undefined

  constructor(url: string) {
    this.#url = url
    this.#servers = [...serversOf(url)]
  }

  /** If no server answers, or none has the slot, it throws what the server that was asked last said. */
  async serverOf(slot: number): Promise<Server> {
    const redirection = this.#redirections.get(slot)
    this.#redirections.delete(slot)
    if (redirection !== undefined) return redirection
    if (performance.now() - this.#readAt > freshMs) await this.#readOnce()
    const range = this.#ranges.find(({ from, to }) => slot >= from && slot <= to)
    if (range === undefined) throw new Error(`CLUSTERDOWN no server of the cluster has slot ${slot}`)
    return range
  }

  /** Who has which slots now. */
  async ranges(): Promise<readonly Range[]> {
    await this.#readOnce()
    return this.#ranges
  }

  /** A server said that another has the slot: `MOVED <slot> <host>:<port>`. */
  redirected(message: string): void {
    const [, slot, host = '', port] = /^MOVED (\d+) (.*):(\d+)$/.exec(message) ?? []
    this.#readAt = Number.NEGATIVE_INFINITY
    if (host === '') return
    this.#redirections.set(Number(slot), { host, port: Number(port) })
    this.#askFirst(otherServer(this.#url, host, Number(port)))
  }

  follow(follower: Follower): void {
    this.#followers.add(follower)
    this.#looking ??= setInterval(() => this.#look(), lookEveryMs).unref()
  }

  unfollow(follower: Follower): void {
    this.#followers.delete(follower)
    if (this.#followers.size > 0) return
    clearInterval(this.#looking)
    this.#looking = undefined
    this.#endAsking()
  }

  #look(): void {
    this.#readOnce().then(
      () => this.#moveOn(),
      // The next look asks another server.
      () => {},
    )
  }

  #moveOn(): void {
    for (const follower of this.#followers) {
      const { slot, server } = follower
      const range = this.#ranges.find(({ from, to }) => slot >= from && slot <= to)
      if (server && range && nameOf(server) !== nameOf(range)) follower.moveOn()
    }
  }

  #readOnce(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
      // All followers may have left by now: a connection that stays would keep the process alive.
      if (this.#followers.size === 0) this.#endAsking()
    })
    return this.#reading
  }

  async #read(): Promise<void> {
    let doubtful: View | undefined
    let last: unknown
    for (const server of this.#servers) {
      try {
        const view = await this.#ask(server)
        if (view.isWhole) return this.#believe(view)
        if (doubtful === undefined || slotsIn(view) > slotsIn(doubtful)) doubtful = view
      } catch (error) {
        last = error
      }
      this.#endAsking()
      this.#askLast(server)
    }
    if (doubtful === undefined) throw last
    this.#believe(doubtful)
  }

  #believe({ ranges }: View): void {
    this.#ranges = ranges
    this.#readAt = performance.now()
    for (const range of ranges) this.#note(otherServer(this.#url, range.host, range.port))
  }

  async #ask(server: string): Promise<View> {
    if (this.#asked?.server !== server) {
      this.#endAsking()
      this.#asked = { server, redis: openOnce(redisPlace(server).url) }
    }
    const { redis } = this.#asked
    const [slots, info] = await Promise.all([redis.cluster('SLOTS'), redis.cluster('INFO')])
    const rows = slots as unknown as [number, number, ...[string, number][]][]
    const asked = new URL(server)
    // A server that does not know how it is reached leaves its host out. One whose address nobody knows any more has port 0: it is away, whatever it had.
    const serverAt = ([host, port]: [string, number]) => ({
      host: host || asked.hostname.replace(/^\[|\]$/g, ''),
      port,
    })
    const ranges = rows.flatMap(([from, to, ...named]) => {
      const [primary, ...replicas] = named.map(serverAt)
      return primary?.port ? [{ ...primary, from, to, replicas: replicas.filter(({ port }) => port > 0) }] : []
    })
    return { ranges, isWhole: infoFields(info).cluster_state === 'ok' && slotsIn({ ranges }) === slotCount }
  }

  #endAsking(): void {
    this.#asked?.redis.disconnect()
    this.#asked = undefined
  }

  #note(server: string): void {
    if (!this.#servers.includes(server)) this.#servers.push(server)
  }

  #askFirst(server: string): void {
    this.#servers = [server, ...this.#servers.filter((one) => one !== server)]
  }

  #askLast(server: string): void {
    this.#servers = [...this.#servers.filter((one) => one !== server), server]
  }
}

/** How many slots have a server. */
export function slotsIn({ ranges }: { readonly ranges: readonly Range[] }): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)
}

export function nameOf({ host, port }: Server): string {
  return `${host}:${port}`
}
