/**
 * Duty: look at a session again and again until what a caller waits for is there.
 * AWAIT-ENDS-1 A run of the session that ends wakes the caller at once. If that event was missed, the caller looks after a while, and then ever
 *              more rarely: thousands may wait for days.
 */
import { clientClosed } from '../../../store/redis/redis.ts'
import type { EventHub } from '../../event/event-hub.ts'

const pollMs = 2_000
const pollMsMax = 10_000

/** Calls `look` until it finds something. It returns undefined to be called again. Its argument is true if no event has come for long. */
export async function awaitEnds<Found>(
  hub: EventHub,
  sessionId: string,
  signal: AbortSignal | undefined,
  look: (missed: boolean) => Promise<Found | undefined>,
): Promise<Found> {
  let woken = Promise.withResolvers<void>()
  const wake = () => woken.resolve()
  signal?.addEventListener('abort', wake)
  try {
    await hub.wakeAtEnds(sessionId, wake)
    let missed = false
    for (let ms = pollMs; ; ms = missed ? Math.min(ms * 2, pollMsMax) : pollMs) {
      signal?.throwIfAborted()
      woken = Promise.withResolvers<void>()
      const found = await look(missed)
      if (found !== undefined) return found
      if (hub.isStopped) throw clientClosed()
      missed = false
      const timer = setTimeout(() => {
        missed = true
        wake()
      }, ms)
      await woken.promise
      clearTimeout(timer)
    }
  } finally {
    hub.stopWaking(sessionId, wake)
    signal?.removeEventListener('abort', wake)
  }
}
