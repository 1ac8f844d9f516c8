/**
 * Duty: calls that were given up while Redis was away are not made when it is back. ioredis keeps each command until then: who goes on
 * calling would fill the memory with what nobody waits for, and have all of it done in the end.
 * Y-a Only what waits for a connection is taken out: of a command that was on its way when one was lost nobody knows whether it was done.
 * Y-b A pipeline goes as a whole: ioredis would wait for the part that is gone, and take the answers to others for those to the rest.
 * Y-c Nothing is taken out that somebody waits for: the time is measured as for those who do, by the clock of deadlines.ts.
 */
import type { Command, Redis } from 'ioredis'
import type { Deadlines } from './deadlines.ts'

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
export function forgetGivenUp(redis: Redis, patienceMs: number, deadlines: Deadlines): void {
  const inside = redis as unknown as Inside
  const givenUp = new WeakSet<Command>()
  const send = redis.sendCommand.bind(redis)
  redis.sendCommand = (command, target) => {
    const { length } = inside.offlineQueue
    const sent = send(command, target)
    if (inside.offlineQueue.length > length) {
      deadlines.within(command.promise, patienceMs).catch((error: Error) => {
        givenUp.add(command)
        takeOut(inside, givenUp, error)
      })
    }
    return sent
  }
}

/** From the oldest on, to the first that somebody may wait for. */
function takeOut({ offlineQueue }: Inside, givenUp: WeakSet<Command>, error: Error): void {
  let stream: unknown
  for (let index = 0, item = offlineQueue.peekAt(0); item; item = offlineQueue.peekAt(index)) {
    const isOfPipeline = item.stream !== undefined && item.stream === stream
    // BullMQ asks for `info` once, and its queue would never be ready.
    if (item.command.name === 'info' && item.stream === undefined) index++
    else if (isOfPipeline || givenUp.has(item.command)) {
      stream = item.stream
      offlineQueue.removeOne(index)
      item.command.reject(error)
    } else return
  }
}
