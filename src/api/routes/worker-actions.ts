/** Duty: the routes that change one worker. */
import { z } from 'zod'
import { policy } from '../../core/policy.ts'
import { checkModel, refuseCopy } from '../guard/ceiling.ts'
import { Answer, route } from '../route.ts'
import { compacted, sent } from '../schemas/history.ts'
import { json, name, reason, workerParams } from '../schemas/parts.ts'
import { created } from '../schemas/session.ts'
import { callSettings, configuration } from '../schemas/worker.ts'
import { inputBody, sendTo } from './messages.ts'

const tag = 'workers'
const operate = { method: 'POST', right: 'operate', tag, params: workerParams } as const
const changed = { 200: z.object({ changed: z.enum(['expanded', 'undone', 'redone']) }) }

export const sendToWorker = route({
  ...operate,
  id: 'sendToWorker',
  path: '/v1/workers/:id/messages',
  summary: 'Send a message to a worker',
  body: inputBody,
  replies: { 202: sent },
  cli: { command: 'send' },
  ceiling: 'unneeded',
  handle: (call) => sendTo(call.troupe.workers.get(call.params.id), call),
})

export const cancelWorker = route({
  ...operate,
  id: 'cancelWorker',
  path: '/v1/workers/:id/cancel',
  summary: 'Cancel a worker for good with all that it spawned, or only its run in progress',
  body: z
    .strictObject({
      reason: reason.optional(),
      run: z.boolean().optional().describe('true: only the run in progress; the worker lives on.'),
    })
    .optional(),
  replies: { 202: z.object({ cancelled: z.boolean().describe('False: no run was in progress.') }) },
  cli: { command: 'worker cancel' },
  ceiling: 'unneeded',
  async handle({ troupe, params, body }) {
    const worker = troupe.workers.get(params.id)
    if (body?.run) return new Answer(202, { cancelled: await worker.cancelRun(body.reason) })
    await worker.cancel(body?.reason)
    return new Answer(202, { cancelled: true })
  },
})

export const compactWorker = route({
  ...operate,
  id: 'compactWorker',
  path: '/v1/workers/:id/compact',
  summary: 'Have a summary written for the beginning of a conversation; answers with what came of it',
  body: z
    .strictObject({
      instruction: z.string().max(4_000).optional().describe('What the summary must also hold.'),
      keepLast: z.int().min(1).max(1_000).optional(),
    })
    .optional(),
  replies: { 200: compacted },
  cli: { command: 'worker compact' },
  ceiling: 'unneeded',
  handle: ({ troupe, params, body, signal, idempotencyKey }) =>
    troupe.workers.get(params.id).compact({ ...body, signal, idempotencyKey }),
})

export const expandWorker = route({
  ...operate,
  id: 'expandWorker',
  path: '/v1/workers/:id/expand',
  summary: 'Take the last summary of a conversation back',
  replies: changed,
  cli: { command: 'worker expand' },
  ceiling: 'unneeded',
  async handle({ troupe, params }) {
    await troupe.workers.get(params.id).expand()
    return { changed: 'expanded' }
  },
})

export const undoWorker = route({
  ...operate,
  id: 'undoWorker',
  path: '/v1/workers/:id/undo',
  summary: 'Take the last turn of a conversation back, or all of it',
  body: z
    .strictObject({ all: z.boolean().optional().describe('All of it but system messages. Default: its last turn.') })
    .optional(),
  replies: changed,
  cli: { command: 'worker undo' },
  ceiling: 'unneeded',
  async handle({ troupe, params, body, idempotencyKey }) {
    await troupe.workers.get(params.id).undo({ ...body, idempotencyKey })
    return { changed: 'undone' }
  },
})

export const redoWorker = route({
  ...operate,
  id: 'redoWorker',
  path: '/v1/workers/:id/redo',
  summary: 'Bring back the turn that was taken back last',
  replies: changed,
  cli: { command: 'worker redo' },
  ceiling: 'unneeded',
  async handle({ troupe, params, idempotencyKey }) {
    await troupe.workers.get(params.id).redo({ idempotencyKey })
    return { changed: 'redone' }
  },
})

export const runWorker = route({
  ...operate,
  id: 'runWorker',
  path: '/v1/workers/:id/run',
  summary: 'Begin a run of an agent that rests on what is in its history, without an input',
  replies: { 202: z.object({ run: z.int() }) },
  cli: { command: 'worker run' },
  ceiling: 'unneeded',
  handle: async ({ troupe, params }) => new Answer(202, { run: await troupe.workers.get(params.id).run() }),
})

export const configureWorker = route({
  ...operate,
  id: 'configureWorker',
  path: '/v1/workers/:id/configure',
  summary: 'Set the model, settings and tools of one agent from its next run on',
  description: 'null: as its kind says. What is not named stays.',
  body: z.strictObject({
    model: z.string().min(1).max(200).nullable().optional(),
    settings: callSettings.nullable().optional(),
    tools: z.array(z.string()).max(policy.permissionNamesMax).nullable().optional(),
  }),
  replies: { 200: configuration },
  cli: { command: 'worker configure' },
  ceiling: ({ caller, body }) => checkModel(caller, body.model),
  handle: ({ troupe, params, body, signal }) => troupe.workers.get(params.id).configure({ ...body, signal }),
})

export const forkWorker = route({
  ...operate,
  id: 'forkWorker',
  path: '/v1/workers/:id/fork',
  summary: 'Another conversation with the messages of this worker up to a position; both go on',
  body: z
    .strictObject({
      at: z.int().min(0).optional().describe('A position of its history. Default: its end.'),
      input: json.exactOptional().describe('The first message of the branch. Default: none.'),
      name: name.optional(),
    })
    .optional(),
  replies: { 201: created },
  cli: { command: 'worker fork' },
  ceiling: refuseCopy,
  async handle({ troupe, params, body = {}, idempotencyKey }) {
    const session = await troupe.sessions.fork(troupe.workers.get(params.id), { ...body, idempotencyKey })
    const { id, rootId, warning } = session
    return new Answer(201, { sessionId: id, workerId: rootId, warning }, { location: `/v1/sessions/${id}` })
  },
})
