/**
 * Duty: the asks of workers as programs see them: the inbox of all sessions, one ask, and its answer.
 * ASKS-1 An answer is checked against the question before it is sent: it is one of the options, or fits the schema.
 * ASKS-2 An ask takes one answer. The same answer under the same idempotency key is the same answer; any other is refused, and the error says
 *        how the ask ended.
 * ASKS-3 A tool is trusted only after the answer that says so was accepted: a caller that is refused changes nothing. An answer that is given again
 *        under its key trusts no tool whose trust was taken back since.
 */

import { checkOptions, keyRule, type Rules } from '../../core/check/check-options.ts'
import { ConflictError, InputError, NotFoundError } from '../../core/errors.ts'
import { encodeEvents } from '../../core/event/event-notes.ts'
import { digestKey, isWorkerId, type KeyOwner, newId, parseId, partitionOf } from '../../core/ids.ts'
import { toJson } from '../../core/json.ts'
import { policy } from '../../core/policy.ts'
import type { Waker } from '../../core/ports/wake.ts'
import { answerProblem } from '../../core/worker/ask/answer-problem.ts'
import { toDecision } from '../../core/worker/ask/approval-ask.ts'
import {
  type AskBody,
  type AskSort,
  type AskState,
  decodeAnswer,
  decodeAskBody,
  encodeAnswer,
} from '../../core/worker/ask/ask.ts'
import type { AskPlace, AskRow, AskStore } from '../../store/person/ask-store.ts'
import type { AnswerAnswer, SessionStore } from '../../store/session/session-store.ts'
import { ofEach } from '../fleet/each-partition.ts'
import type { PartitionLook } from '../fleet/partitions.ts'
import { type AsksQuery, asksRules } from '../queries.ts'
import { boundAnswer, decisionIn, detailsOf, trustedTool } from './approval-answers.ts'

/** An ask, with how it ended. */
export interface Ask {
  readonly id: string
  readonly sessionId: string
  readonly workerId: string
  readonly workerName: string | null
  readonly workerKind: string | null
  readonly run: number
  /** question: for a person. approval: may this tool call run? signal: an event of another system, by its name. */
  readonly kind: AskSort
  readonly state: AskState
  /** The question, or the name of the signal. */
  readonly question: string
  /** The answer must be one of these; null: of any other form. */
  readonly options: readonly string[] | null
  /** JSON Schema of the answer; null: any JSON value. */
  readonly schema: Readonly<Record<string, unknown>> | null
  /** If it is an approval: the tool, its arguments, and why a person is asked. Otherwise null. */
  readonly details: unknown
  /** In ms since 1970, as all times here. */
  readonly askedAt: number
  /** Null if it never expires. */
  readonly expiresAt: number | null
  /** Null while it is open. */
  readonly endedAt: number | null
  /** Null until somebody has answered. */
  readonly answer: { readonly value: unknown; readonly by: string | null; readonly reason: string | null } | null
}

export interface AnswerOptions {
  /** Who answers, in words for people. Default: the actor of the client. */
  readonly by?: string | undefined
  /** Why, for the worker and for people. */
  readonly reason?: string | undefined
  /** The same answer under the same key is one answer. */
  readonly idempotencyKey?: string | undefined
}

export interface Answered {
  readonly askId: string
  readonly workerId: string
  readonly sessionId: string
  /** The same answer was given before under this key. */
  readonly again: boolean
}

export interface AnsweredAndTrusted extends Answered {
  /** Ids of the other approvals that were approved because the answer trusts their tool. */
  readonly alsoApproved: readonly string[]
}

const text = (most: number) => ({
  expects: `a text of at most ${most} bytes`,
  fits: (value: unknown) => typeof value === 'string' && Buffer.byteLength(value) <= most,
})
const answerRules: Rules<AnswerOptions> = {
  by: text(256),
  reason: text(policy.reasonBytesMax),
  idempotencyKey: keyRule,
}

/** How many open approvals of a tool are approved when the tool becomes trusted. Workers see by themselves that the tool is trusted, when they next go on. */
const trustedAtOnce = 1_000

/** How many asks one read takes. */
const pageSize = 200

export interface AsksSettings {
  readonly waker: Waker
  readonly namespace: string
  /** Who answers, if the answer itself does not say it. */
  readonly actor?: string | undefined
  /** Default: caller. */
  readonly keyOwner?: KeyOwner
  /** Who learns of partitions while the client runs. */
  readonly look?: Pick<PartitionLook, 'knowing'>
}

/** What the asks of one partition need. */
export interface AsksPlace {
  readonly asks: AskStore
  readonly store: SessionStore
}

export class Asks {
  readonly #places: readonly AsksPlace[]
  readonly #settings: AsksSettings

  constructor(places: readonly AsksPlace[], settings: AsksSettings) {
    this.#places = places
    this.#settings = settings
  }

  /** Asks of all sessions, or of one. The oldest come first: they have waited longest. */
  async list(query: AsksQuery = {}): Promise<Ask[]> {
    checkOptions('asks.list', query, asksRules, InputError)
    const { limit = 50, state = 'open', sessionId, after, onAway } = query
    if (sessionId === undefined && state !== 'open')
      throw new InputError(
        `asks.list shows asks that are ${state} only of one session: name it with sessionId (--session).`,
      )
    const session = sessionId === undefined ? undefined : parseId(sessionId, 'session')
    const from = after === undefined ? undefined : await this.#positionOf(after)
    const places = session === undefined ? this.#places : [await this.#findPlace(session)]
    const wanted = { ...query, sessionId: session, state, limit }
    const found = await ofEach(places, ({ asks }) => Array.fromAsync(matching(asks, wanted, from)), onAway)
    return found
      .flat()
      .sort((a, b) => a.askedAt - b.askedAt || (a.id < b.id ? -1 : 1))
      .slice(0, limit)
  }

  /** One ask, in any state. Throws `ask_not_found`. */
  async get(id: string): Promise<Ask> {
    const askId = parseId(id, 'ask')
    const { asks } = await this.#findPlace(askId)
    const [row] = await asks.rows([askId])
    if (row === undefined) throw askNotFound(askId)
    return toAsk(row)
  }

  /**
   * Answers an ask. Its worker receives the answer and goes on. Throws `ask_not_found`, `ask_answered`, `ask_expired` or `ask_withdrawn` if it
   * cannot be answered, and `input_invalid` if the answer does not fit the question.
   */
  async answer(id: string, value: unknown, options: AnswerOptions = {}): Promise<Answered> {
    const { alsoApproved: _, ...answered } = await this.answerAndTrust(id, value, options)
    return answered
  }

  /** The same. It also says which other approvals were approved because the answer trusts their tool. */
  async answerAndTrust(id: string, value: unknown, options: AnswerOptions): Promise<AnsweredAndTrusted> {
    checkOptions('asks.answer', options, answerRules, InputError)
    const { waker, actor = null, keyOwner } = this.#settings
    const { by = actor, reason = null, idempotencyKey } = options
    const ask = await this.get(id)
    const given = ask.kind === 'approval' ? toDecision(value) : value
    checkAnswer(ask, given)
    const trusted = trustedTool(ask, given)
    const { store } = this.#placeOf(ask.id)
    const answerJson = encodeAnswer(toJson(boundAnswer(ask, given), 'the answer'), { status: 'answered', by, reason })
    const key = idempotencyKey === undefined ? newId(partitionOf(ask.id)) : `${ask.id}/${idempotencyKey}`
    const event = encodeEvents([
      ['ask.answered', { id: ask.id, ...(by !== null && { by }), ...decisionIn(ask, given) }],
    ])
    const answer = await store.answer(ask.id, { answerJson, by, keyDigest: digestKey(key, 'message', keyOwner), event })
    if (!('wakeups' in answer)) throw refusalOf(ask.id, answer)
    waker.wake(partitionOf(ask.id), answer.wakeups)
    const { sessionId, workerId } = ask
    const again = idempotencyKey !== undefined && answer.kind === 'again'
    const alsoApproved = trusted === null ? [] : await this.#trust(ask, trusted, by)
    return { askId: ask.id, workerId, sessionId, again, alsoApproved }
  }

  /**
   * From now on nobody is asked about the tool in this session, and open asks about it are approved. Returns the ids of these. One answer trusts once
   * (ASKS-3).
   */
  async #trust({ id, sessionId }: Ask, tool: string, by: string | null): Promise<string[]> {
    const event = encodeEvents([['session.approvalChanged', { tool, ...(by !== null && { by }) }]])
    const { store } = this.#placeOf(sessionId)
    const set = await store.setApproval(sessionId, { tool }, event, digestKey(`${id}/trust`, 'act'))
    if (set.kind === 'not_found' || !set.approval.trusted.includes(tool)) return []
    const reason = `tool "${tool}" is trusted in this session`
    const approved: string[] = []
    for (const other of await this.list({ sessionId, kind: 'approval', limit: trustedAtOnce })) {
      const details = detailsOf(other)
      if (details?.tool !== tool || details.eachTime) continue
      try {
        await this.answer(other.id, 'approve', { reason, ...(by !== null && { by }) })
        approved.push(other.id)
      } catch (error) {
        // Somebody else answered it, or its worker has seen that the tool is trusted.
        if (!(error instanceof ConflictError)) throw error
      }
    }
    return approved
  }

  async #positionOf(id: string): Promise<AskPlace> {
    const { askedAt, id: askId } = await this.get(id)
    return { askedAt, id: askId }
  }

  /** The partition may be new. */
  async #findPlace(id: string): Promise<AsksPlace> {
    const find = async () => this.#placeOf(id)
    return this.#settings.look?.knowing(find) ?? find()
  }

  #placeOf(id: string): AsksPlace {
    const place = this.#places[partitionOf(id)]
    if (place !== undefined) return place
    const { message } = askNotFound(id, ` in namespace "${this.#settings.namespace}"`)
    throw new NotFoundError('ask_not_found', message, { details: { partition: partitionOf(id) } })
  }
}

async function* matching(
  store: AskStore,
  { sessionId, state, kind, workerKind, olderThanMs, limit }: AsksQuery & { readonly limit: number },
  from: AskPlace | undefined,
): AsyncGenerator<Ask> {
  const before = olderThanMs === undefined ? Number.POSITIVE_INFINITY : Date.now() - olderThanMs
  let left = limit
  for (let after = from; left > 0; ) {
    const size = Math.min(Math.max(left, 20), pageSize)
    const places =
      sessionId === undefined ? await store.open(size, after) : await store.ofSession(sessionId, size, after)
    for (const row of await store.rows(places.map(({ id }) => id))) {
      const ask = toAsk(row)
      const fits =
        (state === 'any' || ask.state === state) &&
        (kind === undefined || ask.kind === kind) &&
        (workerKind === undefined || ask.workerKind === workerKind) &&
        ask.askedAt <= before
      if (!fits) continue
      yield ask
      if (--left === 0) return
    }
    after = places.at(-1)
    if (places.length < size) return
  }
}

export function toAsk({ sort, bodyJson, answerJson, ...row }: AskRow): Ask {
  const body: AskBody = decodeAskBody(bodyJson) ?? { question: bodyJson }
  const { question, options, schema, details } = body
  return {
    ...row,
    kind: sort,
    question,
    options: options ?? null,
    schema: schema ?? null,
    details: details ?? null,
    answer: answerOf(answerJson),
  }
}

function answerOf(json: string | null): Ask['answer'] {
  if (json === null) return null
  try {
    const { value, by, reason } = decodeAnswer(json)
    return { value, by, reason }
  } catch {
    return { value: json, by: null, reason: null }
  }
}

function checkAnswer({ id, options, schema }: Ask, value: unknown): void {
  const problem = answerProblem({ ...(options && { options }), ...(schema && { schema }) }, value)
  if (problem !== null) throw new InputError(`the answer to ask ${id} ${problem}.`)
}

function askNotFound(id: string, where = ''): NotFoundError {
  // The ids of asks look like those of workers.
  const why = isWorkerId(id)
    ? 'check the id and the namespace; `troupe ask list` shows those that are open. Its session may have been pruned.'
    : `that is the id of a session; its asks: troupe ask list --session ${id}`
  return new NotFoundError('ask_not_found', `ask ${id} is not known${where}: ${why}`)
}

function refusalOf(
  id: string,
  answer: Exclude<AnswerAnswer, { readonly wakeups: unknown }>,
): NotFoundError | ConflictError {
  const at = (ms: number) => new Date(ms).toISOString()
  switch (answer.kind) {
    case 'not_found':
      return askNotFound(id)
    case 'other':
      return new ConflictError(
        'ask_answered',
        `ask ${id} was answered otherwise under this idempotency key: an ask takes one answer.`,
      )
    case 'answered': {
      const by = answer.by === '' ? '' : ` by ${answer.by}`
      return new ConflictError(
        'ask_answered',
        `ask ${id} was answered${by} at ${at(answer.at)}: an ask takes one answer.`,
      )
    }
    case 'expired':
      return new ConflictError(
        'ask_expired',
        `ask ${id} expired at ${at(answer.at)}: its worker takes no answer any more.`,
      )
    case 'withdrawn':
      return new ConflictError(
        'ask_withdrawn',
        `ask ${id} was withdrawn: the run that asked has ended or was cancelled, or another call of the same reply was denied.`,
      )
  }
}
