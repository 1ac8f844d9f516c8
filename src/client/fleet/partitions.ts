/**
 * Duty: find out how many partitions a namespace has, also while a client runs; a new namespace is set up only for a caller that will create sessions.
 */
import { defaultNamespace } from '../../config.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { Places } from '../../store/places.ts'
import type { Connections } from '../../store/redis/connections.ts'
import { checkNamespace, lookAtNamespace } from '../../store/set-up/namespace.ts'
import { partitionsNow } from '../../store/set-up/set-up.ts'

/**
 * What a client is for. create: it creates sessions, and sets up a namespace that is new, with a number of partitions.
 * change: it changes sessions that exist. look: it writes nothing, and its Redis user needs no right to write.
 */
export type Purpose = 'create' | 'change' | 'look'

export async function partitionsOf(
  connections: Connections,
  {
    namespace = defaultNamespace,
    partitions,
    purpose = 'create',
  }: { readonly namespace?: string | undefined; readonly partitions?: number | undefined; readonly purpose?: Purpose },
  deadlineMs: number,
): Promise<number> {
  if (purpose === 'create') return checkNamespace(connections, namespace, partitions, deadlineMs)
  return lookAtNamespace(connections, namespace, partitions, { deadlineMs, willWrite: purpose === 'change' })
}

/** How often a client looks whether the number was raised. */
const lookEveryMs = 5_000

export class PartitionLook {
  readonly #places: Places
  readonly #deadlineMs: number
  readonly #timer: NodeJS.Timeout
  #looking: Promise<void> | undefined

  constructor(places: Places, deadlineMs: number) {
    this.#places = places
    this.#deadlineMs = deadlineMs
    this.#timer = setInterval(() => void this.learn().catch(() => {}), lookEveryMs).unref()
  }

  /** A call that comes while it looks is answered by the same look. */
  learn(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  /** A call that named an id of a partition which this client does not know did nothing, and is made once more when the client has looked: it may be new. */
  async knowing<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof NotFoundError) || error.details.partition === undefined) throw error
      await this.learn()
      return call()
    }
  }

  async #look(): Promise<void> {
    this.#places.grow(await partitionsNow(this.#places.first, this.#deadlineMs))
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
