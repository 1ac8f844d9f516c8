/** A bare BullMQ worker in a process of its own, to be killed: it tells the id of each job it takes, and ends none. */
import { Worker, type WorkerOptions } from 'bullmq'
import { Redis } from 'ioredis'

export interface BareWorkerOrder {
  readonly redisUrl: string
  readonly queue: string
  readonly options: Omit<WorkerOptions, 'connection'>
}

const { redisUrl, queue, options } = JSON.parse(process.argv[2] ?? '{}') as BareWorkerOrder

process.on('disconnect', () => process.exit(1))
const take = (id: string | undefined) => {
  process.send?.(id)
  return new Promise<never>(() => {})
}
const worker = new Worker(queue, (job) => take(job.id), {
  ...options,
  connection: new Redis(redisUrl, { maxRetriesPerRequest: null }),
})
worker.on('error', () => {})
