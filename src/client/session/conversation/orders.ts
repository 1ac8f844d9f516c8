/**
 * Duty: ask something of an agent itself, and report what came of it: compact its conversation, or run on what is there.
 * CLIENT-ORDERS-1 The outcome of an order is in the history of the worker, and only the history decides. It looks there ever more rarely.
 * CLIENT-ORDERS-2 The end of a run before the order says nothing of it: the order waits in the inbox. Only a cancel ends the order: one that took it
 *                 out of the inbox, or that came after it was received.
 * CLIENT-ORDERS-3 An order that was put aside as a dead letter has come to nothing, and its caller is told.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { keyRule, type Rule, type Rules, signalRule, wholeNumberRule } from '../../../core/check/check-options.ts'
import { isObject } from '../../../core/check/is-object.ts'
import { checkSettings } from '../../../core/definition/tool/call-settings.ts'
import { ConflictError, InputError } from '../../../core/errors.ts'
import { ContextContainer } from '../../../core/history/context-container.ts'
import type { Entry } from '../../../core/history/entry.ts'
import { runProblem } from '../../../core/history/run/run-problem.ts'
import { countingEntries } from '../../../core/history/undone.ts'
import { sessionIdOfRoot } from '../../../core/ids.ts'
import {
  type Configuration,
  type ConfigurationChange,
  configurationAfter,
  configurationNames,
} from '../../../core/worker/message/configuration.ts'
import { inputIdOf } from '../../../core/worker/message/message.ts'
import type { Order } from '../../../core/worker/message/order.ts'
import { refusalError } from '../../../core/worker/refusal.ts'
import type { WorkerRow } from '../../../store/worker/worker-rows.ts'
import { hasEnded, stateOf } from '../session-summary.ts'
import { type Amended, readAgent } from './amend.ts'
import { readEntries } from './branches.ts'

export interface CompactQuery {
  /** What the summary must also hold, in your words: at most 4 000 characters. */
  readonly instruction?: string | undefined
  /** How many messages of users, replies and groups of results at the end stay as they are, from 1 to 1000. Default: as the kind says, else 6. */
  readonly keepLast?: number | undefined
  /** Stops waiting. The worker compacts all the same. */
  readonly signal?: AbortSignal | undefined
  /** The same order under the same key within 24 h is given once, also from another process: this resolves with what came of it. */
  readonly idempotencyKey?: string | undefined
}

export const compactRules: Rules<CompactQuery> = {
  instruction: {
    expects: 'a text of at most 4000 characters',
    fits: (value) => typeof value === 'string' && value.length <= 4_000,
  },
  keepLast: wholeNumberRule(1, 1_000),
  signal: signalRule,
  idempotencyKey: keyRule,
}

/** What came of the order: a summary stands for so many messages, or nothing has changed, and why. */
export type Compacted =
  | {
      readonly compacted: true
      readonly messages: number
      /** The size of the next prompt, before and after, by count and estimate. */
      readonly tokensBefore: number
      readonly tokensAfter: number
      /** The model that wrote the summary. */
      readonly model: string
    }
  | { readonly compacted: false; readonly reason: string }

export interface ConfigureQuery extends ConfigurationChange {
  /** Stops waiting. The worker is configured all the same. */
  readonly signal?: AbortSignal | undefined
}

const orNull = (rule: Rule): Rule => ({
  expects: `${rule.expects}, or null`,
  fits: (value) => value === null || rule.fits(value),
})

export const configureRules: Rules<ConfigureQuery> = {
  model: orNull({ expects: 'a name like provider/model', fits: (value) => typeof value === 'string' && value !== '' }),
  settings: orNull({ expects: 'an object like { effort: "high" }', fits: isObject }),
  tools: orNull({
    expects: 'a list of names of tools',
    fits: (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
  }),
  signal: signalRule,
}

const pollMs = 50
const pollMsMax = 1_000

export async function compact(
  worker: Amended,
  { instruction, keepLast, signal, idempotencyKey }: CompactQuery,
): Promise<Compacted> {
  signal?.throwIfAborted()
  const row = await readTalking(worker)
  const order: Order = {
    do: 'compact',
    ...(instruction !== undefined && { instruction }),
    ...(keepLast !== undefined && { keepLast }),
  }
  const came = await outcomeOf(worker, row, order, compactedBy, signal, idempotencyKey)
  return 'refused' in came ? { compacted: false, reason: came.refused } : came
}

/** Sets what is named, and resolves with everything that is set then. Throws an InputError if the kind or the node that was asked does not know it. */
export async function configure(worker: Amended, { signal, ...change }: ConfigureQuery): Promise<Configuration> {
  signal?.throwIfAborted()
  checkChange(change)
  const row = await readTalking(worker)
  const configuredBy = (entry: Entry, id: string) =>
    entry.type === 'configured' && entry.message === id ? { configured: configurationAfter(null, entry) } : null
  const came = await outcomeOf(worker, row, { do: 'configure', change }, configuredBy, signal)
  if ('refused' in came) throw new InputError(`worker ${worker.id} was not configured: ${came.refused}`)
  return came.configured
}

/** A mistake that can be seen without a node is reported before anything is sent. */
function checkChange(change: ConfigurationChange): void {
  if (!configurationNames.some((name) => change[name] !== undefined))
    throw new InputError(`configure takes at least one of ${configurationNames.join(', ')}; null: as the kind says.`)
  try {
    checkSettings(change.settings ?? undefined)
  } catch (cause) {
    throw new InputError((cause as Error).message, { cause })
  }
}

/** Sends the order, and waits until the history says what came of it. */
async function outcomeOf<Outcome>(
  worker: Amended,
  row: WorkerRow,
  order: Order,
  done: (entry: Entry, id: string) => Outcome | null,
  signal: AbortSignal | undefined,
  idempotencyKey?: string,
): Promise<Outcome | { readonly refused: string }> {
  const { position, again } = await worker.submission.order(worker.id, order, idempotencyKey)
  const id = inputIdOf(position)
  // The outcome of an earlier order may be anywhere in the history.
  let after = again ? -1 : row.historyLength - 1
  let isReceived = false
  let over: Error | { readonly refused: string } | null = null
  for (let ms = pollMs; ; ) {
    const items = await worker.history({ after })
    for (const { entry } of items) {
      isReceived ||= entry.type === 'ordered' && entry.message === id
      if (entry.type === 'orderRefused' && entry.message === id) return { refused: entry.reason }
      if (entry.type === 'cancelled' && (isReceived || entry.dropped?.id === id))
        return { refused: `worker ${worker.id} was cancelled in the meantime: ask for it again.` }
      const found = done(entry, id)
      if (found !== null) return found
    }
    after = items.at(-1)?.position ?? after
    // The outcome may have been recorded since: everything that the worker has recorded until its end is read before.
    if (items.length > 0) {
      over = null
      continue
    }
    if (over instanceof Error) throw over
    if (over !== null) return over
    if (ms === pollMsMax) over = await endOf(worker, isReceived ? Number.POSITIVE_INFINITY : position)
    if (over === null) await sleep(ms, undefined, { signal })
    ms = Math.min(ms * 1.5, pollMsMax)
  }
}

function compactedBy(entry: Entry, id: string): Compacted | null {
  if (entry.type !== 'compacted' || entry.order !== id) return null
  const { messages = 0, tokensBefore = 0, tokensAfter = 0, model } = entry
  return { compacted: true, messages, tokensBefore, tokensAfter, model }
}

/** Begins a run without an input. Returns its number. */
export async function runOn(worker: Amended): Promise<number> {
  const row = await readTalking(worker)
  const { record, historyLength } = row
  if (record.status !== 'idle')
    throw new ConflictError(
      'transition_illegal',
      `worker ${worker.id} is at work, or has messages that wait: a run on its history begins only while it rests.`,
    )
  const head = { sessionId: '', workerId: worker.id, name: '', kind: '', parentId: null, depth: 0 }
  const container = new ContextContainer(head)
  for (const { entry } of countingEntries(await readEntries(worker, historyLength - 1))) container.apply(entry)
  const problem = runProblem(container.history)
  if (problem !== null) throw new InputError(`worker ${worker.id} cannot run on its history: ${problem}`)
  await worker.submission.order(worker.id, { do: 'run' })
  return record.run
}

/** The session of a job ends with the run of its root. */
async function readTalking(worker: Amended): Promise<WorkerRow> {
  const row = await readAgent(worker)
  if (row.record.parentId !== null || row.record.mode !== 'job') return row
  const { id } = worker
  throw new ConflictError(
    'transition_illegal',
    `worker ${id} is the root of a job, or of a conversation that was closed: only open conversations (keepOpen) take orders. Begin one with its messages: troupe worker fork ${id}`,
  )
}

/** Why the worker does not receive the order at this position of its inbox any more; null if it does. */
async function endOf(worker: Amended, position: number): Promise<Error | { readonly refused: string } | null> {
  const { id, store } = worker
  const { record } = await readAgent(worker)
  const session = await store.session(record.sessionId ?? sessionIdOfRoot(id))
  const state = session === null ? 'pruned' : stateOf(session.session)
  if (session === null || hasEnded(stateOf(session.session)))
    return refusalError({ reason: 'session_finished', id, state }, `worker ${id}`)
  if (record.status === 'terminal') return refusalError({ reason: 'terminal', id }, `worker ${id}`)
  if (record.inputsTaken <= position) return null
  return { refused: `the order took its node down again and again, and was put aside: troupe mailbox dead lists it.` }
}
