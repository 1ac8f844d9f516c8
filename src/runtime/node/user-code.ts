/**
 * Duty: know whose code runs now: what it starts (timers, promises, sockets) knows it too, also when the turn is long over.
 * CALL-1 Of an error that nothing caught, or of code that blocks the event loop, this names worker, kind and call.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { UserCall } from '../../core/worker/last-words.ts'

const calls = new AsyncLocalStorage<UserCall>()

/** A class, as such objects come and go with each turn. */
class Call implements UserCall {
  readonly workerId: string
  readonly sessionId: string
  readonly kind: string
  readonly what: string

  constructor({ workerId, sessionId, kind }: Omit<UserCall, 'what'>, what: string) {
    this.workerId = workerId
    this.sessionId = sessionId
    this.kind = kind
    this.what = what
  }
}

export function runUserCode<T>(of: Omit<UserCall, 'what'>, what: string, code: () => T): T {
  return calls.run(new Call(of, what), code)
}

/** A part of what runs already, such as a tool of a turn. */
export function runUserPart<T>(what: string, code: () => T): T {
  const call = calls.getStore()
  return call === undefined ? code() : runUserCode(call, what, code)
}

export function currentUserCall(): UserCall | undefined {
  return calls.getStore()
}
