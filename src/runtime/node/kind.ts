/** Duty: a kind as a node runs it: its pool, what parents are told of it, and the behaviour that advances a turn of such a worker. */
import type { Behaviour } from '../turn/behaviour.ts'

export interface Kind {
  readonly name: string
  readonly pool: string
  readonly description: string
  /** The window of its model in tokens, if its author says it. */
  readonly window?: number | undefined
  /** JSON Schema of its inputs, if it has one that is not too long. */
  readonly input?: Readonly<Record<string, unknown>> | undefined
  /** Its definition says that it spawns nothing: damage to what its session keeps for children does not stop its workers. */
  readonly isChildless: boolean
  /** Its turns are a function of one message, which is over when it returns. */
  readonly isHandler: boolean
  /** True if its definition has `onCancel`. */
  readonly hasOnCancel: boolean
  readonly behaviour: Behaviour
}
