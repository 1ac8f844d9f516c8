/** Duty: BullMQ's own empty job, one at a time on an otherwise idle queue. It is over when its producer has seen the result. */
import { randomUUID } from 'node:crypto'
import { Queue, Worker } from 'bullmq'
import { type Contestant, type OpenContestant, type Place, slots } from '../contestant.ts'
import { bullmqConnection, forgetFinished, listenForCompletions } from './connections.ts'

export const idleJob: Contestant = {
  id: 'idle-job',
  name: 'BullMQ, add → result',
  unit: 'job',
  inFlight: 1,
  slots,
  open: openIdleJob,
}

async function openIdleJob({ redisUrl, namespace }: Place): Promise<OpenContestant> {
  const connection = bullmqConnection(redisUrl)
  const settings = { prefix: namespace, connection }
  const queue = new Queue('idle', settings)
  const worker = new Worker('idle', async () => {}, { ...settings, concurrency: slots })
  const completions = await listenForCompletions('idle', namespace, connection)
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  return {
    async perform() {
      const jobId = randomUUID()
      const result = completions.of(jobId)
      await queue.add('idle', {}, { jobId, ...forgetFinished })
      await result
    },
    async close() {
      await worker.close()
      await Promise.all([completions.close(), queue.close()])
    },
  }
}
