/**
 * Duty: notices in the form in which they stand among the timers until a node has sent them (store/lua/shared/mail/notices.lua), and their types.
 * `own` goes where its session says (core/worker/notify.ts); the others go to the endpoints of the namespace.
 */
import { isId, sessionIdOfRoot } from '../ids.ts'

export type Notice =
  | { readonly of: 'own'; readonly sessionId: string }
  | { readonly of: 'end'; readonly sessionId: string }
  | { readonly of: 'ask'; readonly askId: string }
  | { readonly of: 'letter'; readonly workerId: string; readonly letterId: string }

/** Null for a text that another program wrote. */
export function parseNotice(text: string): Notice | null {
  const [, workerId = '', about] = /^([0-9a-f-]{36}):notify(?::(.+))?$/.exec(text) ?? []
  if (!isId(workerId)) return null
  if (about === undefined) return { of: 'own', sessionId: sessionIdOfRoot(workerId) }
  if (about === 'end') return { of: 'end', sessionId: sessionIdOfRoot(workerId) }
  if (isId(about)) return { of: 'ask', askId: about }
  return /^\d+-\d+$/.test(about) ? { of: 'letter', workerId, letterId: about } : null
}

/** The notice of an ask of this worker. */
export const noticeOfAsk = (workerId: string, askId: string) => `${workerId}:notify:${askId}`

/** The worker that a notice is about, as far as the text says. */
export const workerOfNotice = (text: string) => text.split(':', 1)[0] ?? ''

/** What an endpoint may be told of. */
export const noticeTypes = [
  'session.completed',
  'session.failed',
  'session.cancelled',
  'ask.opened',
  'approval.requested',
  'message.deadLettered',
] as const
export type NoticeType = (typeof noticeTypes)[number]

export const noticeTypesAtStart: readonly NoticeType[] = ['session.completed', 'session.failed', 'session.cancelled']
