/** Duty: the rows of lists: sessions, kinds, nodes, dead letters; and what became of a message that was sent or a letter that was handled. */
import type { ErrorCode } from '../core/errors.ts'
import type { Message } from '../core/worker/message/message.ts'
import type { SessionReport } from './report.ts'
import type { ListedState } from './session/session-state.ts'

export type ListedSession = Pick<
  SessionReport,
  'id' | 'name' | 'kind' | 'mode' | 'createdAt' | 'finishedAt' | 'paused' | 'forkedFrom' | 'cost'
> & {
  readonly state: ListedState
  readonly workers: number
  /** How many asks of its workers nobody has answered, among its fifty newest ones. */
  readonly openAsks: number
  /** When the oldest of these asks was asked; null without any. */
  readonly askedAt: number | null
}

/** A part of a list of sessions. */
export interface SessionsPage {
  readonly sessions: readonly ListedSession[]
  /** The id to give as `before` for the next page; null at the end. A page with few sessions, or none, may have a next one. */
  readonly next: string | null
}

export interface KindSummary {
  readonly kind: string
  readonly pool: string
  readonly description: string
  /** The window of its model in tokens, if its author says it (`compaction.window`). */
  readonly window?: number
  /** JSON Schema of its inputs, if it has one that is not too long. */
  readonly input?: Readonly<Record<string, unknown>>
  /** How many live nodes host it, without those that drain. */
  readonly nodes: number
  readonly hosted: boolean
}

export interface NodeSummary {
  readonly id: string
  readonly lastSeenMs: number
  readonly slots: number
  readonly pools: readonly string[]
  readonly kinds: readonly string[]
  readonly pid: number | null
  readonly host: string | null
  /** The node was not seen for the time of a lease: it stands still, or died without a word. */
  readonly stalled?: true
  /** How many turns the node still has: it drains, takes up no work, and ends with them. Counted about a second ago. Absent: it does not drain. */
  readonly draining?: number
  /** Whether it has a secret, with which it signs results that sessions send to an address (`notify: { url }`). Absent: it does not say. */
  readonly signs?: boolean
}

/** How much work a pool has, and how many nodes that needs. */
export interface PoolSummary {
  readonly pool: string
  /** Workers in its run queues. */
  readonly waiting: number
  /** For how long the first of them has waited. */
  readonly oldestMs: number | null
  /** Timers and retries of its workers that are due within a minute. */
  readonly due: number
  /** Turns that have lasted longer than 100 ms. */
  readonly busy: number
  /** Live nodes without those that drain, and the slots of all of them. */
  readonly nodes: number
  readonly slots: number
  /** How many nodes would have a slot for each turn that waits, is due or is busy: with as many slots as its nodes have on average, or 50 without a node. */
  readonly expectedNodes: number
}

/** A partition, where it is, and who works in it. */
export interface PartitionSummary {
  readonly partition: number
  /** Null: its server does not answer. */
  readonly sessions: number | null
  /** Live nodes that work in it. Some seconds after the number was raised they work in all. Null: its server does not answer. */
  readonly nodes: number | null
  /** The slot of a Redis Cluster; null if there is no cluster. */
  readonly slot: number | null
  /** The server that has the slot now, by the address and port that the servers know; null if there is no cluster, or if no server has the slot. */
  readonly server: string | null
}

/** A message, or a step of a run, that took its node down again and again, so that it was put aside. */
export interface DeadLetter {
  readonly id: string
  readonly sessionId: string
  readonly workerId: string
  /** The input that was put aside. Null if a step within a run took the node down: then the history of the failed run has the input. */
  readonly message: Message | null
  /** Why the stored message cannot be read; `message` then shows its beginning. Absent: it can be read. */
  readonly unreadable?: string
  /** The message or the recorded step that was next each time, in words for people. */
  readonly killedBy: string
  /** The id of the message in the mailbox; null if the letter was not put back. */
  readonly redrivenAs: string | null
  /** True if somebody marked it as dealt with. */
  readonly dismissed: boolean
  readonly evidence: Readonly<Record<string, unknown>>
}

/** What became of a message that was sent. */
export interface Sent {
  /** Its number among all inputs that the worker ever accepted, counted from 0. */
  readonly position: number
  /**
   * Its idempotency key was used before. `position` is that of the message that was sent then, and nothing was added. It may be this very
   * message: the client asks again if Redis went away before it answered.
   */
  readonly again: boolean
  /**
   * True: the message was sent to steer or interrupt a run, and the run in progress receives it. False: it begins a run of its own when those before
   * it have ended. If it was sent to steer or interrupt while no run was in progress, the next run receives it with the message that begins it.
   */
  readonly steers: boolean
  /** Says that its key was used before, and whether for another message; null otherwise. */
  readonly warning: string | null
}

/** What became of a dead letter that somebody wanted to put back or dismiss. */
export interface Handled {
  readonly letterId: string
  readonly workerId: string
  readonly refusal: { readonly code: ErrorCode; readonly message: string } | null
}

export interface Redriven extends Handled {
  /** again: it was put back before. */
  readonly status: 'redriven' | 'again' | 'refused'
  /** The id of the message in the mailbox; null if it was refused. */
  readonly messageId: string | null
  /** The session that the letter began; null if it was put back, or refused. */
  readonly newSessionId: string | null
}

export interface Dismissed extends Handled {
  /** again: it was dismissed before. */
  readonly status: 'dismissed' | 'again' | 'refused'
}
