/** Duty: one worker as programs see it: send it a message, cancel it, read its report, its history, its mailbox. */
import { checkOptions, keyRule, oneOfRule, type Rules } from '../core/check/check-options.ts'
import { ConflictError, InputError } from '../core/errors.ts'
import type { ChatMessage } from '../core/history/chat/chat-message.ts'
import type { ContextContainer } from '../core/history/context-container.ts'
import { decodeEntry, type Entry } from '../core/history/entry.ts'
import { type ContextState, contextStateOf, needsHistory } from '../core/history/run/context-state.ts'
import type { RunMetadata } from '../core/history/run/run-metadata.ts'
import type { Configuration } from '../core/worker/message/configuration.ts'
import { decodeMail, type Mail } from '../core/worker/message/message.ts'
import { type SendTime, sendTimes } from '../core/worker/message/steer.ts'
import { workerNotFound } from '../core/worker/refusal.ts'
import type { InspectStore } from '../store/audit/inspect-store.ts'
import type { CancelWorkerAnswer } from '../store/person/cancels.ts'
import {
  type ContextQuery,
  contextRules,
  type HistoryQuery,
  historyRules,
  type MailboxQuery,
  mailboxRules,
  resultRules,
} from './queries.ts'
import { type WorkerReport, workerReport } from './report.ts'
import {
  type AmendQuery,
  amend,
  amendRules,
  clearing,
  expanding,
  pushing,
  redoing,
  type UndoQuery,
  undoing,
  undoRules,
} from './session/conversation/amend.ts'
import {
  type ConversationDiff,
  contextOf,
  conversationOf,
  diffOf,
  metadataOf,
} from './session/conversation/branches.ts'
import {
  type Compacted,
  type CompactQuery,
  type ConfigureQuery,
  compact,
  compactRules,
  configure,
  configureRules,
  runOn,
} from './session/conversation/orders.ts'
import { type TokenReport, tokensOfWorker } from './session/conversation/tokens.ts'
import { checkReason, defaultReason } from './session/run/cancel-reason.ts'
import { holdsBytes, withBytes } from './submission/attached.ts'
import { hasLongMedia, withKeptMedia } from './submission/kept-media.ts'
import type { Submission } from './submission/submission.ts'
import type { Sent } from './summaries.ts'
import { readRows } from './worker-rows.ts'

export interface HistoryItem {
  /** The position in the history, counted from 0. */
  readonly position: number
  readonly entry: Entry
}

export interface SendOptions {
  readonly idempotencyKey?: string | undefined
  /**
   * When a busy worker receives the message. `queue`: in its next run. `steer`: in the run in progress: an agent before its next model call, a
   * handler after the message in hand. `interrupt`: in the run in progress, which at once ends what it does. A worker at rest begins a run with it.
   * If messages wait and the run of the first one has not begun, that run receives it too. Default: `queue`.
   */
  readonly when?: SendTime | undefined
}

const sendRules: Rules<SendOptions> = { idempotencyKey: keyRule, when: oneOfRule(sendTimes) }

export class Worker {
  readonly id: string
  readonly #submission: Submission
  readonly #store: InspectStore

  constructor(id: string, submission: Submission, store: InspectStore) {
    this.id = id
    this.#submission = submission
    this.#store = store
  }

  /**
   * Sends an input to the worker. A worker receives its messages in the order in which Redis accepted them. Await one call before the next: of
   * two calls at once, the second may be accepted first, if Redis refuses the first for a moment because it is full or still loading.
   * An agent takes content blocks: `[{ type: 'text', text }, await attachment('plan.png')]`.
   * A message with `when` may be received before messages that were accepted earlier. If the message is refused, this throws a typed error that names the worker.
   */
  async send(value: unknown, options: SendOptions = {}): Promise<Sent> {
    checkOptions('send', options, sendRules, InputError)
    const read = holdsBytes(value) ? withBytes(value) : value
    const input = hasLongMedia(read) ? await this.#keepMedia(read) : read
    return (await this.#submission.send(this.id, input, options)).sent
  }

  async #keepMedia(input: unknown): Promise<unknown> {
    const { blobs } = this.#submission.store(this.id, 'worker').forks
    return withKeptMedia(input, (await this.report()).sessionId, blobs)
  }

  /**
   * Cancels the worker for good, with all that it spawned at any depth, detached workers too. From now on none of them can start, spawn or commit.
   * Its parent gets one result with the status `cancelled`; the rest of the session goes on. Cancelling the root cancels the session.
   * Throws `worker_terminal` if it was cancelled for good before, and `session_finished` if it rests in a session that is over.
   */
  async cancel(reason = defaultReason): Promise<void> {
    checkReason(reason)
    const { by } = this.#submission
    const store = this.#submission.store(this.id, 'worker')
    checkCancelled(await store.cancelWorker(this.id, 'worker', reason, by), this.id)
  }

  /**
   * Cancels the run in progress, with the children that it waits for; detached ones go on. The next message in the mailbox starts the next run. A run
   * that has not received its message yet takes it along: the history keeps it. A job ends with its run: its session is `cancelled` then,
   * unless another message waits. Returns false if no run is in progress; with a number, also if another run is. Throws like `cancel`.
   */
  async cancelRun(reason = defaultReason, run?: number): Promise<boolean> {
    checkReason(reason)
    checkOptions('cancelRun', { run }, { run: resultRules.run }, InputError)
    const { by } = this.#submission
    const answer = await this.#submission.store(this.id, 'worker').cancelWorker(this.id, run ?? 'run', reason, by)
    if (answer.kind === 'rests') return false
    checkCancelled(answer, this.id)
    return true
  }

  async report(): Promise<WorkerReport> {
    const [row] = await readRows(this.#store, [this.id])
    if (row === undefined) throw workerNotFound(this.id)
    if (row.damage !== null) throw row.damage
    return workerReport(row)
  }

  /**
   * The state of its run, one of eleven, with the data that belong to it: the calls that wait for an approval or run, the error that is tried again, why
   * the run failed. It reads the history if the data are there.
   */
  async state(): Promise<ContextState> {
    const report = await this.report()
    const isAgent = report.usage.modelCalls !== undefined
    return contextStateOf(report, isAgent && needsHistory(report.run) ? await this.context() : undefined)
  }

  /** Entries after position `after`, oldest first. Throws if the worker does not exist. */
  async history(query: HistoryQuery = {}): Promise<HistoryItem[]> {
    checkOptions('history', query, historyRules, InputError)
    const items = await this.#store.history(this.id, query.after ?? -1, query.limit ?? 1_000)
    if (items.length === 0) await this.report()
    return items.map(({ position, json }) => ({ position, entry: decodeEntry(json) }))
  }

  /**
   * What an agent knew once the entry at position `at` was written: its conversation, as a copy in memory. Reads the history up to there. Throws an
   * error if the worker has no conversation, or its history no such position.
   */
  async context(query: ContextQuery = {}): Promise<ContextContainer> {
    checkOptions('context', query, contextRules, InputError)
    return contextOf(this, query.at)
  }

  /**
   * What the runs of an agent left behind, under names of their own space: how the newest reply ended, the tool that was asked for last, when its
   * conversation was compacted last. Reads the whole history.
   */
  metadata(): Promise<RunMetadata> {
    return metadataOf(this)
  }

  /**
   * Compares the conversation with that of another worker: the messages that both begin with, and what each has after them. Ids and times do not
   * count.
   */
  async diff(other: Worker): Promise<ConversationDiff> {
    return diffOf(await conversationOf(this), await conversationOf(other))
  }

  /**
   * Takes the last summary back: from now on the prompts of this agent are as they would be without it, byte by byte. Only while the worker rests.
   * Throws `transition_illegal` if no summary stands for anything, or if the worker is at work.
   */
  async expand(): Promise<void> {
    await amend(this.#amended, 'expanded', expanding(this.id))
  }

  /**
   * Takes the last turn back: the last input, and all that followed from it, are in no prompt any more, and neither are messages that were pushed behind
   * it. With `all`, its whole conversation. The history keeps them. What tools did outside is not taken back. Only while the worker rests. Throws
   * `transition_illegal` if there is no turn.
   */
  async undo(query: UndoQuery = {}): Promise<void> {
    checkOptions('undo', query, undoRules, InputError)
    const { all = false, ...how } = query
    await amend(this.#amended, 'undone', (all ? clearing : undoing)(this.id), how)
  }

  /** Brings back what `undo` took back last. Throws `transition_illegal` if none was, or if something was said since. */
  async redo(query: AmendQuery = {}): Promise<void> {
    checkOptions('redo', query, amendRules, InputError)
    await amend(this.#amended, 'redone', redoing(this.id), query)
  }

  /**
   * Adds a message to the conversation of an agent that rests, and wakes nobody: of a user, of the system, or a reply without calls. It gets its position
   * as its id. Resolves with that position.
   */
  async push(message: ChatMessage): Promise<number> {
    return amend(this.#amended, 'pushed', pushing(message), { reads: false })
  }

  /**
   * Has a summary written for the beginning of the conversation of an agent, as it is written when the window of its model is full, and resolves with
   * what came of it. The order stands in the inbox between the messages: at once if the worker rests, else after its run; messages behind it do not wait
   * for the summary. For conversations and children, not for the root of a job.
   */
  async compact(query: CompactQuery = {}): Promise<Compacted> {
    checkOptions('compact', query, compactRules, InputError)
    return compact(this.#amended, query)
  }

  /**
   * Sets the model (by name), settings and tools of one agent from its next run on, and resolves with all that is set for it. `null`: as its kind says; what is
   * not named stays. Tools are those of its kind that it may still use. The order stands in the inbox between the messages: done at once if the worker rests,
   * else after its run. Throws an InputError if its kind or its node does not know what is named. For conversations and children.
   */
  async configure(change: ConfigureQuery): Promise<Configuration> {
    checkOptions('configure', change, configureRules, InputError)
    return configure(this.#amended, change)
  }

  /**
   * Begins a run of an agent that rests on what is in its history, without an input: after `push`, or after a run that failed. Resolves with the number
   * of the run. Throws an InputError if there are no messages, or if the last one is not an input.
   */
  async run(): Promise<number> {
    return runOn(this.#amended)
  }

  /**
   * How many tokens this agent has used, by sort: in all, and in its newest reply; and how much of the window of its model its next prompt fills. Reads
   * the end of the history.
   */
  async tokens(): Promise<TokenReport> {
    return tokensOfWorker(this.#amended)
  }

  get #amended(): Parameters<typeof amend>[0] {
    const history = (query: HistoryQuery) => this.history(query)
    return { id: this.id, submission: this.#submission, store: this.#store, history }
  }

  /** The messages that wait: signals, then results, then inputs; at most `limit` of each. Throws if the worker does not exist. */
  async mailbox(query: MailboxQuery = {}): Promise<Mail[]> {
    checkOptions('mailbox', query, mailboxRules, InputError)
    const lanes = await this.#store.mailbox(this.id, query.limit ?? 1_000)
    const mails = lanes.flatMap(({ lane, first, mails: texts }) =>
      texts.flatMap((text, index) => (text === '' ? [] : [decodeMail(lane, first + index, text)])),
    )
    // If another program wrote over the field that counts a lane, the ids of its messages would be wrong: then this throws too.
    if (mails.length === 0 || lanes.some(({ first }) => !Number.isSafeInteger(first))) await this.report()
    return mails
  }
}

function checkCancelled(answer: CancelWorkerAnswer, id: string): void {
  switch (answer.kind) {
    case 'ok':
    case 'rests':
      return
    case 'not_found':
      throw workerNotFound(id)
    case 'terminal':
      throw new ConflictError(
        'worker_terminal',
        `worker ${id} was cancelled for good before: nothing of it runs any more.`,
      )
    case 'session_finished': {
      const { state } = answer
      const why =
        state === 'cancelling' ? 'is being cancelled, with all its workers' : `is ${state}, and the worker rests`
      throw new ConflictError('session_finished', `worker ${id} cannot be cancelled: its session ${why}.`)
    }
  }
}
