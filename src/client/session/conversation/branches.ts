/**
 * Duty: what an agent knew at a position of its history, another conversation that goes on from there, and where two of them part.
 * BRANCH-1 Nothing of the first conversation is changed or stopped: a branch is a session of its own that begins with the same messages.
 * BRANCH-2 A branch may use no more than the worker that it comes from, and its session says the same of approvals. A dry run has no branches: their tools
 *    would act.
 * BRANCH-3 A branch is configured as the worker was at that position.
 */
import { anything, keyRule, type Rules } from '../../../core/check/check-options.ts'
import { nameRule } from '../../../core/definition/worker-name.ts'
import { ConflictError, InputError } from '../../../core/errors.ts'
import { branchMessages } from '../../../core/history/branch-messages.ts'
import type { ChatMessage } from '../../../core/history/chat/chat-message.ts'
import { ContextContainer } from '../../../core/history/context-container.ts'
import { type RunMetadata, RunMetadataFold } from '../../../core/history/run/run-metadata.ts'
import { countingEntries, type PlacedEntry } from '../../../core/history/undone.ts'
import { parseId } from '../../../core/ids.ts'
import { type Configuration, configurationAfter } from '../../../core/worker/message/configuration.ts'
import { type ContextQuery, type HistoryQuery, positionRule } from '../../queries.ts'
import type { SessionSummary, WorkerReport } from '../../report.ts'
import { approvalOptionsOf } from '../../submission/approval-options.ts'
import type { SessionStart } from '../../submission/session-start.ts'
import type { CreateSession } from '../../submission/submission.ts'

export interface ForkQuery extends ContextQuery {
  /** The first message of the branch. Default: none, and the branch waits for one. */
  readonly input?: unknown
  /** Shown to people. Default: the name of the worker. */
  readonly name?: string | undefined
  /** The same key within 24 h returns the same branch. */
  readonly idempotencyKey?: string | undefined
}

export const forkRules: Rules<ForkQuery> = {
  at: positionRule,
  input: anything,
  name: nameRule,
  idempotencyKey: keyRule,
}

/** Two conversations: the messages that both begin with, and what each has after them. */
export interface ConversationDiff {
  readonly shared: readonly ChatMessage[]
  readonly left: readonly ChatMessage[]
  readonly right: readonly ChatMessage[]
}

/** The part of a worker that is needed. */
interface Conversing {
  readonly id: string
  report(): Promise<WorkerReport>
  history(query: HistoryQuery): Promise<readonly PlacedEntry[]>
}

/** Entries are read in pages, so that a long history is no long answer of Redis. */
const pageSize = 1_000

/** What an agent knew once the entry at this position was written. Throws an InputError for a handler, and for a position that is not there. */
export async function contextOf(worker: Conversing, at: number | undefined): Promise<ContextContainer> {
  return (await readContext(worker, at)).container
}

/** The messages with which a branch at the end of its history would begin. */
export async function conversationOf(worker: Conversing): Promise<readonly ChatMessage[]> {
  return (await readContext(worker, undefined)).messages
}

interface Known {
  /** Of the last entry that was read. */
  readonly position: number
  readonly container: ContextContainer
  readonly messages: readonly ChatMessage[]
  /** What somebody had set for it then; undefined: nothing. */
  readonly configured: Configuration | undefined
}

async function readContext(worker: Conversing, at: number | undefined): Promise<Known> {
  const report = await worker.report()
  const { sessionId, id: workerId, name, kind, parentId, depth } = report
  const last = report.historyLength - 1
  if (at !== undefined && at > last)
    throw new InputError(`at: the history of worker ${workerId} ends at position ${last}, not ${at}.`)
  const container = new ContextContainer({ sessionId, workerId, name, kind, parentId, depth })
  const position = at ?? last
  const items = await readEntries(worker, position)
  const entries = countingEntries(items).map(({ entry }) => entry)
  for (const entry of entries) container.apply(entry)
  if (container.history.isEmpty && report.usage.modelCalls === undefined)
    throw new InputError(
      `worker ${workerId} of kind ${kind} has no conversation: it is no agent, or has received nothing.`,
    )
  const set = items.findLast(({ entry }) => entry.type === 'configured')?.entry
  const configured = set?.type === 'configured' ? configurationAfter(null, set) : undefined
  return { position, container, messages: branchMessages(entries), configured }
}

/** What the runs of this worker left behind. */
export async function metadataOf(worker: Conversing): Promise<RunMetadata> {
  const fold = new RunMetadataFold()
  const items = await readEntries(worker, (await worker.report()).historyLength - 1)
  for (const { entry } of countingEntries(items)) fold.apply(entry)
  return fold.metadata
}

/** Reads the entries from the first to that of the position `last`. */
export async function readEntries(worker: Pick<Conversing, 'history'>, last: number): Promise<PlacedEntry[]> {
  const pages: (readonly PlacedEntry[])[] = []
  for (let after = -1; after < last; ) {
    const items = await worker.history({ after, limit: Math.min(pageSize, last - after) })
    const end = items.at(-1)
    if (end === undefined) break
    pages.push(items)
    after = end.position
  }
  return pages.flat()
}

/** The session that the branch has to be created as. */
export async function forkRequest(
  worker: Conversing,
  { at, input, name, idempotencyKey }: ForkQuery,
  summaryOf: (sessionId: string) => Promise<SessionSummary>,
): Promise<{ readonly request: CreateSession; readonly start: SessionStart }> {
  parseId(worker.id, 'worker')
  const report = await worker.report()
  const { approval, forkedFrom } = await summaryOf(report.sessionId)
  if (forkedFrom?.dryRun)
    throw new ConflictError(
      'transition_illegal',
      `worker ${worker.id} is of a dry run: the tools of a branch would act. Begin the branch in session ${forkedFrom.sessionId}, which it is a copy of: troupe ${report.parentId === null ? 'worker fork' : 'session tree'} ${forkedFrom.sessionId}`,
    )
  const { position, messages, configured } = await readContext(worker, at)
  const request = {
    kind: report.kind,
    name: name ?? report.name,
    keepOpen: true,
    history: messages.map((message, index) => ({ ...message, id: `m${index}` })),
    ...rightsOf(report),
    ...approvalOptionsOf(approval),
    ...(input !== undefined && { input }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  }
  return { request, start: { branchOf: { workerId: report.id, position }, configured } }
}

function rightsOf({ permissions }: WorkerReport): Pick<CreateSession, 'permissions'> {
  return permissions === null ? {} : { permissions }
}

/** The fields of an entry that do not count in a comparison: which message it is, when it was written, and by which turn. */
const heads = new Set(['id', 'at', 'v', 'run', 'epoch'])

/** Messages are the same if they say the same. */
export function diffOf(left: readonly ChatMessage[], right: readonly ChatMessage[]): ConversationDiff {
  const said = (message: ChatMessage) => JSON.stringify(Object.entries(message).filter(([name]) => !heads.has(name)))
  let shared = 0
  while (shared < Math.min(left.length, right.length)) {
    if (said(left[shared] as ChatMessage) !== said(right[shared] as ChatMessage)) break
    shared++
  }
  return { shared: left.slice(0, shared), left: left.slice(shared), right: right.slice(shared) }
}
