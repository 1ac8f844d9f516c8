/**
 * Duty: what running the calls of a reply has in common: what the tools get, how an outcome that nobody knows is found out, and how the end of a call is
 * recorded.
 * Does not own: which calls run when (local-calls.ts), the steps of recipes (recipe-calls.ts).
 */
import type { BlobRef } from '../../../core/blob.ts'
import { codePlaceOf, thrownFields } from '../../../core/code-place.ts'
import type { AgentDefinition } from '../../../core/definition/define-worker.ts'
import type { Tool } from '../../../core/definition/tool/define-tool.ts'
import { type RuntimeError, TerminalError, toRuntimeError } from '../../../core/errors.ts'
import {
  type ToolCallBlock,
  type ToolOutput,
  type ToolStatus,
  toolCallsOf,
} from '../../../core/history/chat/chat-message.ts'
import type { Entry } from '../../../core/history/entry.ts'
import type { Assignment } from '../../../core/ports/ports.ts'
import type { Telemetry } from '../../../core/ports/telemetry.ts'
import { type Failure, toFailure } from '../../../core/worker/run/failure.ts'
import { checkArguments } from '../../tool/arguments.ts'
import type { ToolCallParts } from '../../tool/attempt.ts'
import type { Reconciliation, ToolExecutor, ToolOutcome } from '../../tool/executor.ts'
import type { Facts } from '../../tool/fact-collector.ts'
import { brief } from '../../tool/messages.ts'
import { mayRecord } from '../../turn/permit.ts'
import type { Turn } from '../../turn/turn.ts'
import type { CheckedCall } from '../iteration.ts'
import type { Journal } from '../journal.ts'
import { isOwnTool, longResultsOf } from './own-tools.ts'
import { editedOutput } from './person/approval-words.ts'

export interface LocalCall {
  readonly call: ToolCallBlock
  readonly tool: Tool
  readonly input: unknown
  /** True if an earlier turn started the call: LOCAL-2 decides whether it runs again. */
  readonly wasStarted: boolean
  readonly isLost: false
}

/** A call that an earlier turn started and that is no longer valid. It is not run again. */
export interface LostCall {
  readonly call: ToolCallBlock
  /** Undefined when the kind no longer has the tool. */
  readonly tool: Tool | undefined
  /** The arguments as the model wrote them. */
  readonly input: unknown
  readonly isLost: true
}

/** Some calls must be tried again later. */
export interface Retry {
  readonly kind: 'retry'
  readonly error: RuntimeError
  /** The longest wait that the tools of these calls ask for. */
  readonly retryMs: number
  /** The failed attempt is recorded. */
  readonly isRecorded: boolean
}

/** One retry for all of these: after the longest wait. */
export function asOneRetry(first: Retry, retries: readonly Retry[]): Retry {
  return {
    kind: 'retry',
    error: first.error,
    retryMs: Math.max(...retries.map(({ retryMs }) => retryMs)),
    isRecorded: retries.some(({ isRecorded }) => isRecorded),
  }
}

export type CallsEnd = { readonly kind: 'done' } | Retry

export interface CallsHost {
  readonly journal: Journal
  readonly executor: ToolExecutor
  readonly definition: AgentDefinition
  readonly folder: string | null
  /** How often the calls of this iteration have failed so far. */
  readonly failedAttempts: number
  /** The wait before a call of this tool is tried again. Null if it has no further attempt. */
  retryMs(tool: Tool, error: RuntimeError): number | null
  readonly telemetry: Telemetry
  /** For a step of a recipe: may it run, and with which tool? */
  step(call: ToolCallBlock): { readonly checked: CheckedCall; readonly tool: Tool | undefined }
}

/** Resolves when the start of a call is recorded, and when the inputs are judged that came in the meantime. */
export function startRecorded(turn: Turn): Promise<void> {
  return turn.pausing.beginning(turn.settled().then(() => turn.steers.judge()))
}

/** Folders in which the folder of the worker must lie. */
export function boundsOf({ permissions, nodeFolder }: Assignment): readonly string[] {
  return [permissions.folder, nodeFolder].filter((bound) => bound != null)
}

/** `share`: how many steps share the output of the call. */
export function partsOf(
  { journal, definition, folder, failedAttempts }: CallsHost,
  call: ToolCallBlock,
  share = 1,
): ToolCallParts {
  const { turn, container } = journal
  const calls = container.lastReply === null ? 1 : toolCallsOf(container.lastReply).length
  const { assignment } = turn
  const { toolCallId } = call
  return {
    workerId: assignment.workerId,
    sessionId: assignment.sessionId,
    toolCallId,
    attempt: failedAttempts + 1,
    idempotencyKey: `${assignment.workerId}/${journal.position.run}/${toolCallId}`,
    signal: turn.steers.work.signal,
    folder,
    bounds: boundsOf(assignment),
    limits: { ...assignment.limits, ...turn.session.spending.allowed },
    depth: assignment.depth,
    input: container.input,
    log: journal.log,
    facts: container.facts,
    children: container.run.children,
    // All outputs of one reply are in the next prompt.
    outputBytesMax: Math.floor(turn.host.policy.replyOutputBytesMax / Math.max(1, calls * share)),
    keeps: isOwnTool(call.toolName) ? null : longResultsOf(definition),
    onProgress: (value: unknown) => turn.live.progress(toolCallId, value),
  }
}

/**
 * Asks the tool of a call that was started whether it took effect. Null: the turn was stopped, or a message interrupted the question; nothing is recorded
 * then.
 */
export async function askOutcome(host: CallsHost, local: LocalCall | LostCall): Promise<Reconciliation | null> {
  const { tool, call, isLost } = local
  const { toolName } = call
  if (tool === undefined) return { unknown: true, why: `its kind has no tool "${toolName}" any more` }
  const answer = await host.executor.reconcile(tool, ownInput(local, tool), partsOf(host, call))
  const { turn } = host.journal
  if (!mayRecord(turn) || ('unknown' in answer && turn.steers.interrupts)) return null
  if (!isLost || !('done' in answer) || answer.done) return answer
  const why = `reconcile of tool "${toolName}" answered that it did not, but its arguments are no longer valid`
  return { unknown: true, why }
}

/** `why`: nobody knows what became of the call. */
export function unknownFailure(host: CallsHost, { toolCallId, toolName }: ToolCallBlock, why: string): Failure {
  const error = new TerminalError(
    `call ${toolCallId} of tool "${toolName}" was started, and nobody knows whether it took effect (${why}). It was not run again. Check what the call would have changed${waysOn(host.journal.turn.assignment)}. With onUnknown: 'tell' the model decides the next time.`,
    { code: 'tool_outcome_unknown' },
  )
  return failureOf(host, error)
}

/** A child cannot be retried, because it has told its parent. */
function waysOn({ sessionId, parentId }: Assignment): string {
  if (parentId !== null) return ''
  return `, then let the run go on and say what became of the call: troupe session retry ${sessionId} --unknown done (or failed, or again)`
}

/** A copy of the input for `reconcile` or a recipe, so that `run` does not see what they change in it. */
export function ownInput({ call, input, isLost }: LocalCall | LostCall, tool: Tool): unknown {
  if (isLost) return structuredClone(input)
  const checked = checkArguments(tool, call)
  return checked.ok ? checked.value : input
}

/** The failure is recorded with the result, so that a node that takes over fails the run too. */
export function failureOf({ failedAttempts }: CallsHost, error: RuntimeError): Failure {
  return toFailure(error, 'tool', failedAttempts + 1, Date.now())
}

/**
 * This call, or step of a recipe, is tried again. An error of a `once` tool means that nothing took effect. That is recorded before anything else: if the
 * turn ends before the calls beside it do, nobody would know it.
 */
export function retryOf(
  host: CallsHost,
  { toolCallId }: ToolCallBlock,
  tool: Tool,
  error: RuntimeError,
  retryMs: number,
): Retry {
  const { journal } = host
  const isRecorded = tool.effect === 'once'
  if (isRecorded) {
    const failure = failureOf(host, error)
    journal.add([journal.entry('attemptFailed', { failure, retryMs, toolCallIds: [toolCallId] })])
  }
  return { kind: 'retry', error, retryMs, isRecorded }
}

/** What the tool threw, for its author: the model gets the message alone. */
export function noteThrown(
  { journal, failedAttempts }: CallsHost,
  { call, tool }: LocalCall,
  outcome: ToolOutcome,
): void {
  if (outcome.kind === 'done' || outcome.kind === 'unfinished' || outcome.kind === 'aborted') return
  // A tool that returned an error threw nothing.
  if (outcome.kind === 'failed' && !('thrown' in outcome)) return
  const thrown = outcome.kind === 'failed' ? outcome.thrown : outcome.error
  const { toolCallId } = call
  const what = { tool: tool.name, toolCallId, attempt: failedAttempts + 1, error: toRuntimeError(thrown).message }
  journal.log.warn('a tool failed', { ...what, ...thrownFields(thrown) })
}

/** The result of a call that cannot be run. `ahead`: how many entries come before it in the same step. */
export function invalidResult(
  journal: Journal,
  { call, text, isForbidden, isBroken }: CheckedCall & { kind: 'invalid' },
  ahead = 0,
): Entry {
  const { toolCallId, toolName } = call
  const output = { type: 'error-text', value: text } as const
  const more = isForbidden ? { approval: 'denied' as const } : {}
  return journal.entry('toolResult', {
    id: journal.nextId(ahead),
    toolCallId,
    toolName,
    status: 'error',
    output,
    ...more,
    ...(isBroken && { isBroken }),
  })
}

interface ResultParts {
  readonly facts?: Facts
  readonly ms?: number
  readonly failure?: Failure
  readonly thrown?: unknown
  /** The blob that holds the whole of a long output. */
  readonly blob?: BlobRef | undefined
}

export function recordResult(
  journal: Journal,
  { call, tool }: LocalCall | LostCall,
  status: ToolStatus,
  output: ToolOutput,
  note: 'tool.succeeded' | 'tool.failed' | 'tool.unknown',
  { facts = {}, ms, failure, thrown, blob }: ResultParts = {},
): void {
  const { toolCallId, toolName } = call
  const { approvals } = journal.container.pending
  const edited = editedOutput(approvals.get(toolCallId), output, tool?.outputBytesMax)
  const thrownAt = codePlaceOf(thrown)
  const at = thrownAt === undefined ? {} : { thrownAt }
  const error = thrown === undefined ? {} : { error: brief(toRuntimeError(thrown).message), ...at }
  const more = {
    ...(Object.keys(facts).length > 0 && { facts }),
    ...(failure && { failure }),
    ...(blob && { blob }),
    ...at,
  }
  journal.add(
    [journal.entry('toolResult', { id: journal.nextId(), toolCallId, toolName, status, output: edited, ...more })],
    { notes: [[note, { toolCallId, toolName, ...(ms === undefined ? {} : { ms }), ...error }]] },
    // If the result of a pure tool is lost, the tool runs again, which costs only its work.
    { lazy: tool?.effect === 'pure' && failure === undefined },
  )
}
