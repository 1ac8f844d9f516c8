/** What a test tells a node process at its start, and what that says back. */
import type { Policy } from '../../../src/core/policy.ts'

export interface NodeOrder {
  readonly name: string
  readonly redisUrl: string
  readonly namespace: string
  readonly ledger: string
  readonly concurrency: number
  readonly policy: Partial<Policy>
  /** The address of the fake provider, for programs that host agents. */
  readonly providerUrl?: string | undefined
  /** Before every ending commit a message is posted to the worker, until it was sent this many. */
  readonly lateMessages?: number | undefined
  /** True: the node hosts a release of its kinds that is drawn by chance (chance-release.ts). */
  readonly isRelease?: boolean | undefined
}

export type NodeNews = { readonly ready: string } | { readonly draining: true }
