/** What a process with a node and its parent say to each other. Each message is plain JSON. */
import type { Config, ConfigFlags } from '../../../config.ts'
import type { DefinitionFacts } from '../../view/definition-facts.ts'
import type { LogRecord } from '../../view/lines/log-line.ts'

export type NodeSettings = Pick<Config, 'namespace' | 'partitions'> & {
  readonly redisUrl: string
  readonly workers: string
  /** What options of the command say. The environment says the rest in each process anew, because .env may have changed. */
  readonly flags: Pick<ConfigFlags, 'model' | 'prices' | 'concurrency' | 'logLevel'>
}

export interface LoadedKind extends DefinitionFacts {
  readonly kind: string
  readonly description: string
}

/** Why a kind of the folder cannot be hosted. */
export interface KindProblem {
  readonly kind: string
  readonly message: string
  /** load: its file cannot be loaded. use: it was loaded, and lacks something, such as the key of its model. */
  readonly at: 'load' | 'use'
}

/** What the worker files of the folder hold now. */
export interface Loaded {
  readonly kinds: readonly LoadedKind[]
  readonly problems: readonly KindProblem[]
  /** Sentences about files that are passed over. */
  readonly skipped: readonly string[]
  /** Absolute paths of the files that were loaded, or looked for: worker files and what they import. */
  readonly sources: readonly string[]
}

export type ToChild =
  | { readonly type: 'load'; readonly settings: NodeSettings }
  /** Begin to work with what was loaded. */
  | { readonly type: 'start' }
  /** Drain for so long at most, and end. */
  | { readonly type: 'stop'; readonly drainMs: number }

export type ToParent =
  | ({ readonly type: 'loaded' } & Loaded)
  | { readonly type: 'started'; readonly nodeId: string }
  /** From now on it begins no turn. */
  | { readonly type: 'draining' }
  | { readonly type: 'log'; readonly record: LogRecord }
  /** The process can neither load nor start, and ends. */
  | { readonly type: 'failed'; readonly code: string; readonly message: string }
