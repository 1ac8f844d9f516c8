/**
 * Duty: dead letters as programs see them: what was put aside and why, and how it is put back.
 * A letter is put back once, however often that is asked for; the letter itself stays, as evidence.
 */
import { InputError, NotFoundError, RuntimeError } from '../core/errors.ts'
import { encodeEvents } from '../core/event.ts'
import { parseId, partitionOf } from '../core/ids.ts'
import { decodeMail } from '../core/message.ts'
import type { BellRinger } from '../core/ports.ts'
import { refusalError } from '../core/refusal.ts'
import type { DeadRow, InspectStore } from '../store/inspect-store.ts'
import type { RedriveRefused, SessionStore } from '../store/session-store.ts'
import type { RedriveQuery } from './queries.ts'
import type { DeadLetter, Redriven } from './summaries.ts'

/** Letters that are read at once: each may hold a message of 1 MB. */
const pageMost = 50

/** As Redis takes it for the id of an entry: no number in it is beyond 64 bits. */
const letterId = /^\d{1,19}-\d{1,19}$/

export interface DeadLettersPlace {
  readonly inspect: InspectStore
  readonly store: SessionStore
}

export class DeadLetters {
  readonly #places: readonly DeadLettersPlace[]
  readonly #ringer: BellRinger
  readonly #inspectOf: (workerId: string) => InspectStore

  /** `inspectOf` throws where no worker of this id can be. */
  constructor(places: readonly DeadLettersPlace[], ringer: BellRinger, inspectOf: (workerId: string) => InspectStore) {
    this.#places = places
    this.#ringer = ringer
    this.#inspectOf = inspectOf
  }

  /** Newest first. */
  async list(limit: number, workerId?: string): Promise<DeadLetter[]> {
    const found = await Promise.all(
      this.#places.map(({ inspect }) => Array.fromAsync(newestLetters(inspect, limit, workerId))),
    )
    return found
      .flat()
      .sort((a, b) => timeOf(b) - timeOf(a))
      .slice(0, limit)
  }

  /**
   * Puts letters back, those of a worker oldest first: one by its id, or all of a worker, or all there are, that hold a message and were
   * not put back before. The refusal of one letter that is named is thrown; of several it is told with the letter, and the others go on.
   */
  async redrive(query: RedriveQuery): Promise<Redriven[]> {
    const { workerId, letter, all = false, onProgress = () => {} } = query
    if (all === (workerId !== undefined || letter !== undefined))
      throw new InputError('redrive takes the id of a worker, or of a letter, or all: true.')
    const id = workerId === undefined ? undefined : parseId(workerId, 'worker')
    const stores = id === undefined ? this.#places.map(({ inspect }) => inspect) : [this.#inspectOf(id)]
    const done: Redriven[] = []
    const tell = (redriven: Redriven) => {
      done.push(redriven)
      onProgress(redriven)
    }
    if (letter !== undefined) {
      tell(await this.#redriveOne(await letterOf(stores, letter, id)))
      return done
    }
    let isKnown = id === undefined
    for (const store of stores) {
      for await (const one of oldestLetters(store, id)) {
        isKnown = true
        if (one.message === null || one.redrivenAs !== null) continue
        tell(await this.#redriveOne(one).catch((error: unknown) => refused(one, error)))
      }
    }
    if (!isKnown && id !== undefined) await this.#checkWorker(id)
    return done
  }

  async #checkWorker(workerId: string): Promise<void> {
    if ((await this.#inspectOf(workerId).workers([workerId])).length === 0)
      throw refusalError({ reason: 'not_found', limit: 0, id: workerId }, `worker ${workerId}`)
  }

  async #redriveOne(letter: DeadLetter): Promise<Redriven> {
    const { workerId, id } = letter
    // Somebody may have written the letter: one that can be nobody's is refused like others, and holds up none of them.
    this.#inspectOf(parseId(workerId, 'worker'))
    const { store } = this.#places[partitionOf(workerId)] as DeadLettersPlace
    const answer = await store.redrive(workerId, id, encodeEvents([['message.redriven', { letter: id }]]))
    if (!('position' in answer)) throw refusal(answer, letter)
    this.#ringer.ring(store.partition, answer.bells)
    const status = answer.kind === 'ok' ? 'redriven' : 'again'
    return { letterId: id, workerId, status, messageId: `user-${answer.position}`, refusal: null }
  }
}

/** Page by page: each is read within a time of its own. */
async function* newestLetters(store: InspectStore, limit: number, workerId?: string): AsyncGenerator<DeadLetter> {
  let before: string | undefined
  for (let left = limit; left > 0; ) {
    const most = workerId === undefined ? Math.min(pageMost, left) : pageMost
    const page = await store.deadLetters(most, before)
    const wanted = page.filter((row) => isOf(workerId, row)).slice(0, left)
    yield* wanted.map(toLetter)
    if (page.length < most) return
    left -= wanted.length
    before = page.at(-1)?.id
  }
}

/** The same from the other end, without those that are put aside meanwhile: what was put back may be, and would go round for ever. */
async function* oldestLetters(store: InspectStore, workerId?: string): AsyncGenerator<DeadLetter> {
  const [newest] = await store.deadLetters(1)
  if (newest === undefined) return
  for (let after: string | undefined; ; ) {
    const page = await store.deadLettersBehind(after, newest.id, pageMost)
    yield* page.filter((row) => isOf(workerId, row)).map(toLetter)
    if (page.length < pageMost) return
    after = page.at(-1)?.id
  }
}

function isOf(workerId: string | undefined, { fields }: DeadRow): boolean {
  return workerId === undefined || fields.worker === workerId
}

async function letterOf(stores: readonly InspectStore[], id: string, workerId?: string): Promise<DeadLetter> {
  if (!letterId.test(id)) throw noLetter(id, workerId)
  const rows = await Promise.all(stores.map((store) => store.deadLetter(id)))
  const [row, ...others] = rows.filter((found) => found !== undefined && isOf(workerId, found)) as DeadRow[]
  if (row === undefined) throw noLetter(id, workerId)
  if (others.length === 0) return toLetter(row)
  // Ids are given in each partition, by the millisecond.
  const workers = [row, ...others].map(({ fields }) => fields.worker).join(', ')
  throw new InputError(
    `there is a dead letter ${id} of each of these workers: ${workers}. Name the worker, too (workerId).`,
  )
}

function toLetter({ id, fields, redriven }: DeadRow): DeadLetter {
  const evidence = evidenceOf(fields.evidence)
  const message = fields.mail === undefined ? null : decodeMail('user', 0, fields.mail).message
  const { step } = evidence
  return {
    id,
    sessionId: fields.session ?? '',
    workerId: fields.worker ?? '',
    message: message && { ...message, id },
    killedBy: typeof step === 'string' ? step : 'a message',
    redrivenAs: redriven === null ? null : `user-${redriven}`,
    evidence,
  }
}

function evidenceOf(json = '{}'): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // Told as it is.
  }
  return { unreadable: json }
}

function refused({ id, workerId }: DeadLetter, thrown: unknown): Redriven {
  if (!(thrown instanceof RuntimeError) || thrown.retryable) throw thrown
  const { code, message } = thrown
  return { letterId: id, workerId, status: 'refused', messageId: null, refusal: { code, message } }
}

function timeOf({ id }: DeadLetter): number {
  return Number(id.split('-')[0])
}

function noLetter(letter: string, workerId: string | undefined): RuntimeError {
  const whose = workerId === undefined ? '' : ` of worker ${workerId}`
  return new NotFoundError(
    'letter_not_found',
    `there is no dead letter ${letter}${whose}: \`troupe mailbox dead\` lists them; old ones are trimmed.`,
  )
}

function refusal(answer: RedriveRefused, letter: DeadLetter): RuntimeError {
  const { id, workerId, killedBy } = letter
  switch (answer.kind) {
    case 'no_letter':
      return noLetter(id, workerId)
    case 'no_message':
      return new InputError(
        `dead letter ${id} of worker ${workerId} holds no message: what killed was ${killedBy}, within a run that has failed. Send the worker a new message.`,
      )
    default:
      return refusalError(
        { reason: answer.kind, limit: answer.kind === 'mailbox_full' ? answer.most : 0, id: workerId },
        `worker ${workerId}`,
      )
  }
}
