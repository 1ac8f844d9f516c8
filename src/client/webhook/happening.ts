/**
 * Duty: read what happened, if a notice says that endpoints are to be told of it: the end of a session, an ask, a dead letter.
 * HAPPENING-1 The id is the same for the same thing, whoever reads it and whenever.
 */
import type { Notice, NoticeType } from '../../core/webhook/notice.ts'
import type { InspectStore } from '../../store/audit/inspect-store.ts'
import type { AskStore } from '../../store/person/ask-store.ts'
import type { LetterStore } from '../../store/person/letter-store.ts'
import type { SessionRecord } from '../../store/record/session-record.ts'
import { toLetter } from '../letter/dead-letters.ts'
import { toAsk } from '../person/asks.ts'
import { readEnd } from '../session/run/read-notice.ts'

export interface Happening {
  readonly id: string
  readonly type: NoticeType
  readonly at: number
  /** The kind of its session. */
  readonly kind: string
  readonly name: string
  /** What every endpoint gets. */
  readonly ids: Readonly<Record<string, unknown>>
  /** What an endpoint gets in addition, if it asks for it. */
  readonly more: Readonly<Record<string, unknown>>
}

export interface HappeningStores {
  readonly inspect: InspectStore
  readonly asks: AskStore
  readonly letters: LetterStore
}

/** Null: it is gone, has ended, or belongs to a dry run. Then no notice is sent. */
export async function readHappening(
  notice: Exclude<Notice, { of: 'own' }>,
  stores: HappeningStores,
): Promise<Happening | null> {
  if (notice.of === 'end') return endOf(stores, notice.sessionId)
  return notice.of === 'ask' ? askOf(stores, notice.askId) : letterOf(stores, notice.workerId, notice.letterId)
}

async function endOf({ inspect }: HappeningStores, sessionId: string): Promise<Happening | null> {
  const end = await readEnd(inspect, sessionId)
  if (end === null || isDry(end.session)) return null
  const { type, data } = end.notice
  const { name, kind, run, sessionId: _, ...more } = data
  const ids = { sessionId, name, kind, run, path: `/v1/sessions/${sessionId}` }
  return { id: end.id, type, at: end.at, kind, name, ids, more }
}

/** An ask that was answered before its notice could be sent needs nobody any more. */
async function askOf({ inspect, asks }: HappeningStores, askId: string): Promise<Happening | null> {
  const [row] = await asks.rows([askId])
  const session = row?.state === 'open' ? await sessionOf(inspect, row.sessionId) : null
  if (row === undefined || session === null) return null
  const { sessionId, workerId, kind: sort, question, options, schema, details, askedAt, expiresAt } = toAsk(row)
  const isApproval = sort === 'approval'
  const { kind, name } = session
  return {
    id: askId,
    type: isApproval ? 'approval.requested' : 'ask.opened',
    at: askedAt,
    kind,
    name,
    ids: {
      sessionId,
      name,
      kind,
      workerId,
      askId,
      ask: sort,
      path: `/v1/${isApproval ? 'approvals' : 'asks'}/${askId}`,
    },
    more: { question, options, schema, details, expiresAt },
  }
}

async function letterOf(
  { inspect, letters }: HappeningStores,
  workerId: string,
  letterId: string,
): Promise<Happening | null> {
  const row = await letters.letter(letterId)
  if (row === undefined) return null
  const { sessionId, killedBy, evidence } = toLetter(row)
  const session = await sessionOf(inspect, sessionId)
  if (session === null) return null
  const { kind, name } = session
  return {
    id: `${workerId}-${letterId}`,
    type: 'message.deadLettered',
    at: Number(letterId.split('-')[0]),
    kind,
    name,
    ids: { sessionId, name, kind, workerId, letterId, path: `/v1/dead?worker=${workerId}` },
    more: { killedBy, evidence },
  }
}

async function sessionOf(inspect: InspectStore, sessionId: string): Promise<SessionRecord | null> {
  const session = (await inspect.session(sessionId))?.session
  return session === undefined || isDry(session) ? null : session
}

/** A dry run was made to be looked at, and does nothing outside. */
function isDry({ copied }: SessionRecord): boolean {
  return copied === 'dry'
}
