/** Duty: connects a connection to the primary that sentinels name, and to the next one when they name another (primary-watch.ts). */
import type { Socket } from 'node:net'
import { type RedisOptions, SentinelConnector } from 'ioredis'
import { type PrimaryFollower, type PrimaryWatch, primaryWatch } from './primary-watch.ts'

type Emit = (type: string, error: Error) => void

interface Server {
  readonly host: string
  readonly port: number
}

/** Internals of ioredis: how a connection asks a sentinel for its server. */
interface Inside {
  resolve(sentinel: unknown): Promise<Server | null>
}

const lookEveryMsUsual = 1_000

/** How a connection finds its primary, and each copy that BullMQ makes of it. */
export function followPrimary(lookEveryMs = lookEveryMsUsual): Required<Pick<RedisOptions, 'Connector'>> {
  return {
    Connector: class extends PrimaryConnector {
      constructor(options: unknown) {
        super(options as RedisOptions, lookEveryMs)
      }
    },
  }
}

class PrimaryConnector extends SentinelConnector implements PrimaryFollower {
  server: string | undefined
  readonly #watch: PrimaryWatch
  /** What the sentinel named that was asked last. */
  #found: string | undefined

  constructor(options: RedisOptions, lookEveryMs: number) {
    super(options)
    const { sentinels = [], name, family, sentinelUsername: username, sentinelPassword: password } = options
    this.#watch = primaryWatch({ sentinels, name, username, password, family }, lookEveryMs)
    const inside = this as unknown as Inside
    const resolve = inside.resolve.bind(this)
    inside.resolve = async (sentinel) => {
      const found = await resolve(sentinel)
      this.#found = found ? `${found.host}:${found.port}` : undefined
      if (this.#found !== undefined && this.#watch.hasReplaced(this.#found))
        throw new Error(`it still names ${this.#found}, which most sentinels have replaced`)
      return found
    }
  }

  override async connect(emit: Emit): Promise<Socket> {
    this.#watch.follow(this)
    const stream = await super.connect(emit)
    this.server = this.#found
    stream.once('close', () => {
      this.server = undefined
    })
    return stream
  }

  moveOn(): void {
    this.stream.destroy(new Error('the sentinels name another primary'))
  }

  override disconnect(): void {
    this.#watch.unfollow(this)
    super.disconnect()
  }
}
