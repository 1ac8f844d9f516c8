/** Duty: the rows that lists are made of: sessions, kinds, nodes, dead letters. */
import type { Message } from '../core/message.ts'
import type { SessionReport } from './report.ts'

export type SessionSummary = Pick<
  SessionReport,
  'id' | 'name' | 'kind' | 'state' | 'mode' | 'createdAt' | 'finishedAt'
> & { readonly workers: number }

export interface KindSummary {
  readonly kind: string
  readonly pool: string
  readonly description: string
  /** Live nodes that host it. */
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
}

export interface DeadLetter {
  readonly id: string
  readonly sessionId: string
  readonly workerId: string
  readonly message: Message
  readonly evidence: Readonly<Record<string, unknown>>
}
