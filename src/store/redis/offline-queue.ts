/**
 * Duty: removes commands from ioredis's offline queue when no caller waits for them any more. ioredis would keep them until Redis is back
 * and send them then. Without this, a caller that repeats its calls would fill the memory, and Redis would run all of them in the end.
 * QUEUE-1 Only commands that wait for a connection are removed. A command that was in flight when its connection was lost may have run.
 * QUEUE-2 A pipeline is removed as a whole. Otherwise ioredis would wait for the missing part, and match later answers to the wrong commands.
 * QUEUE-3 No command is removed while its caller may still wait: both are measured by the clock of deadlines.ts.
 */
import type { Command, Redis } from 'ioredis'
import type { Deadlines } from './deadlines.ts'

interface Unsent {
  readonly command: Command
  /** All commands of a pipeline have the same one. */
  readonly stream?: unknown
}

/** Internals of ioredis: the commands that wait for a connection. */
interface Inside {
  readonly offlineQueue: {
    readonly length: number
    peekAt(index: number): Unsent | undefined
    removeOne(index: number): Unsent | undefined
  }
}

/** `patienceMs`: no caller waits longer for a command of this connection. */
export function dropUnwaited(redis: Redis, patienceMs: number, deadlines: Deadlines): void {
  const inside = redis as unknown as Inside
  const unwaited = new WeakSet<Command>()
  const send = redis.sendCommand.bind(redis)
  redis.sendCommand = (command, target) => {
    const { length } = inside.offlineQueue
    const sent = send(command, target)
    if (inside.offlineQueue.length > length) {
      deadlines.within(command.promise, patienceMs).catch((error: Error) => {
        unwaited.add(command)
        takeOut(inside, unwaited, error)
      })
    }
    return sent
  }
}

/** Takes out commands, from the oldest one to the first that a caller may still wait for. */
function takeOut({ offlineQueue }: Inside, unwaited: WeakSet<Command>, error: Error): void {
  let stream: unknown
  for (let index = 0, item = offlineQueue.peekAt(0); item; item = offlineQueue.peekAt(index)) {
    const isOfPipeline = item.stream !== undefined && item.stream === stream
    // BullMQ asks for `info` once, and its queue would never be ready.
    if (item.command.name === 'info' && item.stream === undefined) index++
    else if (isOfPipeline || unwaited.has(item.command)) {
      stream = item.stream
      offlineQueue.removeOne(index)
      item.command.reject(error)
    } else return
  }
}
