/** Duty: reads of Redis with a deadline. They are repeated like the calls of scripts (SCRIPT-1). */
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { RuntimeError } from '../../core/errors.ts'
import { withinRest } from './redis.ts'
import { lastWord, messageOf, pauseAfter, storeError } from './store-error.ts'

const pipelineLost = /aborted due to connection/i

/**
 * Resolves with what was read within the deadline; otherwise rejects with an error that says what was being done and what to do. A read is repeated
 * if Redis says "not now", or if the connection ended between the answers to a pipeline, which ioredis does not send again: reading twice does no
 * harm. `since`: when the time of the deadline began.
 */
export async function guarded<T>(
  doing: string,
  read: () => Promise<T>,
  deadlineMs: number,
  since = performance.now(),
): Promise<T> {
  const give = since + deadlineMs
  let refusal: RuntimeError | undefined
  for (let attempt = 0; ; attempt++) {
    try {
      return await withinRest(read(), deadlineMs, since)
    } catch (thrown) {
      const error = storeError(thrown, doing)
      const pauseMs = pauseAfter(attempt)
      if (error.code === 'store_refused') refusal = error
      const isToRepeat = error === refusal || pipelineLost.test(messageOf(thrown))
      if (!isToRepeat || performance.now() + pauseMs >= give) throw lastWord(refusal, error)
      await pause(pauseMs)
    }
  }
}

/** The same object, with every method that returns a promise guarded. `where`: what it reads from, as the end of a phrase. */
export function guardedReads<Store extends object>(store: Store, deadlineMs: number, where = () => ''): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        const first: unknown = Reflect.apply(member, target, args)
        if (!(first instanceof Promise)) return first
        let isFirst = true
        const read = () => {
          if (!isFirst) return Reflect.apply(member, target, args) as Promise<unknown>
          isFirst = false
          return first
        }
        return guarded(`reading ${inWords(name)}${where()}`, read, deadlineMs)
      }
    },
  })
}

/** Names that say little without their store. */
const others: Readonly<Record<string, string>> = { now: 'the time', open: 'open asks', isUnused: 'what is there' }

/** `openLetters`: "open letters"; `leasesOf`: "leases". */
function inWords(name: string | symbol): string {
  const other = others[String(name)]
  if (other !== undefined) return other
  return String(name)
    .replace(/Of$/, '')
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
