/** One run of one agent, for tests of how it goes and ends. */
import { z } from 'zod'
import type { AgentWorker } from '../../../src/core/definition/agent/define-agent.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool, type Effect } from '../../../src/core/definition/tool/define-tool.ts'
import type { Policy } from '../../../src/core/policy.ts'
import { TestTroupe } from '../test-troupe.ts'
import { awaitResult } from '../time/await-session.ts'

/** A policy that retries without waits. */
const quick = { retryBackoffMs: 1, retryBackoffMsMax: 2 }

/** A tool that takes any arguments. */
export function tool(name: string, run: (input: unknown) => unknown, effect: Effect = 'pure') {
  return defineTool({ name, description: 'A tool.', effect, approval: 'never', input: z.unknown(), run })
}

/** Runs one agent once, in a session that stays open. Dispose of `troupe` when done. */
export async function runOnce(worker: AgentWorker, input: unknown = 'go', policy: Partial<Policy> = {}) {
  const workers = { agent: defineWorker(worker) }
  const troupe = await TestTroupe.start({ workers, policy: { ...quick, ...policy } })
  const session = await troupe.create('agent', input, { keepOpen: true })
  const result = await awaitResult(session, { run: 1 })
  return { troupe, session, result, history: await troupe.history(session.rootId) }
}
