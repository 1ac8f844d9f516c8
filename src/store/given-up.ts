/**
 * Duty: calls that were given up while Redis was away are not made when it is back. ioredis keeps each command until then: who goes on
 * calling would fill the memory with what nobody waits for, and have all of it done in the end.
 * Y-a Only what was never sent is taken out: of a command that was on its way when a connection was lost nobody knows whether it was done.
 * Y-b A pipeline goes as a whole: ioredis would wait for the part that is gone, and take the answers to others for those to the rest.
 * Y-c Time in which this process did nothing but compute does not count: its callers are given as much longer (deadlines.ts).
 */
import { performance } from 'node:perf_hooks'
import type { Command, Redis } from 'ioredis'

interface Unsent {
  readonly command: Command
  /** One for all commands of a pipeline. */
  readonly stream?: unknown
}

/** What ioredis keeps to itself: commands that wait for a connection. */
interface Inside {
  readonly offlineQueue: {
    readonly length: number
    peekAt(index: number): Unsent | undefined
    removeOne(index: number): Unsent | undefined
  }
}

/** `patienceMs`: nobody waits longer for what is asked over this connection. */
export function forgetGivenUp(redis: Redis, patienceMs: number): void {
  const inside = redis as unknown as Inside
  const everyMs = patienceMs / 10
  const askedAt = new WeakMap<Command, number>()
  let timer: NodeJS.Timeout | undefined
  let [clock, lookedAt] = [0, 0]
  const look = () => {
    const now = performance.now()
    clock += Math.min(now - lookedAt, 4 * everyMs)
    lookedAt = now
    takeOut(inside, patienceMs, (command) => clock - (askedAt.get(command) ?? clock) > patienceMs)
    if (inside.offlineQueue.length > 0) return
    clearInterval(timer)
    timer = undefined
  }
  const send = redis.sendCommand.bind(redis)
  redis.sendCommand = (command, target) => {
    const { length } = inside.offlineQueue
    const sent = send(command, target)
    if (inside.offlineQueue.length <= length) return sent
    if (timer === undefined) lookedAt = performance.now()
    timer ??= setInterval(look, everyMs).unref()
    askedAt.set(command, clock)
    return sent
  }
}

/** From the oldest on. */
function takeOut({ offlineQueue }: Inside, patienceMs: number, isGivenUp: (command: Command) => boolean): void {
  const error = new Error(`no answer within ${Math.round(patienceMs)} ms`)
  let stream: unknown
  for (let index = 0, item = offlineQueue.peekAt(0); item; item = offlineQueue.peekAt(index)) {
    const isOfPipeline = item.stream !== undefined && item.stream === stream
    // BullMQ asks for `info` once, and its queue would never be ready.
    if (item.command.name === 'info' && item.stream === undefined) index++
    else if (isOfPipeline || isGivenUp(item.command)) {
      stream = item.stream
      offlineQueue.removeOne(index)
      item.command.reject(error)
    } else return
  }
}
