/**
 * Duty: BullMQ's worker, hardened for jobs that other programs made and that may hold anything.
 * SUBMIT-4 A job whose data is not JSON reaches the processor like any other. BullMQ itself would throw before it called the processor, and
 *    give the job to one worker after another for ever.
 * SUBMIT-5 A processed job never fails because Redis refused to record its completion. BullMQ would record such a failure as soon as Redis
 *    takes writes again, for example after a fail-over. Here the job is left alone: a worker gets it again when its lock has ended.
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

  /** The reason if the job's data is not JSON; its `data` is then null. */
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
      // Only errors of Redis are caught: BullMQ has its own reasons why a job cannot be completed, for example a failed child.
      if (!(thrown instanceof Error) || thrown.name !== 'ReplyError') throw thrown
      const what = 'a submitted job could not be recorded as done; BullMQ gives it to a node again'
      this.#log.warn(what, { jobId: job.id, error: String(thrown) })
      // BullMQ returns undefined when there is no next job, although its type does not say so.
      return undefined as unknown as Job
    }
  }
}
