/**
 * Releases of the kinds of chance-kinds.ts: a node that starts may run other code than those beside it. A release leaves out kinds, moves others to
 * another pool, and changes what their definitions say, also of workers that live.
 */
import type { AgentWorker } from '../../../src/core/definition/agent/define-agent.ts'
import {
  type AgentDefinition,
  defineWorker,
  isAgentDefinition,
  type WorkerDefinition,
} from '../../../src/core/definition/define-worker.ts'
import { below, chance, one } from './chance-tools.ts'

export function releaseOf(kinds: Readonly<Record<string, WorkerDefinition>>): Record<string, WorkerDefinition> {
  const hosted = Object.entries(kinds).filter(() => chance(0.9))
  return Object.fromEntries(hosted.map(([name, kind]) => [name, chance(0.4) ? changed(kind) : kind]))
}

/** What gates say stays: the verdict knows it. */
function changed(kind: WorkerDefinition): WorkerDefinition {
  const pool = one(['default', 'default', 'other', 'third'])
  if (isAgentDefinition(kind)) return defineWorker({ ...kind, pool, ...changeOf(kind) })
  return { ...kind, pool, await: one(['each', 'all'] as const) }
}

function changeOf(kind: AgentDefinition): Partial<AgentWorker> {
  const tools = Array.isArray(kind.tools) ? kind.tools : []
  return one<Partial<AgentWorker>>([
    { asks: false },
    { spawns: ['chain'], background: false },
    { spawns: ['clerk', 'desk'], childrenAtOnce: 1 },
    kind.spawns === undefined ? { role: 'planner' } : { spawns: [], background: false },
    { tools: tools.slice(1) },
    { tools: [] },
    { approval: { allow: ['p*'], ask: ['*'] } },
    { limits: { iterations: 2, toolCalls: 3 } },
    kind.retry === undefined ? { retries: below(3) } : { retry: { most: below(3), baseMs: 50 } },
    { mergeInput: kind.mergeInput !== true },
    { onUnknown: kind.onUnknown === 'tell' ? 'fail' : 'tell' },
    { compaction: { window: 6_000 } },
    { instructions: 'You do something else now.' },
    { hooks: {}, context: {} },
  ])
}
