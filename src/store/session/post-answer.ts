/** Duty: what the store answers to a message from outside: where it stands, or why it is refused. */
import { InvariantError } from '../../core/errors.ts'
import type { Wakeup } from '../../core/ports/wake.ts'
import type { Refusal } from '../../core/worker/refusal.ts'
import type { Reply } from '../script/script.ts'
import { parseWakeups } from '../wakeups.ts'

/**
 * Where a message stands in its lane. again: its key is known, or its letter was put back before, and this is the position that it got then. other:
 * the key is known, and another message was sent under it.
 */
export interface Placed {
  readonly kind: 'ok' | 'again' | 'other'
  readonly position: number
  readonly wakeups: readonly Wakeup[]
  /** The pool in whose run queue the worker was put, if it was idle and no wake-up was added for it; else empty. */
  readonly wokenIn: string
  /** True if a run in progress takes the message before its turn. */
  readonly steers: boolean
}

export type PostAnswer = Placed | PostRefused

export type PostRefused =
  | { readonly kind: 'not_found' | 'terminal' }
  | { readonly kind: 'session_finished'; readonly state: string }
  | { readonly kind: 'mailbox_full'; readonly most: number }

/** Why the worker that the message was sent to has refused it. */
export function refusalOfPost(answer: PostRefused, id: string): Refusal {
  switch (answer.kind) {
    case 'mailbox_full':
      return { reason: 'mailbox_full', id, limit: answer.most }
    case 'session_finished':
      return { reason: 'session_finished', id, state: answer.state }
    case 'not_found':
    case 'terminal':
      return { reason: answer.kind, id }
  }
}

export function decodePost(reply: Reply, script: string): PostAnswer {
  switch (reply[0]) {
    case 'ok':
    case 'again':
    case 'other':
      return {
        kind: reply[0],
        position: Number(reply[1]),
        wakeups: parseWakeups(reply[2]),
        wokenIn: String(reply[3] ?? ''),
        steers: reply[4] === '!',
      }
    case 'not_found':
    case 'terminal':
      return { kind: reply[0] }
    case 'session_finished':
      return { kind: 'session_finished', state: String(reply[1]) }
    case 'mailbox_full':
      return { kind: 'mailbox_full', most: Number(reply[1]) }
    default:
      throw new InvariantError(`${script} answered ${JSON.stringify(reply[0])}`)
  }
}
