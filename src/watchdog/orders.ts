/** Duty: what a node tells its watchdog thread, and what the thread asks of it. Each of them can be cloned. */
import type { HeldTurn } from '../core/ports/ports.ts'
import type { UserCall } from '../core/worker/last-words.ts'

/** What the thread knows from its start. */
export interface ThreadSettings {
  readonly redisUrl: string
  readonly nodeId: string
  readonly host: string
  readonly namespace: string
  readonly wakeupMs: number
  /** How often the node beats, and the thread looks. */
  readonly everyMs: number
  /** Code that blocks the loop for so long is named. */
  readonly namedAfterMs: number
  /** After this time, the process ends. */
  readonly endsAfterMs: number
  /** JSON lines, or lines for people. */
  readonly isJson: boolean
  /**
   * Its first number grows with each beat. The second becomes 1 when an order is carried out, the third when the node ends as the thread has asked. The
   * fourth is the number of partitions.
   */
  readonly shared: Int32Array<SharedArrayBuffer>
  /** The expression that answers a `Look` of the node, as JSON. */
  readonly lookExpression: string
  /** The expression that ends the process. */
  readonly endExpression: string
}

/** What the node says of itself while something blocks it. */
export interface Look {
  readonly call: UserCall | null
  /** The place in code of users that runs now. */
  readonly place: string | null
  readonly turns: readonly HeldTurn[]
  /** Somebody debugs the process: at a breakpoint it stands still because they want it to. */
  readonly isDebugged: boolean
}

/** Last words, and for whom. */
export interface ReleaseOrder {
  /** The node ends, and its turns are released. Otherwise only the last words are kept. */
  readonly ends: boolean
  readonly words: string
  /** The workers whose code is the cause, or may be: their starts count. */
  readonly authors: readonly string[]
  readonly turns: readonly HeldTurn[]
}
