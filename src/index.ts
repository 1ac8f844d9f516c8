/** The package. Authoring, running, using, errors, types: nothing else is public. */
import type { Troupe } from './client/client.ts'
import type { ConnectOptions } from './client/connect-options.ts'
import type { StartNodeOptions, TroupeNode } from './compose.ts'
import { checkNode } from './node-version.ts'

// Running and using. They are loaded when they are first called: a module that only defines workers and tools, as the threads of tools load it, needs
// neither Redis nor BullMQ.
/** Starts a node in this process. Throws a ConfigError or a TransientError (`store_unavailable`) with one clear sentence. */
export async function startNode(options: StartNodeOptions): Promise<TroupeNode> {
  checkNode()
  return (await import('./compose.ts')).startNode(options)
}

/** Opens a client. Throws a ConfigError, or a TransientError (`store_unavailable`) when Redis cannot be reached. */
export async function connect(options?: ConnectOptions): Promise<Troupe> {
  checkNode()
  return (await import('./client/client.ts')).connect(options)
}

// Types.
export type { AuditProgress, AuditReport } from './audit/audit.ts'
export type { Counts, MessageCounts } from './audit/counts.ts'
export type { AuditFinding } from './audit/finding.ts'
export type { Troupe } from './client/client.ts'
export type { ConnectOptions } from './client/connect-options.ts'
export type { ContextUpdate, MessageUpdate } from './client/event/context-updates.ts'
export type { FleetEvent, FleetQuery } from './client/event/fleet-events.ts'
export type { OnAway } from './client/fleet/each-partition.ts'
export type { NodeHandle, NodeReport, ReleasedNode } from './client/fleet/node-handle.ts'
export type { Partitions } from './client/fleet/partition-list.ts'
export type { Pools } from './client/fleet/pools.ts'
export type { Finding, FindingCode, FindingFacts, FindingLevel, NamedNode } from './client/health/finding.ts'
export type {
  ClusterFacts,
  ClusterServer,
  ExpiredWorker,
  Health,
  RedisAccess,
  ServerFacts,
  WakeupQueue,
} from './client/health/health.ts'
export type { HeldUpWorker } from './client/health/held-up.ts'
export type { NamespaceFacts } from './client/health/namespace-facts.ts'
export type { Stranded, StrandedReason } from './client/health/stranded.ts'
export type { Holdup, HoldupReason } from './client/holdup.ts'
export type { Approval, Approvals, ApprovalsQuery, Decide, Decided } from './client/person/approvals.ts'
export type { Answered, AnsweredAndTrusted, AnswerOptions, Ask, Asks } from './client/person/asks.ts'
export type {
  AsksQuery,
  AuditQuery,
  ContextQuery,
  DeadLettersQuery,
  DismissQuery,
  HistoryQuery,
  LettersQuery,
  MailboxQuery,
  NodesQuery,
  PoolsQuery,
  PruneQuery,
  RedriveQuery,
  ResultQuery,
  SessionsQuery,
  WorkersQuery,
} from './client/queries.ts'
export type { OpenAsk, Report, SessionReport, SessionSummary, WorkerReport } from './client/report.ts'
export type { AmendQuery, UndoQuery } from './client/session/conversation/amend.ts'
export type { ConversationDiff, ForkQuery } from './client/session/conversation/branches.ts'
export type { Compacted, CompactQuery, ConfigureQuery } from './client/session/conversation/orders.ts'
export type { TokenCounts, TokenReport } from './client/session/conversation/tokens.ts'
export type { ForkSession } from './client/session/fork.ts'
export type { Retried, RetryOutlook, RetryQuery } from './client/session/run/retry.ts'
export type { EndCallback, Run } from './client/session/run/run.ts'
export type { Session, WorkerCounts } from './client/session/session.ts'
export type { EventsQuery } from './client/session/session-events.ts'
export type { WrongEntry } from './client/session/session-index.ts'
export type { ListedState, SessionState } from './client/session/session-state.ts'
export type { ForkOf, PauseNote, RunResultPlace, SessionFacts, WorkerMode } from './client/session/session-summary.ts'
export type { CreateNamed, CreateOf, CreateOptions, Sessions } from './client/session/sessions.ts'
export type { ApprovalOptions } from './client/submission/approval-options.ts'
export { attachment } from './client/submission/attached.ts'
export type { CreateSession } from './client/submission/submission.ts'
export type {
  DeadLetter,
  Dismissed,
  Handled,
  KindSummary,
  ListedSession,
  NodeSummary,
  PartitionSummary,
  PoolSummary,
  Redriven,
  Sent,
  SessionsPage,
} from './client/summaries.ts'
export type { UsagePart, UsageQuery, UsageRow } from './client/usage.ts'
export type {
  AddWebhook,
  DeliveriesQuery,
  Delivery,
  DeliveryDetails,
  DeliveryState,
  NoticeType,
  RotateWebhook,
  Webhook,
  WebhookWithSecret,
} from './client/webhook/webhook.ts'
export type { Webhooks } from './client/webhook/webhooks.ts'
export type { PauseOptions } from './client/who-and-why.ts'
export type { HistoryItem, SendOptions, Worker } from './client/worker.ts'
export type { MetricsAddress, StartNodeOptions, TroupeNode, WebhookSettings } from './compose.ts'
export type { BlobRef, KeptBlob } from './core/blob.ts'
export type {
  AgentHooks,
  AnswerToCheck,
  CallResult,
  CallToCheck,
  CallVerdict,
  HookText,
} from './core/definition/agent/agent-hooks.ts'
export type { ApprovalRule, ApprovalRules } from './core/definition/agent/approval-rules.ts'
export type { CompactionSettings } from './core/definition/agent/compaction-settings.ts'
export type { ContextFact, ContextSettings } from './core/definition/agent/context-settings.ts'
export type { AgentLimits, AgentSelf, AgentWorker, Role } from './core/definition/agent/define-agent.ts'
export type {
  HookSelf,
  IterationContext,
  IterationDecision,
  IterationProblem,
  IterationResponse,
  OnIteration,
} from './core/definition/agent/iteration-context.ts'
export type { LongResults } from './core/definition/agent/long-results.ts'
export type { Processed, Processor, ProcessorAnswer, ProcessorSelf } from './core/definition/agent/processors.ts'
export type { Skill } from './core/definition/agent/skills.ts'
export type { Resolution, ToolResolver, WrittenCall } from './core/definition/agent/tool-resolver.ts'
export type { ChildLimits } from './core/definition/child-limits.ts'
export type {
  AgentDefinition,
  AskOptions,
  AskQuestion,
  AskRef,
  HandlerDefinition,
  HandlerWorker,
  Self,
  SpawnOptions,
  WorkerDefinition,
} from './core/definition/define-worker.ts'
// Authoring.
export { defineWorker } from './core/definition/define-worker.ts'
export type {
  Definition,
  GivenOf,
  KindName,
  Kinds,
  ResultOf,
  ReturnedBy,
  TakenBy,
  WorkerRef,
} from './core/definition/kind-types.ts'
export { isResultOf } from './core/definition/kind-types.ts'
export type {
  Model,
  ModelCall,
  ModelDelta,
  ModelPrice,
  ModelReply,
  ModelRequest,
  ModelSettings,
  PromptMessage,
  PromptResult,
  ToolSpec,
} from './core/definition/model.ts'
export type { AgentCancelSelf, CancelSelf } from './core/definition/on-cancel.ts'
export type { RetrySettings } from './core/definition/retry-settings.ts'
export type { ConcurrencySettings, RateSettings, RunKey } from './core/definition/run-limits.ts'
export type { CallSettings } from './core/definition/tool/call-settings.ts'
export type {
  ApprovalContext,
  Effect,
  FolderEntry,
  RecipeDefinition,
  Reconciled,
  TerminalTool,
  Tool,
  ToolContext,
  ToolDefinition,
  Workspace,
} from './core/definition/tool/define-tool.ts'
export { defineTool } from './core/definition/tool/define-tool.ts'
export type {
  Recipe,
  RecipeError,
  RecipeParts,
  RecipePlan,
  RecipeResult,
  RecipeStep,
  SerialContext,
} from './core/definition/tool/recipe.ts'
export type { WorkerIdentity } from './core/definition/worker-identity.ts'
export type { WorkerLog } from './core/definition/worker-log.ts'
export type { ErrorCode, ErrorDetails, LimitCode, RuntimeErrorOptions } from './core/errors.ts'
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
export type { Ended, EventHead, EventType, TroupeEvent } from './core/event/event.ts'
export type { EventDetails } from './core/event/event-details.ts'
export type { AgentResult, AgentResultOf, CutReason } from './core/history/agent-result.ts'
export type {
  AssistantBlock,
  AssistantMessage,
  ChatMessage,
  ChildFacts,
  ErrorMessage,
  FileBlock,
  FinishReason,
  Json,
  MediaBlock,
  MessageHead,
  ProviderOptions,
  ReasoningBlock,
  SummaryMessage,
  SystemMessage,
  TextBlock,
  ToolCallBlock,
  ToolOutput,
  ToolResultMessage,
  ToolStatus,
  Usage,
  UserBlock,
  UserMessage,
} from './core/history/chat/chat-message.ts'
export {
  dataUriOf,
  firstTextOf,
  isSummary,
  isSystem,
  isToolResult,
  textOf,
  timestampOf,
} from './core/history/chat/chat-message.ts'
export { type BlobName, type MediaOptions, type MediaPart, mediaBlock } from './core/history/chat/media.ts'
export { chat, type MadeHead } from './core/history/chat/message-factories.ts'
export { type Action, ChatContext, type Context, isSameAction } from './core/history/chat-context.ts'
export {
  ContextContainer,
  type SessionMetadata,
} from './core/history/context-container.ts'
export type { ConversationEntry, ToolResults } from './core/history/conversation-entry.ts'
export type {
  AskedEntry,
  AskNote,
  AskWithdrawnEntry,
  AttemptFailedEntry,
  BlankEntry,
  CallsDecidedEntry,
  CancelledEntry,
  ChatEntry,
  ClearedEntry,
  CompactedEntry,
  CompletedEntry,
  ConfiguredEntry,
  ContextChange,
  DelegatedEntry,
  Entry,
  EntryHead,
  ExpandedEntry,
  FailedEntry,
  HookedEntry,
  OrderedEntry,
  OrderRefusedEntry,
  ReceivedEntry,
  RedoneEntry,
  ResultStatus,
  RetriedEntry,
  RunResult,
  SpawnNote,
  StepEntry,
  SubCallEntry,
  SubCallStartedEntry,
  TakenOver,
  ToolStartedEntry,
  UndoneEntry,
} from './core/history/entry.ts'
export { ConversationHistory } from './core/history/history.ts'
export type { ContextSize } from './core/history/prompt/context-size.ts'
export { estimatedBytes } from './core/history/prompt/estimate.ts'
export type { BackgroundTasks } from './core/history/run/background-tasks.ts'
export { approvalsOf, type CallApproval, type CallApprovals } from './core/history/run/call-approvals.ts'
export type { CallDecision } from './core/history/run/call-decision.ts'
export {
  type ContextState,
  contextStateOf,
  sortOfArguments,
  type ToolArguments,
  type ToolCallRequest,
  toolCallRequests,
} from './core/history/run/context-state.ts'
export type { PendingTurn } from './core/history/run/pending-turn.ts'
export type { SubCalls } from './core/history/run/reply-calls.ts'
export type { RunMetadata } from './core/history/run/run-metadata.ts'
export type { RunSoFar } from './core/history/run/run-so-far.ts'
export type { UnknownDecision } from './core/history/run/unknown-decision.ts'
export type { SessionLimits, Spending, WorkerLimits } from './core/policy.ts'
export type { Attributes, CounterName, Span, SpanName, Telemetry } from './core/ports/telemetry.ts'
export type { DeepReadonly } from './core/read-only.ts'
export type { Include } from './core/webhook/endpoint.ts'
export type { ApprovalDecision } from './core/worker/ask/approval-ask.ts'
export type { ApprovalStatus } from './core/worker/ask/approval-status.ts'
export type { AskSort, AskState } from './core/worker/ask/ask.ts'
export type { ApprovalPolicy, SessionApproval, WhenNobodyAnswers } from './core/worker/ask/session-approval.ts'
export type { BusyGate, GateSort } from './core/worker/gates.ts'
export type { Configuration, ConfigurationChange } from './core/worker/message/configuration.ts'
export type {
  AnswerMessage,
  InputMessage,
  Lane,
  Mail,
  Message,
  ReportedChild,
  ResultMessage,
  SignalMessage,
  TimerMessage,
} from './core/worker/message/message.ts'
export type { ConfigureOrder, Order } from './core/worker/message/order.ts'
export type { SendTime, Steering } from './core/worker/message/steer.ts'
export type { Notify } from './core/worker/notify.ts'
export type { Permissions, SendReach } from './core/worker/permissions.ts'
export type { Activity } from './core/worker/run/activity.ts'
export type { Cost } from './core/worker/run/cost.ts'
export type { Failure, FailureOrigin } from './core/worker/run/failure.ts'
export { type Arrow, type RunEvent, RunMachine, runArrows, transition } from './core/worker/run/lifecycle.ts'
export type { CoarseState, FineState, RunState, WorkerState } from './core/worker/run/run-state.ts'
export type { UsageReport } from './core/worker/run/usage.ts'
export type { GivenTurnShare, TurnShare } from './core/worker/turn-share.ts'
export type { LoggerLike } from './log.ts'
