/**
 * Duty: BullMQ's worker for jobs that others made, which may be of any sort.
 * V1 A job whose data is no JSON comes to the processor like any other. BullMQ would throw before it called that, and give the job to
 *    one worker after another for ever.
 * V2 A job that was processed never fails because Redis refuses to record it: BullMQ would say that of it as soon as Redis takes a
 *    write again, as after a fail-over. It is left, and given to a worker again when its lock has ended.
 */
import { type Job, type Processor, type Span, Worker, type WorkerOptions } from 'bullmq'
import type { WorkerLog } from '../core/definition/worker-log.ts'

type JobJson = Parameters<typeof Job.fromJSON>[1]

export class SubmissionWorker extends Worker {
  readonly #unreadable = new WeakMap<Job, string>()
  readonly #log: Pick<WorkerLog, 'warn'>

  constructor(queue: string, processor: Processor, options: WorkerOptions, log: Pick<WorkerLog, 'warn'>) {
    super(queue, processor, options)
    this.#log = log
  }

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

  protected override async handleCompleted(
    result: unknown,
    job: Job,
    token: string,
    mayFetchNext?: () => boolean,
    span?: Span,
  ): Promise<Job> {
    try {
      return await super.handleCompleted(result, job, token, mayFetchNext, span)
    } catch (thrown) {
      // What Redis itself says. BullMQ has reasons of its own why a job cannot be completed, like a child that failed.
      if (!(thrown instanceof Error) || thrown.name !== 'ReplyError') throw thrown
      const what = 'a submitted job could not be recorded as done; BullMQ gives it to a node again'
      this.#log.warn(what, { jobId: job.id, error: String(thrown) })
      // What BullMQ returns, in spite of its type, where there is no next job.
      return undefined as unknown as Job
    }
  }
}
