/**
 * Duty: do what a job of the queue `submit` says: it creates a session, sends a message, or answers an ask.
 * Owns: the forms of a job's data. Does not own: the queue, and when a job is tried again (submit/).
 * JOB-1 The key of a job has its effect once: BullMQ may deliver the job again, and then the effect is the one of the first time.
 */
import { z } from 'zod'
import { isObject } from '../../core/check/is-object.ts'
import { fitTo } from '../../core/check/schema-problems.ts'
import { InputError } from '../../core/errors.ts'
import { parseId } from '../../core/ids.ts'
import { limitNames } from '../../core/policy.ts'
import { approvalPolicies, nobodyAnswersWords } from '../../core/worker/ask/session-approval.ts'
import { sendTimes } from '../../core/worker/message/steer.ts'
import { AskStore } from '../../store/person/ask-store.ts'
import { guardedReads } from '../../store/redis/guarded.ts'
import type { SessionStore } from '../../store/session/session-store.ts'
import { Asks } from '../person/asks.ts'
import { Submission, type SubmissionContext } from '../submission/submission.ts'
import { notifyWarning } from '../submission/warnings.ts'
import type { NodeSummary } from '../summaries.ts'

const permissionsOfJob = z.strictObject({
  tools: z.array(z.string()).optional(),
  kinds: z.array(z.string()).optional(),
  folder: z.string().optional(),
  send: z.union([z.enum(['none', 'family', 'session']), z.array(z.string())]).optional(),
})
const limitsOfJob = Object.fromEntries(limitNames.map((name) => [name, z.number().optional()]))
const sessionJob = z.strictObject({
  kind: z.string(),
  input: z.unknown(),
  name: z.string().optional(),
  limits: z.strictObject(limitsOfJob).optional(),
  keepOpen: z.boolean().optional(),
  permissions: permissionsOfJob.optional(),
  approval: z.enum(approvalPolicies).optional(),
  whenNobodyAnswers: z.enum(nobodyAnswersWords).optional(),
  approvalMs: z.number().optional(),
  weight: z.number().optional(),
  priority: z.number().optional(),
  notify: z
    .union([z.strictObject({ queue: z.string(), prefix: z.string().optional() }), z.strictObject({ url: z.string() })])
    .optional(),
})
const messageJob = z.strictObject({ worker: z.string(), input: z.unknown(), when: z.enum(sendTimes).optional() })
const answerJob = z
  .strictObject({ ask: z.string(), answer: z.unknown(), by: z.string().optional(), reason: z.string().optional() })
  .refine(({ answer }) => answer !== undefined, { path: ['answer'], error: 'is missing; an answer may be null' })

const forms =
  '{"kind", "input", "name"?, "limits"?, "keepOpen"?, "permissions"?, "approval"?, "whenNobodyAnswers"?, "approvalMs"?, "weight"?, "priority"?, "notify"?}, {"worker", "input", "when"?} or {"ask", "answer", "by"?, "reason"?}'

/** What BullMQ keeps as the return value of a job. */
export interface JobDone {
  readonly sessionId: string
  readonly workerId: string
  /** Set for a job that answered an ask. */
  readonly askId?: string
  readonly warning?: string
}

const actor = 'a submitted job'

interface JobContext extends SubmissionContext {
  /** The live nodes: one of them has to sign a result that goes to an address. */
  readonly nodes: () => Promise<readonly NodeSummary[]>
}

/** What the listener of the submission queue calls for each job. */
export function openSubmission(context: JobContext): (data: unknown, key: string) => Promise<JobDone> {
  // A caller could choose a key like that of a job, and get its session.
  const submission = new Submission({ actor, ...context, keyOwner: 'job' })
  const asks = asksOf(context, submission)
  return async (data, key) => {
    if (!isObject(data) || Object.keys(data).length === 0) throw new InputError(`a submitted job needs data: ${forms}.`)
    if ('ask' in data) return answerAsk(asks, parseJob(answerJob, data), key)
    if ('worker' in data) return send(submission, parseJob(messageJob, data), key)
    const job = parseJob(sessionJob, data)
    const { sessionId, workerId, isAgain, ...made } = await submission.create({ ...job, idempotencyKey: key })
    const warning = isAgain ? null : (made.warning ?? (await notifyWarning(job.notify, context.nodes)))
    return { sessionId, workerId, ...(warning !== null && { warning }) }
  }
}

function asksOf({ places: open, namespace, waker, deadlineMs = 10_000 }: SubmissionContext, submission: Submission) {
  const places = open.map(({ partition, keys, redis }) => ({
    asks: guardedReads(new AskStore(redis, keys), deadlineMs),
    store: submission.stores[partition] as SessionStore,
  }))
  return new Asks(places, { waker, namespace, actor, keyOwner: 'job' })
}

async function answerAsk(
  asks: Asks,
  { ask, answer, by, reason }: z.infer<typeof answerJob>,
  idempotencyKey: string,
): Promise<JobDone> {
  const { sessionId, workerId, askId } = await asks.answer(ask, answer, { by, reason, idempotencyKey })
  return { sessionId, workerId, askId }
}

async function send(
  submission: Submission,
  { worker, input, when }: z.infer<typeof messageJob>,
  key: string,
): Promise<JobDone> {
  const workerId = parseId(worker, 'worker')
  const { sent, isOther } = await submission.send(workerId, input, { idempotencyKey: key, when })
  const sessionId = await submission.store(workerId, 'worker').sessionOf(workerId)
  return { sessionId: sessionId ?? '', workerId, ...(isOther && sent.warning !== null && { warning: sent.warning }) }
}

function parseJob<Data>(schema: z.ZodType<Data>, data: unknown): Data {
  const fit = fitTo(schema, data)
  if (fit.ok) return fit.value
  throw new InputError(`a submitted job is not valid: ${fit.reasons.join('; ')}. It takes ${forms}.`)
}
