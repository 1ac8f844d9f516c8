/** The entry of the package for tests, `troupe/test`. No production code loads it. */
export {
  call,
  type ScriptedModel,
  type ScriptedReply,
  say,
  scriptedModel,
  together,
} from '../models/local/scripted-model.ts'
export type { UserCode } from './crash/journal.ts'
export { crashMatrix } from './crash/matrix.ts'
export type { Replies } from './crash/node/node-order.ts'
export type { Progress } from './crash/progress.ts'
export { CrashMatrixError, type CrashReport, type Violation } from './crash/report.ts'
export type { CodeRun, Outcome, RunPlace, Scenario, WorkerHistory } from './crash/scenario.ts'
export type { TestAnswers, TestAsk } from './test-asks.ts'
export { type TestTroupe, type TestTroupeOptions, testTroupe } from './test-troupe.ts'
export {
  type TestAgentOptions,
  type TestChildren,
  type TestHandlerOptions,
  type TestMessage,
  type TestRun,
  type TestSpawn,
  testAgent,
  testHandler,
} from './test-worker.ts'
