/** Duty: one worker as programs see it: send to it, read its report, its history, its mailbox. */
import { checkOptions, keyRule, type Rules } from '../core/check/check-options.ts'
import { InputError } from '../core/errors.ts'
import { decodeEntry, type Entry } from '../core/history/entry.ts'
import { decodeMail, type Mail } from '../core/worker/message.ts'
import { workerNotFound } from '../core/worker/refusal.ts'
import type { InspectStore } from '../store/inspect-store.ts'
import { type HistoryQuery, historyRules, type MailboxQuery, mailboxRules } from './queries.ts'
import { type WorkerReport, workerReport } from './report.ts'
import type { Submission } from './submission.ts'
import type { Sent } from './summaries.ts'
import { readRows } from './worker-rows.ts'

export interface HistoryItem {
  /** Position in the history, from 0. */
  readonly position: number
  readonly entry: Entry
}

export interface SendOptions {
  readonly idempotencyKey?: string | undefined
}

const sendRules: Rules<SendOptions> = { idempotencyKey: keyRule }

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
   * Accepts an input message. Messages are received in the order in which they were accepted: await one before the next is sent. Of two that
   * are on their way at once, the second is accepted first where Redis refuses the first for a moment (it is full, or still loading).
   * Throws a typed error that names the worker when it is refused.
   */
  async send(value: unknown, options: SendOptions = {}): Promise<Sent> {
    checkOptions('send', options, sendRules, InputError)
    return (await this.#submission.send(this.id, value, options.idempotencyKey)).sent
  }

  async report(): Promise<WorkerReport> {
    const [row] = await readRows(this.#store, [this.id])
    if (row === undefined) throw workerNotFound(this.id)
    if (row.damage !== null) throw row.damage
    return workerReport(row)
  }

  /** Entries after position `after`, oldest first. Throws when there is no such worker. */
  async history(query: HistoryQuery = {}): Promise<HistoryItem[]> {
    checkOptions('history', query, historyRules, InputError)
    const items = await this.#store.history(this.id, query.after ?? -1, query.limit ?? 1_000)
    if (items.length === 0) await this.report()
    return items.map(({ position, json }) => ({ position, entry: decodeEntry(json) }))
  }

  /** What waits, in the order of lanes: signals, results, inbox; `limit` of each. Throws when there is no such worker. */
  async mailbox(query: MailboxQuery = {}): Promise<Mail[]> {
    checkOptions('mailbox', query, mailboxRules, InputError)
    const lanes = await this.#store.mailbox(this.id, query.limit ?? 1_000)
    const mails = lanes.flatMap(({ lane, first, mails: texts }) =>
      texts.flatMap((text, index) => (text === '' ? [] : [decodeMail(lane, first + index, text)])),
    )
    // Also where a number of a mail would be none, since somebody wrote over what they are counted from.
    if (mails.length === 0 || lanes.some(({ first }) => !Number.isSafeInteger(first))) await this.report()
    return mails
  }
}
