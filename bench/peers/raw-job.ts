/**
 * Duty: BullMQ by itself: an empty job, added and processed. It shows the scale: a system that needs one job per unit cannot be faster.
 * The jobs have BullMQ's own short ids and few slots, because BullMQ is fastest that way.
 */
import { Queue, Worker } from 'bullmq'
import { type Contestant, fewSlots, type OpenContestant, type Place, runsInFlight } from '../contestant.ts'
import { bullmqConnection, forgetFinished } from './connections.ts'

export const rawJob: Contestant = {
  id: 'raw-job',
  name: 'BullMQ alone, empty job',
  unit: 'job',
  inFlight: runsInFlight,
  slots: fewSlots,
  open: openRawJob,
}

/** The producer recognises its job by this number. The job's id comes too late: the job may end before `add` has answered. */
interface Ticket {
  readonly ticket: number
}

async function openRawJob({ redisUrl, namespace }: Place): Promise<OpenContestant> {
  const connection = bullmqConnection(redisUrl)
  const queue = new Queue<Ticket>('empty', { prefix: namespace, connection })
  const settings = { prefix: namespace, connection, concurrency: fewSlots }
  const worker = new Worker<Ticket>('empty', async () => {}, settings)
  const processed = new Map<number, () => void>()
  let tickets = 0
  // The worker's own event, so that no listener on Redis adds to the cost of a job.
  worker.on('completed', ({ data }) => {
    processed.get(data.ticket)?.()
    processed.delete(data.ticket)
  })
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  return {
    async perform() {
      const ticket = ++tickets
      const done = new Promise<void>((resolve) => processed.set(ticket, resolve))
      await queue.add('empty', { ticket }, forgetFinished)
      await done
    },
    async close() {
      await worker.close()
      await queue.close()
    },
  }
}
