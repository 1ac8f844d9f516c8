/** The package. Authoring, running, using, errors, types: nothing else is public. */

// Types.
export type { ConnectOptions, DeadLetter, KindSummary, NodeSummary, SessionSummary, Troupe } from './client/client.ts'
// Using.
export { connect } from './client/client.ts'
export type { Health } from './client/health.ts'
export type { Report, SessionReport, WorkerReport } from './client/report.ts'
export type { Session } from './client/session.ts'
export type { CreateSession } from './client/submission.ts'
export type { HistoryItem, Worker } from './client/worker.ts'
export type { StartNodeOptions, TroupeNode } from './compose.ts'
// Running.
export { startNode } from './compose.ts'
export type { HandlerWorker, Self, SpawnOptions, WorkerDefinition, WorkerLog, WorkerRef } from './core/define-worker.ts'
// Authoring.
export { defineWorker } from './core/define-worker.ts'
export type { Entry, RunResult } from './core/entry.ts'
export type { ErrorCode } from './core/errors.ts'
// Errors.
export {
  CancelledError,
  ConfigError,
  ConflictError,
  InputError,
  InvariantError,
  LeaseLostError,
  LimitError,
  NotFoundError,
  RuntimeError,
  TerminalError,
  TimeoutError,
  TransientError,
} from './core/errors.ts'
export type { TroupeEvent } from './core/event.ts'
export type { Failure } from './core/failure.ts'
export type { InputMessage, Mail, Message, ResultMessage, TimerMessage } from './core/message.ts'
export type { SessionLimits } from './core/policy.ts'
export type { CoarseState, FineState, RunState } from './core/run-state.ts'
