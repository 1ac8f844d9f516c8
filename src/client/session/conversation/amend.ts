/**
 * Duty: change from outside what the prompts of an agent hold, while it rests: take the last summary back, take the last turn back or let it count
 * again, add a message.
 * AMEND-1 Nothing stored is changed: an entry of the history says what holds from now on.
 * AMEND-2 A decision holds for the history that was read for it. If the worker has moved on, the history is read again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { keyRule, type Rules, yesOrNo } from '../../../core/check/check-options.ts'
import { ConflictError, InputError, LimitError, TransientError } from '../../../core/errors.ts'
import { encodeEvents } from '../../../core/event/event-notes.ts'
import type { ChatMessage } from '../../../core/history/chat/chat-message.ts'
import { ContextContainer } from '../../../core/history/context-container.ts'
import { type ContextChange, type Entry, encodeEntry, entryVersion } from '../../../core/history/entry.ts'
import { messageProblem } from '../../../core/history/foreign-format.ts'
import { isTally } from '../../../core/history/run/agent-tally.ts'
import { beginningOf, countingEntries, lastTurn, lastUndone, type PlacedEntry } from '../../../core/history/undone.ts'
import { policy } from '../../../core/policy.ts'
import { refusalError, workerNotFound } from '../../../core/worker/refusal.ts'
import type { InspectStore } from '../../../store/audit/inspect-store.ts'
import type { WorkerRow } from '../../../store/worker/worker-rows.ts'
import type { Submission } from '../../submission/submission.ts'
import { readRows } from '../../worker-rows.ts'
import { readEntries } from './branches.ts'

export interface Amended {
  readonly id: string
  readonly submission: Submission
  readonly store: InspectStore
  history(query: { readonly after?: number; readonly limit?: number }): Promise<readonly PlacedEntry[]>
}

/** What the entry says, without its head. Throws if the change cannot be made. `position`: the position that the entry gets. */
export type Decide = (items: readonly PlacedEntry[], position: number) => EntryBody

type EntryBody = { readonly type: Entry['type'] } & Readonly<Record<string, unknown>>

export interface AmendQuery {
  /** The same key within 24 h changes this worker once, also from another process. */
  readonly idempotencyKey?: string | undefined
}

export const amendRules: Rules<AmendQuery> = { idempotencyKey: keyRule }

export interface UndoQuery {
  /** The same key within 24 h changes this worker once, also from another process. */
  readonly idempotencyKey?: string | undefined
  /** True: the whole conversation is taken back, and a history that was given at its beginning too. System messages stay. Default: its last turn. */
  readonly all?: boolean | undefined
}

export const undoRules: Rules<UndoQuery> = { ...amendRules, all: yesOrNo }

const attempts = 10
const waitMs = 50

/** Adds the entry that `decide` makes of the history, and returns its position. `reads`: `decide` needs the history. */
export async function amend(
  worker: Amended,
  how: ContextChange,
  decide: Decide,
  { reads = true, idempotencyKey }: AmendQuery & { readonly reads?: boolean } = {},
): Promise<number> {
  const { id, submission } = worker
  const { amendments } = submission.store(id, 'worker')
  const key = idempotencyKey === undefined ? undefined : submission.digestOfAct(id, how, idempotencyKey)
  // If the change was made already, there may be nothing left to change.
  const known = key === undefined ? null : await amendments.known(key)
  if (known !== null) return known
  const event = encodeEvents([['context.changed', { how, ...submission.by }]])
  for (let attempt = 0; attempt < attempts; attempt++) {
    const row = await readAgent(worker)
    const { record, historyLength: position } = row
    const items = reads ? await readEntries(worker, position - 1) : []
    const head = { v: entryVersion, at: Date.now(), run: record.run, epoch: record.epoch }
    const entry = encodeEntry({ ...head, ...decide(items, position) } as unknown as Entry)
    const { version } = record.lastCommit
    const answer = await amendments.amend(id, { version, position, entry, event, key })
    switch (answer.kind) {
      case 'ok':
        return position
      case 'again':
        return answer.position
      case 'moved':
        await sleep(waitMs)
        continue
      case 'busy':
        throw new ConflictError(
          'transition_illegal',
          `worker ${id} is at work: what its prompts hold is changed only while it rests. Wait for the end of its run, or cancel that: troupe worker cancel ${id} --run`,
        )
      case 'not_found':
        throw workerNotFound(id)
      case 'terminal':
        throw refusalError({ reason: 'terminal', id }, `worker ${id}`)
      case 'session_finished':
        throw refusalError({ reason: 'session_finished', id, state: answer.state }, `worker ${id}`)
    }
  }
  throw new TransientError(
    `the history of worker ${id} changed again and again in the meantime. Try it again in a moment.`,
  )
}

/** Throws an error for a worker that does not exist, or is no agent. */
export async function readAgent({ store, id }: Amended): Promise<WorkerRow> {
  const [row] = await readRows(store, [id])
  if (row === undefined) throw workerNotFound(id)
  if (row.damage !== null) throw row.damage
  const { data, run } = row.record
  if (data === '' ? run > 1 : !isTally(data))
    throw new ConflictError('transition_illegal', `worker ${id} is no agent: it has no conversation.`)
  return row
}

/** Takes the last summary back, so that it replaces no messages any more. */
export function expanding(id: string): Decide {
  return (items) => {
    const container = new ContextContainer({
      sessionId: '',
      workerId: id,
      name: '',
      kind: '',
      parentId: null,
      depth: 0,
    })
    for (const { entry } of countingEntries(items)) container.apply(entry)
    if (!container.isCompacted)
      throw nothing(
        id,
        'no summary stands for a part of its conversation and no result was cleared, so nothing can be taken back',
      )
    return { type: 'expanded' }
  }
}

/** Takes the last turn out of all later prompts. */
export function undoing(id: string): Decide {
  return (items) => {
    const turn = lastTurn(items)
    if (turn === null) throw nothing(id, 'nothing was said that can be taken back: it has had no turn of its own')
    return { type: 'undone', from: turn.from }
  }
}

/** Takes all that was said out of all later prompts, but not what the system said. */
export function clearing(id: string): Decide {
  return (items) => {
    const from = beginningOf(items)
    if (from === null) throw nothing(id, 'its conversation is empty, so nothing can be taken back')
    return { type: 'undone', from, all: true }
  }
}

export function redoing(id: string): Decide {
  return (items) => {
    if (lastUndone(items) === null)
      throw nothing(id, 'nothing can be done again: no turn was taken back, or something was said since')
    return { type: 'redone' }
  }
}

/** Adds a message of a user, of the agent or of the system. Calls and results come only with a history that is given as a whole. */
export function pushing(message: ChatMessage): Decide {
  const problem = messageProblem(message, 0)
  if (problem !== null) throw new InputError(`push: ${problem}`)
  const isCalling = message.type === 'assistant' && message.content.some(({ type }) => type === 'tool-call')
  if (isCalling || !['user', 'assistant', 'system'].includes(message.type))
    throw new InputError(
      'push takes a message of a user, of the system, or a reply without calls. Begin a session with a history that has calls and results: sessions.create({ history }).',
    )
  const bytes = Buffer.byteLength(JSON.stringify(message))
  if (bytes > policy.messageBytesMax)
    throw new LimitError(
      'message_too_big',
      `the message has ${bytes} bytes of JSON; the limit is ${policy.messageBytesMax}.`,
    )
  return (_items, position) => ({ ...message, id: `m${position}`, at: message.at || Date.now(), pushed: true })
}

function nothing(id: string, what: string): ConflictError {
  return new ConflictError('transition_illegal', `worker ${id}: ${what}.`)
}
