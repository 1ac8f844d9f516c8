/**
 * Duty: know whose code runs now: whatever that code starts (timers, promises, sockets) knows it too, even long after the turn is over.
 * CALL-1 If nothing caught an error, or code blocks the event loop, this names the worker, the kind and the call.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { UserCall } from '../../core/worker/last-words.ts'

const calls = new AsyncLocalStorage<UserCall>()

/** This is a class, as such objects come and go with each turn. */
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

/** Runs a part of what runs already, such as a tool of a turn. */
export function runUserPart<T>(what: string, code: () => T): T {
  const call = calls.getStore()
  return call === undefined ? code() : runUserCode(call, what, code)
}

export function currentUserCall(): UserCall | undefined {
  return calls.getStore()
}
