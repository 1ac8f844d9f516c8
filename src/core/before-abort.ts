/** Duty: wait for work that may ignore its signal. */

/** Rejects with the reason of the signal when it fires, or has fired, whatever the work does. */
export async function beforeAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  // The reason is thrown unchanged, even if it is no Error, because the code that aborted expects it.
  const abort = () => reject(signal.reason as Error)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
