/** Duty: the schemas of sessions: in a list, in a report, their results, and what creates them. */
import { z } from 'zod'
import type { Report, SessionReport } from '../../client/report.ts'
import type { RetryOutlook } from '../../client/session/run/retry.ts'
import { listedStates, type SessionState } from '../../client/session/session-state.ts'
import type { CreateSession } from '../../client/submission/submission.ts'
import type { ListedSession } from '../../client/summaries.ts'
import type { ChatMessage } from '../../core/history/chat/chat-message.ts'
import type { RunResult } from '../../core/history/entry.ts'
import { policy } from '../../core/policy.ts'
import { approvalPolicies, nobodyAnswersWords, type SessionApproval } from '../../core/worker/ask/session-approval.ts'
import { named } from './components.ts'
import { json, jsonObject, kind, maybeTime, name, time } from './parts.ts'
import { schemaOf } from './schema-of.ts'
import { failure, holdup, permissions, sessionLimits, sessionUsage, workerReport } from './worker.ts'

const pauseNote = named('PauseNote', z.object({ why: z.string().optional(), by: z.string().optional(), at: time }))

const sessionStates = ['active', 'completed', 'failed', 'cancelling', 'cancelled'] as const satisfies SessionState[]
export const listedState = z.enum(listedStates)
const mode = z.enum(['job', 'conversation'])
const forkedFrom = z.object({ sessionId: z.string(), at: time, dryRun: z.boolean() }).nullable()

const cost = z
  .object({
    costMicroUsd: z.number().describe('In millionths of a dollar.'),
    unpricedModelCalls: z.number().describe('Calls that are not in the cost: nobody knows the price of their model.'),
  })
  .nullable()

export const listedSession = schemaOf<ListedSession>()(
  'ListedSession',
  z.object({
    id: z.string(),
    name: z.string(),
    kind: z.string(),
    mode,
    state: listedState,
    createdAt: maybeTime,
    finishedAt: maybeTime,
    paused: pauseNote.nullable(),
    forkedFrom,
    cost,
    workers: z.number(),
    openAsks: z.number().describe('How many asks of its workers nobody has answered, among its fifty newest ones.'),
    askedAt: maybeTime,
  }),
)

export const sessionApproval = schemaOf<SessionApproval>()(
  'SessionApproval',
  z.object({
    policy: z.enum(approvalPolicies),
    trusted: z.array(z.string()),
    whenNobodyAnswers: z.enum(nobodyAnswersWords),
    approvalMs: z.number().nullable(),
  }),
)

export const sessionReport = schemaOf<SessionReport>()(
  'Session',
  z.object({
    id: z.string(),
    rootId: z.string(),
    name: z.string(),
    kind: z.string(),
    mode,
    state: z.enum(sessionStates),
    createdAt: maybeTime,
    finishedAt: maybeTime,
    cancelReason: z.string().nullable(),
    paused: pauseNote.nullable(),
    closed: z
      .object({ by: z.string().optional(), at: time })
      .nullable()
      .describe('Who closed the conversation, and when.'),
    approval: sessionApproval,
    forkedFrom,
    branchOf: z
      .object({ workerId: z.string(), position: z.int() })
      .nullable()
      .describe('The worker whose conversation it began with, and up to which position of that history.'),
    cost,
    turnShare: z.object({ weight: z.number(), priority: z.number() }),
    result: z
      .object({ run: z.int(), status: z.enum(['completed', 'failed', 'cancelled']), position: z.int() })
      .nullable()
      .describe('Where its result stands; GET …/result reads it.'),
    limits: sessionLimits,
    usage: sessionUsage,
    failure: failure.nullable(),
    holdups: z.array(holdup).describe('Why it does not go on: what somebody must do comes first.'),
  }),
)

export const report = schemaOf<Report>()('Report', z.object({ session: sessionReport, workers: z.array(workerReport) }))

export const runResult = schemaOf<RunResult>()(
  'RunResult',
  z.discriminatedUnion('status', [
    z.object({ status: z.literal('completed'), run: z.int(), value: json }),
    z.object({ status: z.literal('failed'), run: z.int(), failure }),
    z.object({ status: z.literal('cancelled'), run: z.int() }),
  ]),
)

export const outlook = schemaOf<RetryOutlook>()(
  'RetryOutlook',
  z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('step'), run: z.int(), step: z.string() }),
    z.object({
      kind: z.literal('undecided'),
      calls: z.array(z.string()).describe('Nobody knows whether these took effect: the retry needs `unknown`.'),
    }),
    z.object({ kind: z.literal('impossible'), why: z.string() }),
  ]),
)

export const created = named(
  'Created',
  z.object({
    sessionId: z.string(),
    workerId: z.string().describe('Its first worker.'),
    warning: z.string().nullable(),
    result: runResult.optional().describe('With `Prefer: wait`, if it ended in time.'),
  }),
)

const limit = z.int().min(0).exactOptional()
export const givenSpending = z.strictObject({ modelCalls: limit, tokens: limit, toolCalls: limit })
const givenLimits = givenSpending.extend({ workers: limit, children: limit, depth: limit, mailbox: limit })

/** The library checks the values once more, and says what is wrong with them. */
export const createBody = schemaOf<Omit<CreateSession, 'idempotencyKey'>>()(
  'CreateSession',
  z.strictObject({
    kind,
    input: json.exactOptional().describe('The first message: any JSON value.'),
    name: name.optional(),
    keepOpen: z.boolean().optional().describe('A conversation: it stays open for further input after each run.'),
    history: (
      z.array(jsonObject).max(policy.givenMessagesMax) as unknown as z.ZodType<readonly ChatMessage[]>
    ).optional(),
    limits: givenLimits.optional(),
    permissions: permissions.optional(),
    approval: z.enum(approvalPolicies).optional(),
    whenNobodyAnswers: z.enum(nobodyAnswersWords).optional(),
    approvalMs: z.int().min(1).optional(),
    weight: z.int().min(1).max(1_000).optional(),
    priority: z.int().min(0).max(9).optional(),
    notify: z
      .union(
        [z.strictObject({ queue: z.string(), prefix: z.string().optional() }), z.strictObject({ url: z.string() })],
        { error: 'expected { "url": "https://…" } or { "queue": "…", "prefix": "…" }, where prefix may be left out' },
      )
      .optional()
      .describe('Where its result goes when it ends: into a queue of BullMQ, or by a signed POST.'),
  }),
)
