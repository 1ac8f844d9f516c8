/**
 * Duty: BullMQ's own idle latency: one empty job at a time on an otherwise idle queue. It reports two instants:
 * when the processor started, and when the producer saw the result. A client of troupe waits for the second one, too.
 */
import { randomUUID } from 'node:crypto'
import { Queue, Worker } from 'bullmq'
import { type Place, slots } from '../contestant.ts'
import { bullmqConnection, forgetFinished, listenForCompletions } from './connections.ts'

export interface IdleJobs {
  perform(): Promise<{ readonly entryMs: number; readonly resultMs: number }>
  close(): Promise<void>
}

export async function openIdleJobs({ redisUrl, namespace }: Place): Promise<IdleJobs> {
  const connection = bullmqConnection(redisUrl)
  const settings = { prefix: namespace, connection }
  const queue = new Queue('idle', settings)
  let enteredAt = 0
  const enter = async () => {
    enteredAt = performance.now()
  }
  const worker = new Worker('idle', enter, { ...settings, concurrency: slots })
  const completions = await listenForCompletions('idle', namespace, connection)
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  return {
    async perform() {
      const jobId = randomUUID()
      const result = completions.of(jobId)
      const addedAt = performance.now()
      await queue.add('idle', {}, { jobId, ...forgetFinished })
      await result
      return { entryMs: enteredAt - addedAt, resultMs: performance.now() - addedAt }
    },
    async close() {
      await worker.close()
      await Promise.all([completions.close(), queue.close()])
    },
  }
}
