/** Duty: how the BullMQ peers connect, and how a producer learns that a job is done. */
import { type ConnectionOptions, QueueEvents } from 'bullmq'
import { Redis } from 'ioredis'

/** BullMQ makes its connections of this: one for each queue, two for each worker, one for each listener of events. */
export function bullmqConnection(redisUrl: string): ConnectionOptions {
  const { hostname, port } = new URL(redisUrl)
  return { host: hostname, port: Number(port), maxRetriesPerRequest: null }
}

export function plainConnection(redisUrl: string): Redis {
  return new Redis(redisUrl, { maxRetriesPerRequest: null })
}

/** Jobs are deleted when they are done, as an application would that keeps results elsewhere: the cheapest setting. */
export const forgetFinished = { removeOnComplete: true, removeOnFail: true } as const

/** A job whose result somebody waits for is kept for a while, or a producer that asks late would find nothing. */
export const keepRecent = { removeOnComplete: { count: 1_000 }, removeOnFail: { count: 1_000 } } as const

/** Each job that is waited for listens to its queue and to the listener of events. */
export const waitersMax = 1_000

/** The listener that `job.waitUntilFinished` takes: how BullMQ's documentation has a producer wait for a result. */
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
  /** Register before adding the job, or its end could be missed. Resolves with what the processor returned. */
  of(jobId: string): Promise<unknown>
  close(): Promise<void>
}

/**
 * One listener for all jobs of a queue. `job.waitUntilFinished` would ask Redis once more for each job (it cannot know
 * whether the end was missed); an id chosen by the producer makes that unnecessary.
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
