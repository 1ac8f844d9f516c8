/**
 * Trouble for a Redis Cluster that goes on for a while: slots move from primary to primary all the time, and primaries die, stand still or hand over
 * meanwhile.
 * CLUSTER-TROUBLE-1 A primary from or to which a slot is on its way is left alone: a replica that takes over knows nothing of the move (docs/cluster.md).
 * CLUSTER-TROUBLE-2 What was acknowledged before a primary fails is at its replica. From then on until the cluster is whole, what is acknowledged in its
 *     partitions may be lost: a gap.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { ReplyError } from 'ioredis'
import type { Random } from './fault/fault-settings.ts'
import { type RedisCluster, replicate } from './redis/redis-cluster.ts'
import type { RedisServer } from './redis/redis-server.ts'
import { ask } from './redis/sentinel-group.ts'
import { waitUntil } from './time/wait-until.ts'

const wholeMsMax = 120_000
/** How long what is written may take to a replica, where nobody looked. */
const lagMsMax = 20_000

export interface Gap {
  readonly partitions: ReadonlySet<number>
  /** By the clock of this process, as Date.now(). */
  readonly from: number
  readonly to: number
  readonly of: Trouble
}

type Deed = 'kill' | 'stand still' | 'hand over'
type Trouble = 'move' | 'move cut short' | Deed | 'by itself'

export class ClusterTrouble {
  readonly gaps: Gap[] = []
  readonly done: Record<Trouble, number> = {
    move: 0,
    'move cut short': 0,
    kill: 0,
    'stand still': 0,
    'hand over': 0,
    'by itself': 0,
  }
  readonly #cluster: RedisCluster
  /** The tags of the partitions, in their order. */
  readonly #tags: readonly string[]
  readonly #random: Random
  readonly #busy = new Set<RedisServer>()
  /** The servers that fail now or are to take over, and those that did since somebody looked. */
  readonly #failing = new Set<RedisServer>()
  readonly #failed = new Set<RedisServer>()

  constructor(cluster: RedisCluster, tags: readonly string[], random: Random) {
    this.#cluster = cluster
    this.#tags = tags
    this.#random = random
  }

  /** Until the signal; resolves when the cluster is whole again. */
  async run(over: AbortSignal): Promise<void> {
    const watching = new AbortController()
    const watched = this.#watch(watching.signal)
    await Promise.all([this.#moveSlots(over), this.#failPrimaries(over)])
    watching.abort()
    await watched
  }

  /** For whoever reads why something should not be lost: the gaps of these partitions around that time. */
  around(partitions: readonly number[], at: number): string {
    const near = this.gaps.filter((gap) => Math.abs(gap.from - at) < 60_000 || Math.abs(gap.to - at) < 60_000)
    const told = near.map(({ partitions: some, from, to, of }) => {
      const own = partitions.filter((one) => some.has(one))
      return `${of} ${from - at} to ${to - at} ms in partitions [${[...some].join()}], of these [${own.join()}]`
    })
    return `partitions [${partitions.join()}], acknowledged ${new Date(at).toISOString()}; gaps: ${told.join('; ')}`
  }

  /** Whether what was acknowledged in one of these partitions in this time may be lost. */
  mayBeLost(partitions: readonly number[], from: number, to = from): boolean {
    return this.gaps.some(
      (gap) => partitions.some((one) => gap.partitions.has(one)) && gap.from <= to && from <= gap.to,
    )
  }

  async #moveSlots(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      await pause(500 * this.#random())
      const tag = this.#pick(this.#tags) as string
      const source = await this.#free(this.#cluster.primaryOf(tag))
      const others = (await this.#primaries()).filter((one) => one !== source && !this.#busy.has(one))
      const target = this.#pick(others)
      if (source === null || target === undefined || this.#busy.has(source)) continue
      await this.#holding([source, target], () => this.#move(tag, source, target))
    }
  }

  async #move(tag: string, source: RedisServer, target: RedisServer): Promise<void> {
    const from = Date.now()
    try {
      const move = await this.#cluster.beginMove(tag, target)
      await move.moveKeys(this.#random())
      await pause(1_000 * this.#random())
      await move.end()
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error
      // On a busy machine one of the two was taken for dead in between, and lost the news of the move. Until the keys of the slot are
      // together again, what is written there may be lost.
      await this.#cluster.fixMoves()
      this.gaps.push({
        partitions: new Set([this.#tags.indexOf(tag)]),
        from: from - lagMsMax,
        to: Date.now(),
        of: 'move cut short',
      })
      this.done['move cut short']++
      return
    }
    for (const server of [source, target]) await replicate(server)
    this.done.move++
  }

  async #failPrimaries(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      await pause(4_000 + 8_000 * this.#random())
      const victim = this.#pick((await this.#primaries()).filter((one) => !this.#busy.has(one)))
      if (victim === undefined || over.aborted) continue
      await this.#holding([victim], () => this.#fail(victim))
    }
  }

  async #fail(victim: RedisServer): Promise<void> {
    const here = await Promise.all(this.#tags.map(async (tag) => (await this.#cluster.primaryOf(tag)) === victim))
    const own = new Set(here.flatMap((isHere, partition) => (isHere ? [partition] : [])))
    const [first] = own
    // The others say nothing about the storm.
    if (first === undefined) return
    const tag = this.#tags[first] as string
    const replica = await this.#cluster.replicaOf(victim)
    const deed = this.#pick<Deed>(['kill', 'kill', 'stand still', 'hand over']) as Deed
    const from = Date.now()
    await replicate(victim)
    for (const server of [victim, replica]) {
      this.#failing.add(server)
      this.#failed.add(server)
    }
    if (deed === 'kill') await victim.kill()
    if (deed === 'stand still') victim.freeze()
    if (deed === 'hand over') await ask(replica, (redis) => redis.call('CLUSTER', 'FAILOVER'))
    await this.#cluster.promotedAfter(victim, tag)
    if (deed === 'kill') await victim.restart()
    if (deed === 'stand still') victim.thaw()
    await waitUntil('the cluster is whole', () => this.#cluster.isWhole(), wholeMsMax)
    this.#failing.clear()
    this.done[deed]++
    if (deed !== 'hand over') this.gaps.push({ partitions: own, from, to: Date.now(), of: deed })
  }

  /** Servers that get too little of the machine take each other for dead, and a replica takes over that nobody asked to. */
  async #watch(over: AbortSignal): Promise<void> {
    let before = new Set(await this.#primaries())
    while (!over.aborted) {
      await pause(500)
      const now = new Set(await this.#primaries())
      const changed = [...before.symmetricDifference(now)].filter((one) => !this.#failed.has(one) && !one.isAway)
      before = now
      this.#failed.clear()
      for (const server of this.#failing) this.#failed.add(server)
      if (changed.length === 0) continue
      this.done['by itself']++
      const all = new Set(this.#tags.keys())
      this.gaps.push({ partitions: all, from: Date.now() - lagMsMax, to: Date.now() + lagMsMax, of: 'by itself' })
    }
  }

  #primaries(): Promise<RedisServer[]> {
    return this.#cluster.primaries()
  }

  async #free(asked: Promise<RedisServer>): Promise<RedisServer | null> {
    const server = await asked.catch(() => null)
    return server === null || this.#busy.has(server) ? null : server
  }

  async #holding(servers: readonly RedisServer[], deed: () => Promise<void>): Promise<void> {
    for (const server of servers) this.#busy.add(server)
    await deed()
    for (const server of servers) this.#busy.delete(server)
  }

  #pick<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.#random() * items.length)]
  }
}
