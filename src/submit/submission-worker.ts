/**
 * Duty: BullMQ's worker, hardened for jobs that other programs made and that may hold anything.
 * SUBMIT-4 A job whose data cannot be read reaches the processor like any other, without data. BullMQ itself would throw before it called the
 *    processor, and give the job to one worker after another for ever. Data is measured before it is parsed: parsing it could block the node.
 * SUBMIT-5 A processed job never fails because Redis refused to record its completion. BullMQ would record such a failure as soon as Redis
 *    takes writes again, for example after a fail-over. Here the job is left alone: a worker gets it again when its lock has ended.
 * SUBMIT-6 A job that was taken `submitStartsMax` times without an end fails with `poison`, and its data is not parsed once more. Times in which Redis took
 *   no writes do not count: then no job can be ended, whatever it holds.
 */
import { type Job, type Processor, type Span, Worker, type WorkerOptions } from 'bullmq'
import { jsonTextProblem } from '../core/check/json-text.ts'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import { InputError, LimitError, type RuntimeError, TerminalError } from '../core/errors.ts'
import { parseExactJson } from '../core/exact-json.ts'
import { policy } from '../core/policy.ts'
import { RefusedTimes } from './refused-times.ts'

type JobJson = Parameters<typeof Job.fromJSON>[1]

export class SubmissionWorker extends Worker {
  readonly #unreadable = new WeakMap<Job, RuntimeError>()
  readonly #log: Pick<WorkerLog, 'warn'>
  readonly #refused = new RefusedTimes()

  constructor(queue: string, processor: Processor, options: WorkerOptions, log: Pick<WorkerLog, 'warn'>) {
    super(queue, processor, options)
    this.#log = log
    this.on('error', (error) => this.#refused.note(error))
  }

  /** Why the job's data was not read; its `data` is then null. */
  whyUnreadable(job: Job): RuntimeError | undefined {
    return this.#unreadable.get(job)
  }

  protected override createJob(json: JobJson, id: string): Job {
    const problem = problemOf(json, json.stalledCounter - this.#refused.since(json.timestamp))
    if (problem !== null) return this.#withoutData(json, id, problem)
    try {
      const job = super.createJob(json, id)
      // Producers in other languages have longer integers.
      job.data = parseExactJson(json.data, job.data)
      return job
    } catch (thrown) {
      if (!(thrown instanceof SyntaxError)) throw thrown
      const why = `the data of a submitted job is not JSON: ${thrown.message}.`
      return this.#withoutData(json, id, new InputError(why))
    }
  }

  #withoutData(json: JobJson, id: string, why: RuntimeError): Job {
    const job = super.createJob({ ...json, data: 'null' }, id)
    this.#unreadable.set(job, why)
    return job
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
      this.#refused.note(thrown)
      const what = 'a submitted job could not be recorded as done; BullMQ gives it to a node again'
      this.#log.warn(what, { jobId: job.id, error: String(thrown) })
      // BullMQ returns undefined when there is no next job, although its type does not say so.
      return undefined as unknown as Job
    }
  }
}

/** The input of a job has the limit of depth of all foreign values; the job is one level around it. */
const bounds = { depthMax: policy.jsonDepthMax + 1, partsMax: policy.submitPartsMax }

/** Why the data may not even be parsed. Null if it may. */
function problemOf({ data }: JobJson, starts: number): RuntimeError | null {
  // BullMQ counts how often a job was taken and its lock then ended.
  if (starts >= policy.submitStartsMax) {
    const what = `a submitted job was started ${starts} times, and each time its node died or stood still`
    const message = `${what}. Look at its data and at the logs of the nodes, then submit it again.`
    return new TerminalError(message, { code: 'poison' })
  }
  const bytes = Buffer.byteLength(data)
  if (bytes > policy.submitBytesMax) {
    const what = `the data of a submitted job has ${bytes} bytes; the limit is ${policy.submitBytesMax}`
    return new LimitError('message_too_big', `${what}. Store large data elsewhere and pass a reference.`)
  }
  const problem = jsonTextProblem(data, bounds)
  return problem === null ? null : new InputError(`the data of a submitted job ${problem}.`)
}
