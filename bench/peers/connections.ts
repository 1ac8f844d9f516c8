/** Duty: how the BullMQ peers connect, and how a producer learns that a job is done. */
import { type ConnectionOptions, QueueEvents } from 'bullmq'
import { Redis } from 'ioredis'

/** BullMQ opens its own connections with these options: one per queue, two per worker, one per listener of events. */
export function bullmqConnection(redisUrl: string): ConnectionOptions {
  const { hostname, port } = new URL(redisUrl)
  return { host: hostname, port: Number(port), maxRetriesPerRequest: null }
}

export function plainConnection(redisUrl: string): Redis {
  return new Redis(redisUrl, { maxRetriesPerRequest: null })
}

/** Jobs are deleted when they end, as in an application that keeps results elsewhere: the cheapest setting. */
export const forgetFinished = { removeOnComplete: true, removeOnFail: true } as const

/** A job is kept for a while if somebody waits for its result; otherwise a producer that asks late would find nothing. */
export const keepRecent = { removeOnComplete: { count: 1_000 }, removeOnFail: { count: 1_000 } } as const

/** Each waiting producer adds a listener to the queue and to its events; Node warns beyond this number. */
export const waitersMax = 1_000

/** The listener for `job.waitUntilFinished`: BullMQ's documentation lets a producer wait for a result this way. */
export async function openQueueEvents(
  queueName: string,
  prefix: string,
  connection: ConnectionOptions,
): Promise<QueueEvents> {
  const events = new QueueEvents(queueName, { prefix, connection })
  events.setMaxListeners(waitersMax)
  await events.waitUntilReady()
  return events
}

export interface Completions {
  /** Call it before you add the job, or its end could be missed. Resolves with the value that the processor returned. */
  of(jobId: string): Promise<unknown>
  close(): Promise<void>
}

/**
 * One listener for all jobs of a queue. `job.waitUntilFinished` asks Redis once more for each job, because it cannot know
 * whether it missed the end. An id that the producer chose makes that unnecessary.
 */
export async function listenForCompletions(
  queueName: string,
  prefix: string,
  connection: ConnectionOptions,
): Promise<Completions> {
  const events = new QueueEvents(queueName, { prefix, connection })
  const waiting = new Map<string, { resolve(value: unknown): void; reject(error: Error): void }>()
  events.on('completed', ({ jobId, returnvalue }) => {
    waiting.get(jobId)?.resolve(returnvalue)
    waiting.delete(jobId)
  })
  events.on('failed', ({ jobId, failedReason }) => {
    waiting.get(jobId)?.reject(new Error(failedReason))
    waiting.delete(jobId)
  })
  await events.waitUntilReady()
  return {
    of: (jobId) => new Promise((resolve, reject) => waiting.set(jobId, { resolve, reject })),
    close: () => events.close(),
  }
}
