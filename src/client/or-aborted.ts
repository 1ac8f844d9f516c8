/** Duty: end a call as soon as the signal of its caller fires, whatever the call waits for. */

/** Rejects with the reason of the signal if that fires first. Then the outcome of the call is dropped. */
export async function orAborted<T>(call: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return call
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([call, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
