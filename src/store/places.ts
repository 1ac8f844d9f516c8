/**
 * Duty: the partitions of a namespace, each with the connection to where its keys are, and the caller of its scripts.
 * PLACES-1 While a process runs, their number may be raised: `grow` adds the new ones to the list and to all lists that were made of it, at one moment.
 */
import type { WorkerLog } from '../core/definition/worker-log.ts'
import { type Place, placesOf } from './keys.ts'
import type { Connections } from './redis/connections.ts'
import type { Redis } from './redis/redis.ts'
import { ScriptCaller } from './script/script.ts'

export interface OpenPlace extends Place {
  readonly redis: Redis
  readonly caller: ScriptCaller
}

export class Places {
  /** By partition. */
  readonly all: readonly OpenPlace[]
  readonly #namespace: string
  readonly #open: (place: Place) => OpenPlace
  readonly #addToLists: ((place: OpenPlace) => void)[] = []

  constructor(connections: Connections, namespace: string, partitions: number, log?: WorkerLog) {
    // Partitions that share a connection share its caller.
    const callers = new Map<Redis, ScriptCaller>()
    this.#namespace = namespace
    this.#open = (one) => {
      const redis = connections.at(one.keys.tag)
      const caller = callers.get(redis) ?? new ScriptCaller(redis, undefined, log)
      callers.set(redis, caller)
      return { ...one, redis, caller }
    }
    const all: OpenPlace[] = []
    this.all = all
    this.#addToLists.push((place) => all.push(place))
    this.grow(partitions)
  }

  get first(): OpenPlace {
    return this.all[0] as OpenPlace
  }

  /** One thing for each of them, in a list that grows with them. */
  map<T>(make: (place: OpenPlace) => T): readonly T[] {
    const made = this.all.map(make)
    this.#addToLists.push((place) => made.push(make(place)))
    return made
  }

  /** Returns those that are new. */
  grow(partitions: number): readonly OpenPlace[] {
    const from = this.all.length
    for (const place of placesOf(this.#namespace, partitions).slice(from).map(this.#open))
      for (const add of this.#addToLists) add(place)
    return this.all.slice(from)
  }
}
