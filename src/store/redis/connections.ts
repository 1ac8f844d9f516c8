/**
 * Duty: the connections of one node: all are closed with it.
 */
import { endRedis, openLossyRedis, openRedis, type Redis } from './redis.ts'

export class Connections {
  readonly #url: string
  readonly #opened: Redis[] = []

  constructor(url: string) {
    this.#url = url
  }

  open(): Redis {
    return this.#keep(openRedis(this.#url))
  }

  /** For what may be lost. */
  openLossy(): Redis {
    return this.#keep(openLossyRedis(this.#url))
  }

  #keep(redis: Redis): Redis {
    this.#opened.push(redis)
    return redis
  }

  close(): void {
    for (const redis of this.#opened) endRedis(redis)
  }
}
