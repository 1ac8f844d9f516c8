/**
 * Three primaries of a Redis Cluster and a replica of each: all are processes of this test. Which server has a slot is what the servers say.
 * They are introduced to each other by hand, which is faster than by `redis-cli --cluster create`.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Redis } from 'ioredis'
import { slotOf } from '../../../src/store/redis/slot.ts'
import { waitUntil } from '../time/wait-until.ts'
import { ownPort } from './own-port.ts'
import { RedisServer, type RedisServerOptions } from './redis-server.ts'
import { ask } from './sentinel-group.ts'

const slots = 16_384
const wholeMsMax = 60_000
const promotionMsMax = 60_000
const replicationMsMax = 120_000
const keysAtOnce = 100

interface Member {
  readonly server: RedisServer
  readonly bus: number
  readonly id: string
}

export interface RedisClusterOptions extends Pick<RedisServerOptions, 'durability' | 'settings'> {
  readonly primaries?: number
  /** The number of replicas of each primary. */
  readonly replicas?: number
}

export class RedisCluster implements AsyncDisposable {
  readonly #members: readonly Member[]

  private constructor(members: readonly Member[]) {
    this.#members = members
  }

  static async start(options: RedisClusterOptions = {}): Promise<RedisCluster> {
    const { primaries = 3, replicas = 1, durability = 'none', settings: more = [] } = options
    await using started = new AsyncDisposableStack()
    const count = primaries * (1 + replicas)
    const members = await Promise.all(
      Array.from({ length: count }, async () => {
        const bus = await ownPort()
        const settings = [
          'cluster-enabled yes',
          `cluster-port ${bus}`,
          'cluster-node-timeout 1500',
          'repl-diskless-sync-delay 0',
          ...more,
        ]
        const server = started.use(await RedisServer.start({ durability, settings }))
        return { server, bus, id: await ask(server, (redis) => redis.cluster('MYID')) }
      }),
    )
    const cluster = new RedisCluster(members)
    await cluster.#introduce(primaries)
    started.move()
    return cluster
  }

  get servers(): readonly RedisServer[] {
    return this.#members.map(({ server }) => server)
  }

  /** An address that names some of the servers. */
  get url(): string {
    return `redis://${this.servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
  }

  async #introduce(primaries: number): Promise<void> {
    const [first, ...others] = this.#members as [Member, ...Member[]]
    for (const [index, { server }] of this.#members.slice(0, primaries).entries()) {
      const [from, to] = [index, index + 1].map((nth) => Math.round((nth * slots) / primaries)) as [number, number]
      const own = Array.from({ length: to - from }, (_, slot) => String(from + slot))
      await ask(server, async (redis) => {
        await redis.call('CLUSTER', 'ADDSLOTS', ...own)
        await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1))
      })
    }
    for (const { server, bus } of others)
      await ask(first.server, (redis) => redis.call('CLUSTER', 'MEET', '127.0.0.1', String(server.port), String(bus)))
    const know = async ({ server }: Member) => {
      const info = await ask(server, (redis) => redis.cluster('INFO'))
      return info.includes(`cluster_known_nodes:${this.#members.length}`)
    }
    await waitUntil('all servers know each other', () => all(this.#members, know), wholeMsMax)
    for (const [index, { server }] of this.#members.slice(primaries).entries()) {
      const { id } = this.#members[index % primaries] as Member
      await waitUntil('a server follows another', () => follow(server, id), wholeMsMax)
    }
    await waitUntil('the cluster is whole', () => this.isWhole(), wholeMsMax)
  }

  /** Tells whether all slots are served, and each replica that runs follows its primary. */
  async isWhole(): Promise<boolean> {
    return all(this.#members, async ({ server }) => {
      if (server.isAway) return true
      const info = await ask(server, (redis) => redis.cluster('INFO'))
      const replication = await ask(server, (redis) => redis.info('replication'))
      return info.includes('cluster_state:ok') && !replication.includes('master_link_status:down')
    })
  }

  /** The server that has the slot of this key, as most servers that run say. */
  async primaryOf(key: string): Promise<RedisServer> {
    return (await this.#ownerOf(slotOf(key))).server
  }

  /** Finds another primary than that of this key. */
  async otherPrimary(key: string): Promise<RedisServer> {
    const { server } = await this.#ownerOf(slotOf(key))
    const other = (await this.primaries()).find((one) => one !== server)
    if (other === undefined) throw new Error('There is no other primary.')
    return other
  }

  /** The servers that are primaries by their own word, of those that answer. */
  async primaries(): Promise<RedisServer[]> {
    const running = this.servers.filter((server) => !server.isAway)
    const roles = await Promise.all(running.map((server) => ask(server, (redis) => redis.role())))
    return running.filter((_, index) => String(roles[index]?.[0]) === 'master')
  }

  /** Finds a server that follows this one. */
  async replicaOf({ port }: RedisServer): Promise<RedisServer> {
    for (const server of this.servers) {
      if (server.isAway) continue
      const [role, , followed] = await ask(server, (redis) => redis.role())
      if (String(role) === 'slave' && Number(followed) === port) return server
    }
    throw new Error(`Nobody follows the server at port ${port}.`)
  }

  async #ownerOf(slot: number): Promise<Member> {
    const votes = Map.groupBy(await this.#portsOf(slot), (port) => port)
    const [port] = [...votes].toSorted(([, a], [, b]) => b.length - a.length)[0] ?? []
    const found = this.#members.find(({ server }) => server.port === port)
    if (found === undefined) throw new Error(`Nobody has slot ${slot}.`)
    return found
  }

  /** Where the slot is, by the word of each server that runs. */
  async #portsOf(slot: number): Promise<number[]> {
    const ports: number[] = []
    for (const { server } of this.#members) {
      if (server.isAway) continue
      const rows = (await ask(server, (redis) => redis.cluster('SLOTS'))) as unknown as [
        number,
        number,
        [string, number],
      ][]
      const port = rows.find(([from, to]) => slot >= from && slot <= to)?.[2][1]
      if (port !== undefined) ports.push(port)
    }
    return ports
  }

  /** Begins to move the slot of this key; `end` moves what is left of its keys, and gives it to its new server. */
  async beginMove(
    key: string,
    to: RedisServer,
  ): Promise<{ moveKeys(share: number): Promise<void>; end(): Promise<void> }> {
    const slot = slotOf(key)
    const source = await this.#ownerOf(slot)
    const target = this.#members.find(({ server }) => server === to) as Member
    const set = (member: Member, ...words: string[]) =>
      ask(member.server, (redis) => redis.call('CLUSTER', 'SETSLOT', String(slot), ...words))
    await set(target, 'IMPORTING', source.id)
    await set(source, 'MIGRATING', target.id)
    const moveKeys = (share: number) => ask(source.server, (redis) => migrate(redis, slot, target.server.port, share))
    return {
      moveKeys,
      end: async () => {
        await moveKeys(1)
        await set(target, 'NODE', target.id)
        await set(source, 'NODE', target.id)
      },
    }
  }

  /** Gives the slots of these keys to the primaries in turn, and resolves when all servers agree on that. */
  async spread(keys: readonly string[]): Promise<void> {
    const primaries = await this.primaries()
    for (const [index, key] of keys.entries()) {
      const to = primaries[index % primaries.length] as RedisServer
      if ((await this.primaryOf(key)) === to) continue
      const move = await this.beginMove(key, to)
      await move.end()
      const isSettled = async () => new Set(await this.#portsOf(slotOf(key))).size === 1
      await waitUntil('all servers agree who has the slot', isSettled, wholeMsMax)
    }
  }

  /** Brings what this primary has to its replica, which gets nothing more from then on: what is written later is lost with the primary. */
  async cutReplicaOf(primary: RedisServer): Promise<void> {
    const replica = await this.replicaOf(primary)
    await replicate(primary)
    await ask(replica, (redis) => redis.config('SET', 'masteruser', 'nobody', 'masterauth', 'wrong'))
    await ask(primary, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'replica'))
  }

  /** Ends moves of slots that were left in the middle, as an operator does: with the tool of Redis. */
  async fixMoves(): Promise<void> {
    const answers = async () => {
      const [primary] = await this.primaries()
      if (primary === undefined) return false
      const words = ['--cluster', 'fix', `127.0.0.1:${primary.port}`]
      return promisify(execFile)('redis-cli', words).then(
        () => true,
        () => false,
      )
    }
    await waitUntil('no slot is left between two servers', answers, wholeMsMax)
  }

  /** Resolves with the server that took over from this one, which was the primary of the key. */
  promotedAfter(old: RedisServer, key: string): Promise<RedisServer> {
    const promoted = async () => {
      const found = await this.primaryOf(key)
      if (found === old) return false
      const [role] = await ask(found, (redis) => redis.role())
      const info = await ask(found, (redis) => redis.cluster('INFO'))
      return String(role) === 'master' && info.includes('cluster_state:ok') && found
    }
    return waitUntil('another server has taken over', promoted, promotionMsMax)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.servers.map((server) => server[Symbol.asyncDispose]()))
  }
}

async function all<Item>(items: readonly Item[], is: (item: Item) => Promise<boolean>): Promise<boolean> {
  return (await Promise.all(items.map(is))).every(Boolean)
}

/** The server refuses this as long as it has not heard of that server. */
async function follow(server: RedisServer, id: string): Promise<boolean> {
  const answer = ask(server, (redis) => redis.call('CLUSTER', 'REPLICATE', id))
  return answer.then(
    () => true,
    () => false,
  )
}

/** Moves this share of the keys that the slot has now; with 1, until none is left. */
async function migrate(redis: Redis, slot: number, port: number, share: number): Promise<void> {
  const count = await redis.cluster('COUNTKEYSINSLOT', slot)
  for (let left = Math.floor(count * share); left > 0; ) {
    const keys = await redis.cluster('GETKEYSINSLOT', slot, Math.min(left, keysAtOnce))
    if (keys.length === 0) return
    await redis.call('MIGRATE', '127.0.0.1', String(port), '', '0', '10000', 'KEYS', ...keys)
    left = share === 1 ? await redis.cluster('COUNTKEYSINSLOT', slot) : left - keys.length
  }
}

/** Resolves when what the server has now is at its replica. */
export async function replicate(server: RedisServer): Promise<void> {
  const offsets = async () => {
    const info = await ask(server, (redis) => redis.info('replication'))
    const [, own] = /^master_repl_offset:(\d+)/m.exec(info) ?? []
    const replicas = [...info.matchAll(/^slave\d+:.*state=online,offset=(\d+)/gm)].map(([, offset]) => Number(offset))
    return { own: Number(own), replica: Math.max(0, ...replicas) }
  }
  const { own } = await offsets()
  await waitUntil('a replica has what its primary has', async () => (await offsets()).replica >= own, replicationMsMax)
}
