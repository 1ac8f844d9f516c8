/** Duty: the time one receive may take: a signal that fires with the turn's or after that time, and a promise that rejects with it. */
import type { HandlerDefinition } from '../core/define-worker.ts'
import { TimeoutError } from '../core/errors.ts'
import type { Turn } from './turn.ts'

export interface ReceiveTimeout {
  readonly signal: AbortSignal
  readonly expired?: Promise<never>
  readonly reason: Error | undefined
  clear(): void
}

export function timeoutOf(definition: HandlerDefinition, turn: Turn): ReceiveTimeout {
  const ms = (definition as { timeoutMs?: number }).timeoutMs
  if (ms === undefined) return unlimited(turn)
  const controller = new AbortController()
  const unlisten = turn.whenAborted((reason) => controller.abort(reason))
  const { promise: expired, reject } = Promise.withResolvers<never>()
  expired.catch(() => {})
  let reason: Error | undefined
  const timer = setTimeout(() => {
    reason = new TimeoutError(`receive took longer than ${ms} ms.`)
    controller.abort(reason)
    reject(reason)
  }, ms)
  return {
    signal: controller.signal,
    expired,
    get reason() {
      return reason
    },
    clear() {
      clearTimeout(timer)
      unlisten()
    },
  }
}

/** The signal is the turn's, made only for who asks. */
function unlimited(turn: Turn): ReceiveTimeout {
  return {
    get signal() {
      return turn.signal
    },
    reason: undefined,
    clear() {},
  }
}
