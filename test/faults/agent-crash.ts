/**
 * An agent that delegates, on two nodes one after the other: the first dies at a moment of its own (a crash point, or a plan of the fake
 * provider and the tools), the second goes on. No recorded reply is asked for again, no `once` tool takes effect twice.
 */
import assert from 'node:assert/strict'
import { agentFaults } from '../support/fault/agent-audit.ts'
import { HistoryWatch } from '../support/fault/follower/history-watch.ts'
import { expectInvariants } from '../support/fault/oracle.ts'
import { delegationResult } from '../support/provider/delegation-script.ts'
import { FakeProvider } from '../support/provider/fake-provider.ts'
import { awaitResult } from '../support/time/await-session.ts'
import type { Stage } from './row.ts'

const program = new URL('../programs/node/agent-node.ts', import.meta.url)
const policy = { leaseMs: 3_000, renewEveryMs: 300, leaseMarginMs: 300 }

export interface AgentDeath {
  readonly crashAt?: string
  /** `root/<tool or step>/<when>`: of the root, which is one; each leaf would take a node down. */
  readonly plan?: string
}

export async function agentCrash(stage: Stage, { crashAt, plan = '' }: AgentDeath): Promise<void> {
  await using provider = await FakeProvider.start()
  await using harness = await stage.open()
  await using watch = new HistoryWatch(harness.redis, harness.tag)
  const settings = { program, providerUrl: provider.url, concurrency: 20, policy }
  const doomed = await harness.start('doomed', { ...settings, ...(crashAt ? { crashAt } : {}) })
  const n = Math.floor(100 * stage.random())
  const session = await harness.client.sessions.create({ kind: 'root', input: { n, plan } })
  watch.add(session)
  const patience = new Promise((resolve) => setTimeout(resolve, 120_000, 'nothing').unref())
  assert.equal(await Promise.race([doomed.gone, patience]), 'SIGKILL', `the node did not die at ${crashAt ?? plan}`)
  const kills = new Map([[doomed.pid, Date.now()]])
  const heir = await harness.start('heir', settings)
  const result = await awaitResult(session, { msMax: 240_000 })
  assert.deepEqual(result, { status: 'completed', run: 1, value: { text: delegationResult(n) } })
  await expectInvariants(harness.redis, harness.namespace)
  await watch.look()
  for (const { what, pid, at } of harness.ledger.lines()) if (what === 'killed') kills.set(pid, at)
  for (const [pid, at] of provider.kills) kills.set(pid, at)
  const stalled = new Set(/lease/i.test(heir.output) ? [heir.pid] : [])
  const evidence = { kills, stalled, journal: provider.journal(), ledger: harness.ledger.lines() }
  const faults = [...provider.errors, ...watch.faults, ...agentFaults({ ...evidence, histories: watch.histories })]
  assert.deepEqual(faults, [])
}
