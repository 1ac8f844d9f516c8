/**
 * The entry of the package for tests, `troupe/test`. No production code loads it. What runs workers is loaded when it is first called: a Node that is too
 * old cannot read its syntax, and gets one sentence instead.
 */
import type { AgentDefinition, HandlerDefinition } from '../core/definition/define-worker.ts'
import type { AgentResult } from '../core/history/agent-result.ts'
import { checkNode } from '../node-version.ts'
import type { CrashReport } from './crash/report.ts'
import type { Scenario } from './crash/scenario.ts'
import type { TestTroupe, TestTroupeOptions } from './test-troupe.ts'
import type { TestAgentOptions, TestHandlerOptions, TestRun } from './test-worker.ts'

/**
 * Runs a handler on one message, in this process and without Redis.
 *
 *     const run = await testHandler(counter, { message: { kind: 'input', value: 3 }, state: { at: 0, to: 0 } })
 *     assert.deepEqual(run.timers, [{ ms: 1000, value: null }])
 */
export async function testHandler<Given, Result>(
  definition: HandlerDefinition<Given, Result>,
  options?: TestHandlerOptions,
): Promise<TestRun<Result>> {
  checkNode()
  return (await import('./runners.ts')).testHandler(definition, options)
}

/**
 * Runs an agent with scripted replies of its model, in this process and without Redis. Its tools run.
 *
 *     const run = await testAgent(clerk, { input: 'How much is the tea?', replies: [call('look_up', { article: 'tea' }), say('320 cents')] })
 */
export async function testAgent<Given, Result extends AgentResult>(
  definition: AgentDefinition<Given, Result>,
  options: TestAgentOptions,
): Promise<TestRun<Result>> {
  checkNode()
  return (await import('./runners.ts')).testAgent(definition, options)
}

/**
 * Starts a throw-away Redis, a node with these workers and a client. All of it ends when the test's block does:
 *
 *     await using troupe = await testTroupe({ workers: { greeter } })
 *     assert.deepEqual(await troupe.run('greeter', 'Ada'), { status: 'completed', run: 1, value: 'hello Ada' })
 */
export async function testTroupe(options: TestTroupeOptions): Promise<TestTroupe> {
  checkNode()
  return (await import('./runners.ts')).testTroupe(options)
}

/**
 * Runs a scenario once to learn which points it passes, then once for each point: a node process is killed with SIGKILL at the point, another
 * takes over, and when no work is left, troupe's invariants and your `check` must hold.
 *
 *     await crashMatrix({
 *       workers: 'workers', kind: 'clerk', input: ({ folder }) => ({ folder }),
 *       check: ({ folder }) => assert.equal(readFileSync(`${folder}/paid`, 'utf8'), 'once'),
 *     })
 *
 * Throws a CrashMatrixError that lists the violations, unless `violations: 'report'` is set. Throws a ConfigError if the scenario cannot run.
 */
export async function crashMatrix(scenario: Scenario): Promise<CrashReport> {
  checkNode()
  return (await import('./runners.ts')).crashMatrix(scenario)
}

export {
  call,
  type ScriptedModel,
  type ScriptedReply,
  say,
  scriptedModel,
  together,
} from '../models/local/scripted-model.ts'
export type { UserCode } from './crash/journal.ts'
export type { Replies } from './crash/node/node-order.ts'
export type { Progress } from './crash/progress.ts'
export { CrashMatrixError, type CrashReport, type Violation } from './crash/report.ts'
export type { CodeRun, Outcome, RunPlace, Scenario, WorkerHistory } from './crash/scenario.ts'
export type { TestAnswers, TestAsk } from './test-asks.ts'
export type { TestTroupe, TestTroupeOptions } from './test-troupe.ts'
export type {
  TestAgentOptions,
  TestChildren,
  TestHandlerOptions,
  TestMessage,
  TestRun,
  TestSpawn,
} from './test-worker.ts'
