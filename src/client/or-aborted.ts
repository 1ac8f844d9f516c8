/** Duty: calls that end as soon as the caller's signal fires, whatever they wait for. */

/** Rejects with the signal's reason when that fires first: what becomes of the call then nobody is told. */
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
