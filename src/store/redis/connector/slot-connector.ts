/**
 * Duty: connects a connection to the server of a cluster that has a slot. All keys of a partition are in one slot, so such a connection is one to
 * a single Redis for everybody who uses it, BullMQ included: no command needs to be sent to one of several servers.
 * REDIRECT-1 If a server refuses a command because the slot is elsewhere, or is being moved, the command is not redirected: the connection moves on,
 * and the command is sent again. A script that was redirected (ASK) would take keys that have not moved yet for keys that do not exist.
 */
import { connect as connectPlain, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { AbstractConnector, type RedisOptions } from 'ioredis'
import { type Finding, pauseBefore } from '../redis.ts'
import type { ClusterMap, Follower, Server } from './cluster-map.ts'

type Emit = (type: string, error: Error) => void

/** How a connection finds its server, and each copy that BullMQ makes of it. */
export function followSlot(map: ClusterMap, slot: number): Finding {
  return {
    Connector: class extends SlotConnector {
      constructor(options: unknown) {
        super(map, slot, options as RedisOptions)
      }
    },
    reconnectOnError({ message }) {
      if (message.startsWith('MOVED ')) map.redirected(message)
      else if (!/(^|: -)READONLY/.test(message)) return false
      return 1
    },
  }
}

class SlotConnector extends AbstractConnector implements Follower {
  readonly slot: number
  server: Server | undefined
  readonly #map: ClusterMap
  readonly #options: RedisOptions

  constructor(map: ClusterMap, slot: number, options: RedisOptions) {
    super(options.disconnectTimeout ?? 0)
    this.#map = map
    this.slot = slot
    this.#options = options
  }

  async connect(emit: Emit): Promise<Socket> {
    this.connecting = true
    this.#map.follow(this)
    const { host, port } = await this.#find(emit)
    const { tls } = this.#options
    const stream = tls ? connectTls({ host, port, ...tls }) : connectPlain({ host, port })
    this.server = { host, port }
    this.stream = stream
    stream.once('close', () => {
      this.server = undefined
    })
    return stream
  }

  /** It asks for as long as nobody ends the connection: at the first error ioredis would end it for good. */
  async #find(emit: Emit): Promise<Server> {
    for (let attempt = 1; ; attempt++) {
      const found = await this.#map.serverOf(this.slot).catch((error: Error) => error)
      if (!this.connecting) throw new Error('Connection is closed.')
      if (!(found instanceof Error)) return found
      emit('error', found)
      await pause(pauseBefore(attempt))
    }
  }

  moveOn(): void {
    this.stream.destroy(new Error(`slot ${this.slot} moved to another server`))
  }

  override disconnect(): void {
    this.#map.unfollow(this)
    super.disconnect()
  }
}
