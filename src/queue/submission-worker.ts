/**
 * Duty: BullMQ's worker for jobs that others made, which may be of any sort.
 * V1 A job whose data is no JSON comes to the processor like any other. BullMQ would throw before it called that, and give the job to
 *    one worker after another for ever.
 */
import { type Job, Worker } from 'bullmq'

type JobJson = Parameters<typeof Job.fromJSON>[1]

export class SubmissionWorker extends Worker {
  readonly #unreadable = new WeakMap<Job, string>()

  /** Why the job's data cannot be read, if so: then its `data` is not what was given. */
  whyUnreadable(job: Job): string | undefined {
    return this.#unreadable.get(job)
  }

  protected override createJob(json: JobJson, id: string): Job {
    try {
      return super.createJob(json, id)
    } catch (thrown) {
      if (!(thrown instanceof SyntaxError)) throw thrown
      const job = super.createJob({ ...json, data: 'null' }, id)
      this.#unreadable.set(job, thrown.message)
      return job
    }
  }
}
