/**
 * Duty: list dead letters, put them back into their mailboxes, and dismiss them.
 * LETTERS-1 A letter is put back once, or begins one new session, however often somebody asks for it. The letter itself stays, as evidence.
 * LETTERS-2 If somebody names one letter, its refusal is thrown. Of several letters, each refusal is part of the answer, and the others go on.
 */
import { ConflictError, type ErrorCode, InputError, NotFoundError, RuntimeError } from '../../core/errors.ts'
import { encodeEvents } from '../../core/event/event-notes.ts'
import { parseId, partitionOf } from '../../core/ids.ts'
import type { Waker } from '../../core/ports/wake.ts'
import { decodeMail, inputIdOf } from '../../core/worker/message/message.ts'
import { refusalError } from '../../core/worker/refusal.ts'
import type { InspectStore } from '../../store/audit/inspect-store.ts'
import type { DeadRow, LetterStore } from '../../store/person/letter-store.ts'
import { refusalOfPost } from '../../store/session/post-answer.ts'
import type { RedriveRefused, SessionStore } from '../../store/session/session-store.ts'
import { ofEach } from '../fleet/each-partition.ts'
import type { DeadLettersQuery, DismissQuery, LettersQuery, RedriveQuery } from '../queries.ts'
import type { DeadLetter, Dismissed, Redriven } from '../summaries.ts'
import { type Begins, beginFromLetter, isOfRoot, wayOn } from './letter-session.ts'

/** How many letters one read takes. Each may hold a message of 1 MB. */
const pageMost = 50

/** The form in which Redis takes the id of an entry: two numbers of at most 64 bits. */
const letterId = /^\d{1,19}-\d{1,19}$/

export interface DeadLettersPlace {
  readonly letters: LetterStore
  readonly store: SessionStore
  readonly inspect: InspectStore
}

export class DeadLetters {
  readonly #places: readonly DeadLettersPlace[]
  readonly #waker: Waker
  readonly #submission: Begins

  constructor(places: readonly DeadLettersPlace[], waker: Waker, submission: Begins) {
    this.#places = places
    this.#waker = waker
    this.#submission = submission
  }

  /** The newest letters come first. */
  async list({ limit = 100, onAway, ...which }: DeadLettersQuery = {}): Promise<DeadLetter[]> {
    const listIn = async ({ letters, inspect }: DeadLettersPlace) => {
      if (!which.open) return Array.fromAsync(newestLetters(letters, limit, which))
      const [open, ids] = await Promise.all([inspect.openLetters(), letters.openLetterIds()])
      if (ids.length === open) return Array.fromAsync(lettersWith(ids, letters, limit, which))
      // Letters of an earlier version are in no index. Once as many as are open are found, thousands that were dealt with need not be read.
      return Array.fromAsync(newestLetters(letters, Math.min(limit, open), which))
    }
    return (await ofEach(this.#places, listIn, onAway))
      .flat()
      .sort((a, b) => timeOf(b) - timeOf(a))
      .slice(0, limit)
  }

  /**
   * Puts letters back, the oldest of a worker first: the one with this id, or all of a worker, or all letters. If several are meant, it takes those
   * that hold a message and were neither put back before nor dismissed (LETTERS-2).
   */
  redrive({ newSession = false, ...query }: RedriveQuery): Promise<Redriven[]> {
    return this.#handle<Redriven>('redrive', query, {
      wants: (letter) => letter.message !== null && isOpen(letter),
      act: (letter, place) => (newSession ? this.#beginSession(letter, place) : this.#redriveOne(letter)),
      refused: (letter, refusal) => ({ ...whose(letter), ...nothing, status: 'refused', refusal }),
    })
  }

  /** Marks letters as dealt with. Which letters it takes and how it refuses one is as in `redrive`. */
  dismiss(query: DismissQuery): Promise<Dismissed[]> {
    return this.#handle<Dismissed>('dismiss', query, {
      wants: isOpen,
      act: dismissOne,
      refused: (letter, refusal) => ({ ...whose(letter), status: 'refused', refusal }),
    })
  }

  async #handle<Done>(verb: string, query: LettersQuery<Done>, how: Handling<Done>): Promise<Done[]> {
    const { workerId, letter, all = false, onProgress = () => {} } = query
    if (all === (workerId !== undefined || letter !== undefined))
      throw new InputError(`${verb} takes the id of a worker, or of a letter, or all: true.`)
    const id = workerId === undefined ? undefined : parseId(workerId, 'worker')
    const places = id === undefined ? this.#places : [this.#placeOf(id)]
    const done: Done[] = []
    const tell = (one: Done) => {
      done.push(one)
      onProgress(one)
    }
    if (letter !== undefined) {
      const [place, one] = await letterOf(places, letter, id)
      tell(await how.act(one, place))
      return done
    }
    let isKnown = id === undefined
    for (const place of places) {
      for await (const one of oldestLetters(place.letters, id)) {
        isKnown = true
        if (!how.wants(one)) continue
        tell(await how.act(one, place).catch((error: unknown) => how.refused(one, refusalOf(error))))
      }
    }
    if (!isKnown && id !== undefined) await this.#checkWorker(id)
    return done
  }

  #placeOf(workerId: string): DeadLettersPlace {
    this.#submission.store(workerId, 'worker')
    return this.#places[partitionOf(workerId)] as DeadLettersPlace
  }

  async #checkWorker(workerId: string): Promise<void> {
    if ((await this.#submission.store(workerId, 'worker').kindOf(workerId)) === null)
      throw refusalError({ reason: 'not_found', id: workerId }, `worker ${workerId}`)
  }

  async #redriveOne(letter: DeadLetter): Promise<Redriven> {
    const { workerId, id } = letter
    // Another program may have written the letter. If no worker can have the id in it, this letter is refused, and the others go on.
    const { store } = this.#placeOf(parseId(workerId, 'worker'))
    const event = encodeEvents([['message.redriven', { letter: id, ...this.#submission.by }]])
    const answer = await store.redrive(workerId, id, event)
    if (!('position' in answer)) throw refusal(answer, letter)
    this.#waker.wake(store.partition, answer.wakeups)
    const status = answer.kind === 'ok' ? 'redriven' : 'again'
    return { ...whose(letter), ...nothing, status, messageId: inputIdOf(answer.position) }
  }

  async #beginSession(letter: DeadLetter, { inspect }: DeadLettersPlace): Promise<Redriven> {
    const { sessionId, isAgain } = await beginFromLetter(letter, inspect, this.#submission)
    // The letter is dealt with. If this is lost, somebody who asks again gets the same session.
    await this.#placeOf(letter.workerId).store.dismiss(letter.workerId, letter.id)
    return { ...whose(letter), ...nothing, status: isAgain ? 'again' : 'redriven', newSessionId: sessionId }
  }
}

/** Which of many letters a call takes, what it does with one, and how it reports a refusal. */
interface Handling<Done> {
  readonly wants: (letter: DeadLetter) => boolean
  readonly act: (letter: DeadLetter, place: DeadLettersPlace) => Promise<Done>
  readonly refused: (letter: DeadLetter, refusal: { readonly code: ErrorCode; readonly message: string }) => Done
}

/** Dismisses a letter in the partition where it lies, whatever worker it names. */
async function dismissOne(letter: DeadLetter, { store }: DeadLettersPlace): Promise<Dismissed> {
  const { id, workerId } = letter
  const answer = await store.dismiss(workerId, id)
  switch (answer.kind) {
    case 'no_letter':
      throw noLetter(id, workerId)
    case 'redriven':
      throw new InputError(
        `dead letter ${id} of worker ${workerId} was put back, as message ${inputIdOf(answer.position)}: there is nothing to dismiss.`,
      )
    default:
      return { ...whose(letter), status: answer.kind === 'ok' ? 'dismissed' : 'again', refusal: null }
  }
}

const nothing = { messageId: null, newSessionId: null, refusal: null } as const

function whose({ id, workerId }: DeadLetter): { readonly letterId: string; readonly workerId: string } {
  return { letterId: id, workerId }
}

/** Which letters a list shows: of one worker, or only those that nobody has dealt with. */
type Which = Pick<DeadLettersQuery, 'workerId' | 'open'>

function isOpen({ redrivenAs, dismissed }: DeadLetter): boolean {
  return redrivenAs === null && !dismissed
}

/** Reads page by page, because each read has a deadline of its own. */
async function* newestLetters(
  store: LetterStore,
  limit: number,
  { workerId, open = false }: Which,
): AsyncGenerator<DeadLetter> {
  let before: string | undefined
  for (let left = limit; left > 0; ) {
    const most = workerId === undefined && !open ? Math.min(pageMost, left) : pageMost
    const page = await store.newestLetters(most, before)
    const own = page.filter((row) => isOf(workerId, row)).map(toLetter)
    const wanted = own.filter((letter) => !open || isOpen(letter)).slice(0, left)
    yield* wanted
    if (page.length < most) return
    left -= wanted.length
    before = page.at(-1)?.id
  }
}

/** Those of the letters with these ids that are open. */
async function* lettersWith(
  ids: readonly string[],
  store: LetterStore,
  limit: number,
  { workerId }: Which,
): AsyncGenerator<DeadLetter> {
  const most = workerId === undefined ? Math.min(pageMost, limit) : pageMost
  for (let from = 0, left = limit; from < ids.length && left > 0; from += most) {
    const rows = await Promise.all(ids.slice(from, from + most).map((id) => store.letter(id)))
    const own = rows.filter((row) => row !== undefined && isOf(workerId, row)) as DeadRow[]
    const wanted = own.map(toLetter).filter(isOpen).slice(0, left)
    yield* wanted
    left -= wanted.length
  }
}

/**
 * Reads from the oldest letter on, and stops at the letter that was the newest when it began. A message that was put back may become a dead
 * letter again meanwhile: without this bound the reader would never end.
 */
async function* oldestLetters(store: LetterStore, workerId?: string): AsyncGenerator<DeadLetter> {
  const [newest] = await store.newestLetters(1)
  if (newest === undefined) return
  for (let after: string | undefined; ; ) {
    const page = await store.lettersBehind(after, newest.id, pageMost)
    yield* page.filter((row) => isOf(workerId, row)).map(toLetter)
    if (page.length < pageMost) return
    after = page.at(-1)?.id
  }
}

function isOf(workerId: string | undefined, { fields }: DeadRow): boolean {
  return workerId === undefined || fields.worker === workerId
}

async function letterOf(
  places: readonly DeadLettersPlace[],
  id: string,
  workerId?: string,
): Promise<[place: DeadLettersPlace, letter: DeadLetter]> {
  if (!letterId.test(id)) throw noLetter(id, workerId)
  const rows = await Promise.all(places.map(({ letters }) => letters.letter(id)))
  const found = places.flatMap((place, index) => {
    const row = rows[index]
    return row !== undefined && isOf(workerId, row) ? [[place, toLetter(row)] as const] : []
  })
  const [only, ...others] = found
  if (only === undefined) throw noLetter(id, workerId)
  if (others.length === 0) return [...only]
  // Each partition gives ids by the millisecond, so two partitions may have the same one.
  const workers = found.map(([, letter]) => letter.workerId).join(', ')
  throw new InputError(
    `there is a dead letter ${id} of each of these workers: ${workers}. Name the worker, too (workerId).`,
  )
}

export function toLetter({ id, fields, redriven, isDismissed }: DeadRow): DeadLetter {
  const evidence = evidenceOf(fields.evidence)
  const { message = null, malformed } = fields.mail === undefined ? {} : decodeMail('inbox', 0, fields.mail)
  const { step } = evidence
  return {
    id,
    sessionId: fields.session ?? '',
    workerId: fields.worker ?? '',
    message: message && { ...message, id },
    ...(malformed !== undefined && { unreadable: malformed }),
    killedBy: typeof step === 'string' ? step : 'a message',
    redrivenAs: redriven === null ? null : inputIdOf(redriven),
    dismissed: isDismissed,
    evidence,
  }
}

function evidenceOf(json = '{}'): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // Text that is no JSON is shown as it is.
  }
  return { unreadable: json }
}

/** The refusal of one letter. Throws any other error, because it concerns the other letters too. */
function refusalOf(thrown: unknown): { readonly code: ErrorCode; readonly message: string } {
  if (!(thrown instanceof RuntimeError) || thrown.retryable) throw thrown
  const { code, message } = thrown
  return { code, message }
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
        `dead letter ${id} of worker ${workerId} holds no message: the cause was ${killedBy}, within a run that has failed.${wayOn(letter)}`,
      )
    case 'session_finished':
      return finished(letter, answer.state)
    case 'terminal':
      return new ConflictError(
        'worker_terminal',
        `dead letter ${id} cannot go back to worker ${workerId}, because that was cancelled for good. B${anew(letter)}`,
      )
    default:
      return refusalError(refusalOfPost(answer, workerId), `worker ${workerId}`)
  }
}

function anew({ id, workerId }: DeadLetter): string {
  return `egin a new session with it: troupe mailbox redrive ${workerId} --id ${id} --new-session`
}

function finished(letter: DeadLetter, state: string): RuntimeError {
  const { id, workerId, sessionId } = letter
  const isFailed = state === 'failed' && isOfRoot(letter)
  return new ConflictError(
    'session_finished',
    `dead letter ${id} cannot go back to worker ${workerId}, because its session ${state === 'cancelling' ? 'is being cancelled' : `has ended (${state})`}. ${isFailed ? `Let that session go on with the message: troupe session retry ${sessionId}; or b${anew(letter)}` : `B${anew(letter)}`}`,
  )
}
