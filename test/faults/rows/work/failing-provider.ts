/** F53: a provider fails half of all requests of agents that have children and budgets, while their nodes are killed. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Session } from '../../../../src/client/session/session.ts'
import { toRuntimeError } from '../../../../src/core/errors.ts'
import type { RunResult } from '../../../../src/core/history/entry.ts'
import type { EffectNote } from '../../../programs/node/agent-kinds.ts'
import { openCallFaults, resultFaults } from '../../../support/fault/call-results.ts'
import type { Random } from '../../../support/fault/fault-settings.ts'
import { harmNodes, untilStarted } from '../../../support/fault/harm/harm-nodes.ts'
import type { Harness, NodeProcess } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { paidFaults } from '../../../support/fault/paid-verdict.ts'
import { together } from '../../../support/fault/together.ts'
import { delegationResult } from '../../../support/provider/delegation-script.ts'
import { FakeProvider } from '../../../support/provider/fake-provider.ts'
import { wireFaults } from '../../../support/provider/provider-journal.ts'
import type { Row, Stage } from '../../row.ts'

const program = new URL('../../../programs/node/agent-node.ts', import.meta.url)
const names = ['a', 'b', 'c']
const restMsMax = 300_000
/** A run ends because of its budget, and not because its provider failed too often. */
const policy = { leaseMs: 4_000, retries: 60, modelBackoffMs: 30, retryBackoffMsMax: 500, modelIdleMs: 3_000 }

export const failingProviderRow: Row = {
  id: 'F53',
  promise:
    'whatever a provider does to requests, and whichever nodes die, nothing is paid that is not counted, no call of effect once runs twice, and every session ends',
  done: 'a provider answers half of all requests with 429, 5xx, half a reply, nothing, or a lost connection; 3 nodes killed at random; trees of 7 agents, a third of them with a budget that is raised when it is used up; for --minutes; a trial is a request',
  isEndless: true,
  trials: ({ minutes = 1 }) => [{ name: `${minutes} min`, run: (stage) => providerStorm(stage, minutes * 60_000) }],
}

/** A tree of agents. */
interface Tree {
  readonly n: number
  readonly session: Session
  /** How often its budget was raised. */
  raises: number
  readonly result: Promise<RunResult>
}

async function providerStorm(stage: Stage, ms: number): Promise<number> {
  await using provider = await FakeProvider.start({ failing: 0.5 })
  await using harness = await stage.open({ ownRedis: {} })
  const ever: NodeProcess[] = []
  const start = async (name: string) => {
    const settings = { program, providerUrl: provider.url, concurrency: 20, policy }
    const node = await untilStarted(() => harness.start(name, settings))
    ever.push(node)
    return node
  }
  const nodes = await Promise.all(names.map(start))
  const trees: Tree[] = []
  const [kills] = await together(ms, (over) => [
    harmNodes({ random: stage.random, nodes, ways: ['kill'], start }, over),
    plant({ harness, random: stage.random, trees, ms }, over),
  ])
  stage.say(`${kills} nodes killed; ${trees.length} trees`)
  const broken: string[] = []
  for (const tree of trees) broken.push(...(await endFaults(tree)))
  await expectInvariants(harness.redis, harness.namespace)
  await provider.heeded()
  const journal = provider.journal()
  const raises = trees.reduce((sum, tree) => sum + tree.raises, 0)
  stage.say(`${journal.length} requests, ${provider.served.size} served; budgets raised ${raises} times`)
  const requests = Map.groupBy(journal, ({ worker }) => worker)
  for (const { session } of trees) {
    for (const { id, usage } of (await session.report()).workers) {
      const entries = await harness.history(id)
      const paid = { id, usage, entries, requests: requests.get(id) ?? [] }
      requests.delete(id)
      broken.push(...paidFaults(paid, { served: provider.served, lostTurns: (pid) => lostTurns(ever, pid, id) }))
      broken.push(...[...resultFaults(entries), ...openCallFaults(entries)].map((fault) => `agent ${id} ${fault}`))
    }
  }
  for (const id of requests.keys()) broken.push(`requests of an agent that nobody knows: ${id}`)
  broken.push(...provider.errors, ...journal.flatMap(wireFaults), ...onceFaults(harness))
  assert.deepEqual(broken, [])
  return journal.length
}

interface Planting {
  readonly harness: Harness
  readonly random: Random
  readonly trees: Tree[]
  readonly ms: number
}

async function plant({ harness, random, trees, ms }: Planting, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const n = Math.floor(100 * random())
    const limits = random() < 0.33 ? { limits: { modelCalls: 5 + Math.floor(30 * random()) } } : {}
    const session = await harness.client.sessions.create({ kind: 'root', input: { n, plan: '' }, ...limits })
    const tree: Tree = { n, session, raises: 0, result: Promise.resolve().then(() => endOf(tree, ms)) }
    tree.result.catch(() => {})
    trees.push(tree)
    await pause(400 + 800 * random())
  }
}

/** Raises the budget whenever it is used up, and lets the session go on. */
async function endOf(tree: Tree, ms: number): Promise<RunResult> {
  const signal = AbortSignal.timeout(ms + restMsMax)
  for (;;) {
    const result = await tree.session.result({ signal })
    if (result.status !== 'failed' || result.failure.code !== 'budget_exceeded') return result
    tree.raises++
    await retried(tree.session, 40 * (tree.raises + 1), signal)
  }
}

/** Calls again while children of the failed run are being cancelled, or if Redis did not answer: then the first call may have been heard. */
async function retried(session: Session, modelCalls: number, signal: AbortSignal): Promise<void> {
  for (let isUnsure = false; ; ) {
    try {
      await session.retry({ limits: { modelCalls } })
      return
    } catch (error) {
      const { code, retryable } = toRuntimeError(error)
      if (isUnsure && code === 'transition_illegal') return
      if (!retryable || signal.aborted) throw error
      isUnsure ||= code === 'store_unavailable'
    }
  }
}

/** A child that failed because the budget was used up gives no number to its parent. */
async function endFaults(tree: Tree): Promise<string[]> {
  const { n, session } = tree
  const end = await tree.result.catch((error: unknown) => ({ status: 'none', error: String(error) }) as const)
  const isRight = end.status === 'completed' && (end.value as { text: string }).text === delegationResult(n)
  // The budget of a tree that was still at work may have been raised until now.
  if (isRight || (end.status === 'completed' && tree.raises > 0)) return []
  const failed = (await session.report()).workers.filter(({ lastFailure }) => lastFailure !== null)
  const why = failed.map(({ id, lastFailure }) => `agent ${id}: ${lastFailure?.code}, ${lastFailure?.message}`)
  return [`session ${session.id} of ${n} ended with ${JSON.stringify(end)}; ${why.join('; ')}`.slice(0, 2_000)]
}

/** How many turns of an agent the node of this process lost. */
function lostTurns(ever: readonly NodeProcess[], pid: number, agent: string): number {
  const node = ever.find((one) => one.pid === pid)
  const lines = node?.output.split('\n') ?? []
  const givenUp = lines.filter((line) => line.includes('a turn was given up') && line.includes(agent))
  return givenUp.length + (node?.isGone ? 1 : 0)
}

/** The tools `stamp` and `mail` may have their effect once. */
function onceFaults({ ledger }: Harness): string[] {
  const effects = ledger.lines('effect').map(({ worker, note }) => ({ worker, ...(note as EffectNote) }))
  const once = effects.filter(({ tool }) => tool !== 'put')
  return [...Map.groupBy(once, ({ worker, tool, label }) => `${tool} ${label} of agent ${worker}`)]
    .filter(([, same]) => same.length > 1)
    .map(([what, same]) => `${what} had its effect ${same.length} times`)
}
