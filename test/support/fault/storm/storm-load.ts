/**
 * What goes on in a storm: trees, some of which are cancelled, and conversations, to which messages come from outside and, by way of a forwarder, from
 * workers of other partitions. Each remembers when it was acknowledged.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Session } from '../../../../src/client/session/session.ts'
import { NotFoundError, TransientError } from '../../../../src/core/errors.ts'
import type { TreeInput } from '../../../programs/node/fault-kinds.ts'
import type { Random } from '../fault-settings.ts'
import type { Harness } from '../harness.ts'

const triedMsMax = 120_000

export interface Tree {
  readonly session: Session
  readonly at: number
  readonly isToBeCancelled: boolean
  /** When the cancel of the tree was acknowledged. */
  cancelledAt: number | null
}

/** A conversation that is sent numbers in their order, each with the time of its acknowledgement. */
export interface Talk {
  readonly session: Session
  /** The worker of another partition that passes the numbers on. */
  readonly by: Session | null
  readonly sent: Map<number, number>
}

export class StormLoad {
  readonly trees: Tree[] = []
  readonly talks: Talk[] = []
  readonly #harness: Harness
  readonly #random: Random
  readonly #tree: TreeInput

  constructor(harness: Harness, random: Random, tree: TreeInput) {
    this.#harness = harness
    this.#random = random
    this.#tree = tree
  }

  /** The conversations are there before the storm begins. */
  async begin(count: number): Promise<void> {
    const create = (kind: string, name: string) =>
      this.#harness.client.sessions.create({ kind, input: begins(kind), keepOpen: true, idempotencyKey: name })
    for (let number = 0; number < count; number++) {
      const session = await create('tally', `talk ${number}`)
      const by = number % 2 === 0 ? null : await create('forwarder', `forwarder ${number}`)
      this.talks.push({ session, by, sent: new Map() })
    }
  }

  async run(over: AbortSignal): Promise<void> {
    const talking = this.talks.map((talk) => this.#talk(talk, over))
    await Promise.all([this.#grow(over), ...talking])
  }

  async #grow(over: AbortSignal): Promise<void> {
    const cancels: Promise<void>[] = []
    for (let number = 0; !over.aborted; number++) {
      await pause(400 + 800 * this.#random())
      const order = { kind: 'tree', input: this.#tree, idempotencyKey: `tree ${number}` }
      const session = await untilTaken(() => this.#harness.client.sessions.create(order))
      const tree: Tree = { session, at: Date.now(), isToBeCancelled: this.#random() < 0.25, cancelledAt: null }
      this.trees.push(tree)
      if (!tree.isToBeCancelled) continue
      const cancel = this.#cancel(tree)
      cancel.catch(() => {})
      cancels.push(cancel)
    }
    await Promise.all(cancels)
  }

  async #cancel(tree: Tree): Promise<void> {
    await pause(500 * this.#random())
    const isTaken = await untilTaken(() => tree.session.cancel('storm')).catch((error: unknown) => {
      // The session was lost.
      if (error instanceof NotFoundError) return false
      throw error
    })
    if (isTaken) tree.cancelledAt = Date.now()
  }

  async #talk({ session, by, sent }: Talk, over: AbortSignal): Promise<void> {
    for (let number = 1; !over.aborted; number++) {
      await pause(200 + 400 * this.#random())
      const key = { idempotencyKey: `message ${number}` }
      const to = session.rootId
      await untilTaken(() => (by === null ? session.root.send(number, key) : by.root.send({ to, value: number }, key)))
      sent.set(number, Date.now())
    }
  }
}

/** A forwarder begins with a message to nobody. */
function begins(kind: string): unknown {
  return kind === 'tally' ? 0 : { to: null }
}

/** Calls again under the same key as long as the store is away. */
async function untilTaken<T>(call: () => Promise<T>): Promise<T> {
  const give = performance.now() + triedMsMax
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof TransientError) || performance.now() > give) throw error
      await pause(200)
    }
  }
}
