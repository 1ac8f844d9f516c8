/** An exported session of so many workers, in the form of GET /v1/sessions/:id/export. */
import type { SessionReport, WorkerReport } from '../../../src/client/report.ts'
import { defaultSessionLimits, defaultWorkerLimits } from '../../../src/core/policy.ts'

const sessionId = '01900000-0000-7000-8000-000000000000'
const idOf = (index: number) => `01900000-0000-8000-8000-${String(index).padStart(12, '0')}`

export function sessionFileOf(count: number): string {
  const lines: object[] = [
    { type: 'session', version: 1, exportedAt: 0, session },
    ...Array.from({ length: count }, (_, index) => ({ type: 'worker', worker: workerOf(index) })),
  ]
  const entry = { type: 'completed', v: 1, at: 1, run: 1, epoch: 1, value: 'the last of them' }
  lines.push({ type: 'history.entry', workerId: idOf(count - 1), position: 0, entry })
  return lines.map((line) => JSON.stringify(line)).join('\n')
}

const usage = {
  modelCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
}

const session = {
  id: sessionId,
  rootId: idOf(0),
  name: 'crowd',
  kind: 'crowd',
  mode: 'job',
  state: 'completed',
  createdAt: 0,
  finishedAt: 1,
  cancelReason: null,
  paused: null,
  closed: null,
  forkedFrom: null,
  branchOf: null,
  limits: defaultSessionLimits,
  usage: { workers: 1, ...usage },
  failure: null,
  holdups: [],
} as unknown as SessionReport

function workerOf(index: number): WorkerReport {
  return {
    id: idOf(index),
    sessionId,
    name: `worker ${index}`,
    kind: 'crowd',
    parentId: index === 0 ? null : idOf(0),
    depth: index === 0 ? 0 : 1,
    activity: 'done',
    lifecycle: 'idle',
    state: 'inactive',
    run: 'Idle',
    status: 'idle',
    limits: defaultWorkerLimits,
    permissions: null,
    configured: null,
    lastFailure: null,
    starts: 0,
    interrupted: 0,
    lastWords: null,
    runs: 1,
    iterations: 0,
    usage: {},
    mailbox: { pending: 0, signals: 0 },
    approvals: [],
    node: null,
    holdup: null,
    waitsFor: null,
    waitsSince: null,
    openAsks: [],
    openChildren: 0,
    historyLength: 1,
    updatedAt: 1,
  }
}
