/**
 * Duty: run work that is not troupe's own under a signal and a time limit.
 * LIMITED-1 The result is there when the work ends, the time is over or the signal fires. What the work does later is dropped.
 */
import { TimeoutError } from '../../core/errors.ts'

export type Limited<T> =
  | { readonly kind: 'ended'; readonly value: T }
  | { readonly kind: 'timedOut' }
  | { readonly kind: 'aborted' }

export interface LimitedWork {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** Names the work in the reason of its signal. */
  readonly what: string
}

/** The time limit counts from the call of `started`. `work` must not reject. */
export function limited<T>(
  { signal: outer, timeoutMs, what }: LimitedWork,
  work: (signal: AbortSignal, started: () => void) => Promise<T>,
): Promise<Limited<T>> {
  if (outer.aborted) return Promise.resolve({ kind: 'aborted' })
  const { promise, resolve } = Promise.withResolvers<Limited<T>>()
  const stop = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const end = (limited: Limited<T>) => {
    clearTimeout(timer)
    outer.removeEventListener('abort', onAbort)
    resolve(limited)
  }
  // The result is set before the work learns of the abort, so that whatever the work does then comes too late.
  const onAbort = () => {
    end({ kind: 'aborted' })
    stop.abort(outer.reason)
  }
  const onTimeout = () => {
    end({ kind: 'timedOut' })
    stop.abort(new TimeoutError(`${what} did not finish within ${timeoutMs} ms.`))
  }
  outer.addEventListener('abort', onAbort)
  void work(stop.signal, () => {
    if (!stop.signal.aborted) timer ??= setTimeout(onTimeout, timeoutMs)
  }).then((value) => end({ kind: 'ended', value }))
  return promise
}
