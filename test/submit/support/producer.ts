/** Who submits jobs from outside, as far as BullMQ is concerned. */
import { type Job, Queue } from 'bullmq'
import { Redis } from 'ioredis'
import type { Submitted } from '../../../src/submit/submission-queue.ts'
import type { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** What a program in any language has: a queue named "submit" under the namespace's prefix. */
export class Producer implements AsyncDisposable {
  readonly queue: Queue
  readonly #connection: Redis

  constructor({ redisUrl, namespace }: TestTroupe, partition = 0) {
    this.#connection = new Redis(redisUrl, { maxRetriesPerRequest: null })
    this.queue = new Queue('submit', { connection: this.#connection, prefix: `{${namespace}.${partition}}:q` })
  }

  async submit(data: unknown, options: Parameters<Queue['add']>[2] = {}): Promise<Submitted> {
    return this.completed(await this.queue.add('any name', data, options))
  }

  /** The job's return value, when it is completed. */
  async completed(job: Job): Promise<Submitted> {
    await waitUntil('the job is completed', async () => (await job.getState()) === 'completed')
    return (await this.queue.getJob(job.id as string))?.returnvalue as Submitted
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.queue.close()
    this.#connection.disconnect()
  }
}
