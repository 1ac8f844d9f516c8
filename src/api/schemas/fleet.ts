/** Duty: the schemas of what concerns the whole namespace: nodes, kinds, health, dead letters, the audit. */
import { z } from 'zod'
import type { AuditReport } from '../../audit/audit.ts'
import type { NodeReport, ReleasedNode } from '../../client/fleet/node-handle.ts'
import type { DeadLetter, Dismissed, KindSummary, NodeSummary, Redriven } from '../../client/summaries.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { Message } from '../../core/worker/message/message.ts'
import { named } from './components.ts'
import { jsonObject, maybeTime } from './parts.ts'
import { schemaOf } from './schema-of.ts'
import { workerReport } from './worker.ts'

export const nodeId = z.string().regex(/^[\w.:-]{1,128}$/, 'must be the id of a node')

const nodeFields = {
  id: z.string(),
  lastSeenMs: z.number(),
  slots: z.number(),
  pools: z.array(z.string()),
  kinds: z.array(z.string()),
  pid: z.number().nullable(),
  host: z.string().nullable(),
  stalled: z.literal(true).exactOptional().describe('It was not seen for the time of a lease.'),
  draining: z
    .number()
    .exactOptional()
    .describe(
      'How many turns it still has: it drains, takes up no work, and ends with them. Counted about a second ago. Absent: it does not drain.',
    ),
  signs: z
    .boolean()
    .exactOptional()
    .describe(
      'Whether it has a secret, with which it signs results that sessions send to an address. Absent: it does not say.',
    ),
}

export const node = schemaOf<NodeSummary>()('Node', z.object(nodeFields))

export const nodeReport = schemaOf<NodeReport>()(
  'NodeReport',
  z.object({ ...nodeFields, workers: z.array(workerReport).describe('The workers that the node runs now.') }),
)

export const releasedNode = schemaOf<ReleasedNode>()(
  'ReleasedNode',
  z.object({
    id: z.string(),
    host: z.string().nullable(),
    pid: z.number().nullable(),
    lastSeenMs: z.number(),
    released: z.number().describe('How many workers go on elsewhere.'),
  }),
)

export const kindSummary = schemaOf<KindSummary>()(
  'Kind',
  z.object({
    kind: z.string(),
    pool: z.string(),
    description: z.string(),
    window: z.number().exactOptional(),
    input: jsonObject.exactOptional().describe('JSON Schema of its inputs.'),
    nodes: z.number(),
    hosted: z.boolean(),
  }),
)

/** A finding as `troupe doctor --json` prints it. */
export const finding = named(
  'Finding',
  z.object({
    code: z.string(),
    level: z.enum(['ok', 'warning', 'problem']),
    what: z.string().describe('In words for people.'),
    todo: z.string().optional(),
    command: z.string().optional().describe('A command that helps.'),
    workerIds: z.array(z.string()).optional(),
    server: z.string().optional().describe('The server of a cluster that it is about.'),
    servers: z.number().optional().describe('How many servers of a cluster are all alike in it.'),
    facts: jsonObject,
  }),
)

export const letter = schemaOf<DeadLetter>()(
  'DeadLetter',
  z.object({
    id: z.string(),
    sessionId: z.string(),
    workerId: z.string(),
    message: (z.looseObject({ kind: z.string() }) as unknown as z.ZodType<Message>).nullable(),
    unreadable: z.string().exactOptional(),
    killedBy: z.string(),
    redrivenAs: z.string().nullable(),
    dismissed: z.boolean(),
    evidence: jsonObject,
  }),
)

const handled = {
  letterId: z.string(),
  workerId: z.string(),
  refusal: z.object({ code: z.string() as unknown as z.ZodType<ErrorCode>, message: z.string() }).nullable(),
}
export const redriven = schemaOf<Redriven>()(
  'Redriven',
  z.object({
    ...handled,
    status: z.enum(['redriven', 'again', 'refused']),
    messageId: z.string().nullable(),
    newSessionId: z.string().nullable(),
  }),
)
export const dismissed = schemaOf<Dismissed>()(
  'Dismissed',
  z.object({ ...handled, status: z.enum(['dismissed', 'again', 'refused']) }),
)

const counts = named(
  'MessageCounts',
  z.object({
    accepted: z.number(),
    completed: z.number(),
    failed: z.number(),
    cancelled: z.number(),
    dead: z.number(),
    waiting: z.number(),
    active: z.number(),
    removed: z.number(),
  }),
)

const auditReport = schemaOf<AuditReport>()(
  'AuditReport',
  z.object({
    sessions: z.number(),
    workers: z.number(),
    removed: z.object({ sessions: z.number(), workers: z.number() }),
    since: z.number().optional(),
    counts: z.object({ inputs: counts, results: counts, signals: counts, all: counts }),
    findings: z.array(
      z.object({
        invariant: z.string(),
        rule: z.string(),
        sessionId: z.string().nullable(),
        workerId: z.string().nullable(),
        what: z.string(),
      }),
    ),
  }),
)

export const audit = named(
  'Audit',
  z.object({
    state: z.enum(['none', 'running', 'done', 'failed']),
    startedAt: maybeTime,
    finishedAt: maybeTime,
    progress: z.object({ sessions: z.number(), workers: z.number(), of: z.number().optional() }).nullable(),
    report: auditReport.nullable().describe('The report of the last audit that this server finished.'),
    problem: z.object({ code: z.string(), detail: z.string() }).nullable(),
  }),
)
