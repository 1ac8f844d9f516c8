/** Duty: what an endpoint may be told of, in words for people. */
import type { NoticeType, Webhook } from '../../../client/webhook/webhook.ts'

export const wordsOfTypes: Readonly<Record<NoticeType, string>> = {
  'session.completed': 'a session is done',
  'session.failed': 'a session failed',
  'session.cancelled': 'a session was cancelled',
  'ask.opened': 'a worker asks a question',
  'approval.requested': 'a call waits for approval',
  'message.deadLettered': 'a message was put aside',
}

/** `only of the kinds a, b`; empty without such a filter. */
export function onlyText({ kinds, names }: Pick<Webhook, 'kinds' | 'names'>): string {
  const parts = [
    kinds === null ? '' : `of the kind${kinds.length === 1 ? '' : 's'} ${kinds.join(', ')}`,
    names === null ? '' : `named ${names.join(' or ')}`,
  ].filter(Boolean)
  return parts.length === 0 ? '' : `only sessions ${parts.join(', ')}`
}
