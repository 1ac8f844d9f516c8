/** Duty: what is said between a test and its node processes. It goes over their channel: command lines can be read by others. */

import type { ModelSettings } from '../core/definition/model.ts'
import type { Policy } from '../core/policy.ts'
import type { ScriptedReply } from '../models/scripted-model.ts'
import type { CrashPoint } from './crash-point.ts'

/** What the agents of a kind are answered, in the order in which they ask. */
export type Replies = Readonly<Record<string, readonly ScriptedReply[]>>

export interface NodeOrder {
  readonly redisUrl: string
  readonly namespace: string
  /** Absolute path of a folder of worker files, or of a module that exports definitions. */
  readonly workers: string
  /** Of the root worker, which they must define. */
  readonly kind: string
  readonly models: ModelSettings | null
  readonly replies: Replies
  readonly concurrency: number
  readonly policy: Partial<Policy>
  readonly journal: string
  readonly crashAt: CrashPoint | null
}

/** A node is loaded with its order, begins at a word, and drains at another. */
export type NodeWord = { readonly order: NodeOrder } | 'begin' | 'stop'
export type NodeNews = 'loaded' | 'begun' | { readonly refused: string }
