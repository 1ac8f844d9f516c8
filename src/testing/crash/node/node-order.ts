/** Duty: the messages between a test and its node processes. They use a channel, because other users can read command lines. */

import type { ModelSettings } from '../../../core/definition/model.ts'
import type { Policy } from '../../../core/policy.ts'
import type { ScriptedReply } from '../../../models/local/scripted-model.ts'
import type { CrashPoint } from '../crash-point.ts'

/** The replies for agents of a kind, in the order in which they ask. */
export type Replies = Readonly<Record<string, readonly ScriptedReply[]>>

export interface NodeOrder {
  readonly redisUrl: string
  readonly namespace: string
  /** Absolute path of a folder of worker files, or of a module that exports definitions. */
  readonly workers: string
  /** The kind of the root worker. The workers must define it. */
  readonly kind: string
  readonly models: ModelSettings | null
  readonly replies: Replies
  readonly concurrency: number
  readonly policy: Partial<Policy>
  readonly journal: string
  readonly crashAt: CrashPoint | null
}

/** A node is loaded with its order, begins at one message, and drains at another. */
export type NodeWord = { readonly order: NodeOrder } | 'begin' | 'stop'
export type NodeNews = 'loaded' | 'begun' | { readonly refused: string }
