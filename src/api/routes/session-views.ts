/** Duty: other views of one session: its tree, its timeline, all of it for a file. */
import { Readable } from 'node:stream'
import { z } from 'zod'
import type { Troupe } from '../../client/client.ts'
import type { WorkerReport } from '../../client/report.ts'
import { timelineOf } from '../../client/session/timeline.ts'
import { type Branch, growTree } from '../../words/tree.ts'
import { route } from '../route.ts'
import { named } from '../schemas/components.ts'
import { sessionParams } from '../schemas/parts.ts'
import { outlook, sessionReport } from '../schemas/session.ts'
import { bar } from '../schemas/timeline.ts'
import { workerReport } from '../schemas/worker.ts'

const tag = 'sessions'
const read = { method: 'GET', right: 'read', tag, params: sessionParams } as const

interface Node extends WorkerReport {
  readonly children: readonly Node[]
}
const branch: z.ZodType<Node> = named(
  'Branch',
  workerReport.extend({
    get children() {
      return z.array(branch)
    },
  }),
)

export const sessionTree = route({
  ...read,
  id: 'sessionTree',
  path: '/v1/sessions/:id/tree',
  summary: 'The workers of a session, each under its parent',
  replies: { 200: z.object({ session: sessionReport, tree: z.array(branch) }) },
  cli: { command: 'session tree' },
  async handle({ troupe, params }) {
    const { session, workers } = await troupe.sessions.get(params.id).report()
    return { session, tree: growTree(workers).map(nodeOf) }
  },
})

function nodeOf({ worker, children }: Branch<WorkerReport>): Node {
  return { ...worker, children: children.map(nodeOf) }
}

export const sessionTimeline = route({
  ...read,
  id: 'sessionTimeline',
  path: '/v1/sessions/:id/timeline',
  summary: 'What each worker did when: waited in the queue, for its model, for a tool, for children, for a person',
  description: 'Made of the stored events of the session, as far as they are kept.',
  replies: {
    200: z.object({
      from: z.number().nullable(),
      to: z.number().nullable(),
      isComplete: z.boolean().describe('False: its first events are not kept any more.'),
      bars: z.array(bar),
    }),
  },
  cli: { none: '`session follow` prints the same events as lines' },
  handle: ({ troupe, params }) => timelineOf(troupe.sessions.get(params.id)),
})

export const retryOutlook = route({
  ...read,
  id: 'retryOutlook',
  path: '/v1/sessions/:id/retry',
  summary: 'Where a session that failed would go on, and what must be said before; changes nothing',
  replies: { 200: outlook },
  cli: { none: '`session result` says it below a failure' },
  handle: ({ troupe, params }) => troupe.sessions.get(params.id).retryOutlook(),
})

export const exportSession = route({
  ...read,
  id: 'exportSession',
  path: '/v1/sessions/:id/export',
  summary: 'All of a session as JSON lines: its report, then each entry of each history',
  description: 'The page reads such a file without a server.',
  replies: { 200: z.string() },
  raw: 'application/x-ndjson',
  cli: { none: '`session export` writes one conversation in the format of another program' },
  async handle({ troupe, params, reply }) {
    const report = await troupe.sessions.get(params.id).report()
    reply.header('content-disposition', `attachment; filename="session-${params.id}.jsonl"`)
    reply.type('application/x-ndjson')
    return reply.send(Readable.from(linesOf(troupe, report)))
  },
})

/** Entries may be large: one page is held at a time. */
const pageSize = 200

async function* linesOf(
  troupe: Troupe,
  { session, workers }: Awaited<ReturnType<ReturnType<Troupe['sessions']['get']>['report']>>,
): AsyncGenerator<string> {
  yield `${JSON.stringify({ type: 'session', version: 1, exportedAt: Date.now(), session })}\n`
  for (const worker of workers) yield `${JSON.stringify({ type: 'worker', worker })}\n`
  for (const { id, historyLength } of workers) {
    for (let after = -1; after < historyLength - 1; ) {
      const page = await troupe.workers.get(id).history({ after, limit: pageSize })
      if (page.length === 0) break
      after = page.at(-1)?.position ?? historyLength
      yield page.map((item) => `${JSON.stringify({ type: 'history.entry', workerId: id, ...item })}\n`).join('')
    }
  }
}
