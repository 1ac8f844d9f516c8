/** Duty: the schemas of workers, and of their parts that sessions have too: failures, holdups, usage, limits, permissions. */
import { z } from 'zod'
import { type Holdup, holdupReasons } from '../../client/holdup.ts'
import type { WorkerReport } from '../../client/report.ts'
import { type CallSettings, efforts } from '../../core/definition/tool/call-settings.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { ProviderOptions } from '../../core/history/chat/chat-message.ts'
import { policy, type SessionLimits, type Spending } from '../../core/policy.ts'
import { askSorts } from '../../core/worker/ask/ask.ts'
import type { Configuration } from '../../core/worker/message/configuration.ts'
import type { Permissions } from '../../core/worker/permissions.ts'
import { activities } from '../../core/worker/run/activity.ts'
import type { Failure } from '../../core/worker/run/failure.ts'
import { fineStates, runStates, workerStates } from '../../core/worker/run/run-state.ts'
import type { UsageReport } from '../../core/worker/run/usage.ts'
import { named } from './components.ts'
import { jsonObject, maybeTime, time } from './parts.ts'
import { schemaOf } from './schema-of.ts'

export const failure = schemaOf<Failure>()(
  'Failure',
  z.object({
    code: z.string() as unknown as z.ZodType<ErrorCode>,
    message: z.string(),
    origin: z.enum(['handler', 'model', 'tool', 'runtime']),
    at: time,
    attempt: z.int(),
    retryable: z.boolean(),
    thrownAt: z.string().exactOptional().describe('Where code of users threw it.'),
  }),
)

export const holdup = schemaOf<Holdup>()(
  'Holdup',
  z
    .object({
      reason: z.enum(holdupReasons),
      workerId: z.string(),
      waitsFor: z.string().describe('Words for people, to be read after "waits for".'),
      needsSomebody: z.boolean().describe('It does not end by itself.'),
      since: time,
      until: maybeTime.describe('When it ends by itself; null if that is not known.'),
      command: z.string().nullable().describe('The command that helps; null if none is needed.'),
    })
    .describe('Why a worker or a session does not go on.'),
)

const costFields = {
  costMicroUsd: z.number().optional().describe('What the model calls cost, in millionths of a dollar.'),
  unpricedModelCalls: z
    .number()
    .optional()
    .describe('Model calls that are not in the cost: nobody knows the price of their model.'),
}
const usageFields = {
  modelCalls: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  cacheReadTokens: z.number(),
  cacheWriteTokens: z.number(),
  reasoningTokens: z.number(),
  failedModelCalls: z.number().optional(),
  toolCalls: z.number().optional(),
  ...costFields,
}
const usage = schemaOf<UsageReport>()('Usage', z.object(usageFields))
export const sessionUsage = named('SessionUsage', usage.extend({ workers: z.number() }))
const perhaps = z.number().exactOptional()
const workerUsage = schemaOf<WorkerReport['usage']>()(
  'WorkerUsage',
  z.object({
    modelCalls: perhaps,
    inputTokens: perhaps,
    outputTokens: perhaps,
    cacheReadTokens: perhaps,
    cacheWriteTokens: perhaps,
    reasoningTokens: perhaps,
    failedModelCalls: z.number().optional(),
    toolCalls: z.number().optional(),
    ...costFields,
  }),
)

const workerLimitFields = { workers: z.number(), children: z.number(), depth: z.number(), mailbox: z.number() }
export const spending = schemaOf<Spending>()(
  'Spending',
  z.object({ modelCalls: z.number(), tokens: z.number(), toolCalls: z.number() }),
)
export const sessionLimits = schemaOf<SessionLimits>()(
  'SessionLimits',
  z.object({ ...workerLimitFields, ...spending.shape }),
)

const names = z.array(z.string()).max(policy.permissionNamesMax)

export const permissions = schemaOf<Permissions>()(
  'Permissions',
  z.strictObject({
    tools: names.optional(),
    kinds: names.optional(),
    folder: z.string().optional(),
    send: z
      .union([z.enum(['none', 'family', 'session']), names], {
        error: 'expected none, family, session or a list of ids of workers',
      })
      .optional(),
  }),
)

export const callSettings = schemaOf<CallSettings>()(
  'CallSettings',
  z.object({
    temperature: z.number().exactOptional(),
    maxOutputTokens: z.number().exactOptional(),
    effort: z.enum(efforts).exactOptional(),
    stop: z.union([z.string(), z.array(z.string())], { error: 'expected a text or a list of texts' }).exactOptional(),
    providerOptions: (jsonObject as unknown as z.ZodType<ProviderOptions>).exactOptional(),
  }),
)
export const configuration = schemaOf<Configuration>()(
  'Configuration',
  z.object({
    model: z.string().exactOptional(),
    settings: callSettings.exactOptional(),
    tools: z.array(z.string()).exactOptional(),
  }),
)

const openAsk = named(
  'OpenAsk',
  z.object({ id: z.string(), kind: z.enum(askSorts), question: z.string(), askedAt: time }),
)

export const workerReport = schemaOf<WorkerReport>()(
  'Worker',
  z.object({
    id: z.string(),
    sessionId: z.string(),
    name: z.string(),
    kind: z.string(),
    parentId: z.string().nullable(),
    depth: z.int(),
    activity: z.enum(activities).describe('What it does, in one word for people.'),
    lifecycle: z.enum(['idle', 'busy', 'idleFailed']),
    state: z.enum(fineStates),
    run: z.enum(runStates).describe('The state of the run.'),
    status: z.enum(workerStates),
    limits: z.object(workerLimitFields),
    permissions: permissions.nullable(),
    configured: configuration.nullable(),
    lastFailure: failure.nullable(),
    starts: z.number(),
    interrupted: z.number(),
    lastWords: z.string().nullable(),
    runs: z.number(),
    iterations: z.number(),
    usage: workerUsage,
    mailbox: z.object({ pending: z.number(), signals: z.number() }),
    approvals: z.array(z.string()),
    node: z.string().nullable(),
    holdup: holdup.nullable(),
    waitsFor: z.string().nullable(),
    waitsSince: maybeTime,
    openAsks: z.array(openAsk),
    openChildren: z.number(),
    historyLength: z.number(),
    updatedAt: time,
  }),
)
