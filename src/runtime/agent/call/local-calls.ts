/**
 * Duty: run the tool calls of one reply that run in this node, side by side, and record how each of them ended.
 * Does not own: one attempt of a tool (tool/executor.ts), calls that start children (delegated-calls.ts).
 * LOCAL-1 A pure tool runs at once. An idempotent tool runs once the reply is acknowledged. A `once` tool runs once it is recorded as
 *         started.
 * LOCAL-2 The outcome of a call that was started and has no result is unknown. The tool's `reconcile` decides it, or else the worker's
 *         rule. The same holds for a started call that is no longer valid because the kind or the time has changed; there only
 *         the answer "it was done" is believed.
 * LOCAL-3 Nothing is recorded about a call that was stopped because the turn is over. The next turn decides by what is recorded.
 * LOCAL-4 In a dry run only pure tools run. Any other call gets a result that says so, and is never started.
 */
import { performance } from 'node:perf_hooks'
import { codePlaceOf, thrownFields } from '../../../core/code-place.ts'
import type { Tool } from '../../../core/definition/define-tool.ts'
import type { AgentDefinition } from '../../../core/definition/define-worker.ts'
import { type RuntimeError, TerminalError, toRuntimeError } from '../../../core/errors.ts'
import {
  type ToolCallBlock,
  type ToolOutput,
  type ToolStatus,
  toolCallsOf,
} from '../../../core/history/chat/chat-message.ts'
import { unknownOutcomeText } from '../../../core/history/run/open-calls.ts'
import type { Assignment } from '../../../core/ports/ports.ts'
import type { Telemetry } from '../../../core/ports/telemetry.ts'
import { redactSentence } from '../../../core/secret/redact.ts'
import { type Failure, toFailure } from '../../../core/worker/failure.ts'
import { checkArguments } from '../../tool/arguments.ts'
import type { ToolCallParts } from '../../tool/attempt.ts'
import type { Reconciliation, ToolExecutor, ToolOutcome } from '../../tool/executor.ts'
import type { Facts } from '../../tool/fact-collector.ts'
import { brief } from '../../tool/messages.ts'
import { errorOutput } from '../../tool/output.ts'
import { mayCall, mayFinishCall, mayRecord } from '../../turn/permit.ts'
import type { Journal } from '../journal.ts'
import { editedOutput } from './approval-words.ts'

export interface LocalCall {
  readonly call: ToolCallBlock
  readonly tool: Tool
  readonly input: unknown
  /** True if an earlier turn started it: LOCAL-2 decides whether it runs again. */
  readonly wasStarted: boolean
  readonly isLost: false
}

/** A call that an earlier turn started and that is no longer valid. It is not run again. */
export interface LostCall {
  readonly call: ToolCallBlock
  /** Undefined when the kind no longer has the tool. */
  readonly tool: Tool | undefined
  /** As the model wrote it. */
  readonly input: unknown
  readonly isLost: true
}

/** Some calls must be tried again later. */
interface Retry {
  readonly kind: 'retry'
  readonly error: RuntimeError
  /** Calls of `once` tools that were started and reported that nothing took effect. */
  readonly toolCallIds: readonly string[]
}

export type CallsEnd = { readonly kind: 'done' } | Retry

export interface CallsHost {
  readonly journal: Journal
  readonly executor: ToolExecutor
  readonly definition: AgentDefinition
  readonly folder: string | null
  /** How often the calls of this iteration have failed so far, and how many attempts there may be. */
  readonly failedAttempts: number
  readonly attempts: number
  readonly telemetry: Telemetry
}

export async function runLocalCalls(host: CallsHost, calls: readonly (LocalCall | LostCall)[]): Promise<CallsEnd> {
  const [only] = calls
  if (only !== undefined && calls.length === 1 && mayCall(host.journal.turn)) return runCall(host, only)
  const waiting = [...calls]
  const retries: (Retry & { readonly local: LocalCall | LostCall })[] = []
  const runNext = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      // If another call has added a failure, the run ends, and no further call begins.
      if (!mayCall(host.journal.turn) || host.journal.container.run.failure) return
      const end = await runCall(host, next)
      if (end.kind === 'retry') retries.push({ ...end, local: next })
    }
  }
  const atOnce = Math.min(calls.length, host.journal.turn.host.policy.toolsAtOnce)
  await Promise.all(Array.from({ length: atOnce }, runNext))
  const [first] = retries
  if (first === undefined) return done
  const { container, turn } = host.journal
  if (container.run.failure === null)
    return { kind: 'retry', error: first.error, toolCallIds: retries.flatMap(({ toolCallIds }) => toolCallIds) }
  // The run fails, so no call is tried again: the error of each call is its result.
  if (!mayRecord(turn)) return done
  for (const { local, error } of retries)
    recordResult(host.journal, local, 'error', errorOutput(error.message), 'tool.failed')
  return done
}

const done: CallsEnd = { kind: 'done' }

async function runCall(host: CallsHost, local: LocalCall | LostCall): Promise<CallsEnd> {
  if (host.journal.turn.assignment.isDryRun && local.tool?.effect !== 'pure') {
    if (mayRecord(host.journal.turn)) recordResult(host.journal, local, 'cancelled', dryOutput(local), 'tool.failed')
    return done
  }
  if (local.isLost || local.wasStarted) {
    const found = await reconcile(host, local)
    if (found === 'settled' || local.isLost) return done
  }
  const { journal } = host
  const { tool, call } = local
  const { turn } = journal
  if (tool.effect === 'once') {
    if (!mayCall(turn)) return done
    const { toolCallId, toolName } = call
    journal.add([journal.entry('toolStarted', { toolCallId, toolName })], {
      notes: [['tool.started', { toolCallId, toolName }]],
    })
  }
  if (tool.effect === 'once') await turn.pausing.beginning(turn.settled())
  else if (tool.effect !== 'pure') await turn.settled()
  if (!(tool.effect === 'once' ? mayFinishCall(turn) : mayCall(turn))) return done
  const startedAt = performance.now()
  const outcome = await runTool(host, local)
  if (!mayRecord(turn)) return done
  return settle(host, local, outcome, Math.round(performance.now() - startedAt))
}

/** LOCAL-4: also of a call that the session had started which this one is a copy of. */
function dryOutput({ call: { toolName } }: LocalCall | LostCall): ToolOutput {
  return {
    type: 'error-text',
    value: `This call of '${toolName}' was not run, and changed nothing: this session is a dry run, in which only tools without effects run.`,
  }
}

async function runTool(host: CallsHost, { tool, call, input }: LocalCall): Promise<ToolOutcome> {
  const { workerId, sessionId } = host.journal.turn.assignment
  const { toolCallId, toolName } = call
  const attributes = { sessionId, workerId, tool: toolName, toolCallId, attempt: host.failedAttempts + 1 }
  const span = host.telemetry.startSpan('tool_call', attributes)
  const { live } = host.journal.turn
  live.beginCall(call, { isStored: tool.effect === 'once' })
  const outcome = await host.executor.run({ tool, input, parts: partsOf(host, call) })
  live.endCall(toolCallId)
  span.end({ outcome: outcome.kind })
  return outcome
}

function partsOf({ journal, folder, failedAttempts }: CallsHost, call: ToolCallBlock): ToolCallParts {
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
    signal: turn.signal,
    folder,
    bounds: [assignment.permissions.folder, assignment.nodeFolder].filter((bound) => bound != null),
    limits: { ...assignment.limits, ...turn.session.spending.allowed },
    depth: assignment.depth,
    input: container.input,
    log: journal.log,
    facts: container.facts,
    children: container.run.children,
    // All outputs of one reply are in the next prompt.
    outputBytesMax: Math.floor(turn.host.policy.replyOutputBytesMax / Math.max(1, calls)),
    onProgress: (value: unknown) => turn.live.progress(toolCallId, value),
  }
}

/** LOCAL-2: finds out how a call ended that an earlier turn started, or that ended without a sign. */
async function reconcile(host: CallsHost, local: LocalCall | LostCall): Promise<'run' | 'settled'> {
  const { journal, definition } = host
  const { tool, call, isLost } = local
  const { toolName } = call
  const answer: Reconciliation = tool
    ? await host.executor.reconcile(tool, ownInput(local, tool), partsOf(host, call))
    : { unknown: true, why: `its kind has no tool "${toolName}" any more` }
  if (!mayRecord(journal.turn)) return 'settled'
  if ('done' in answer && answer.done) {
    recordResult(journal, local, 'ok', answer.output, 'tool.succeeded')
    return 'settled'
  }
  if ('done' in answer && !isLost) return 'run'
  const why =
    'unknown' in answer
      ? answer.why
      : `reconcile of tool "${toolName}" answered that it did not, but its arguments are no longer valid`
  const output = { type: 'error-text', value: unknownOutcomeText(toolName) } as const
  if (definition.onUnknown === 'tell') {
    recordResult(journal, local, 'unknown', output, 'tool.unknown')
    return 'settled'
  }
  const error = new TerminalError(
    `call ${call.toolCallId} of tool "${toolName}" was started, and nobody knows whether it took effect (${why}). It was not run again. Check what the call would have changed${waysOn(journal.turn.assignment)}. With onUnknown: 'tell' the model decides the next time.`,
    { code: 'tool_outcome_unknown' },
  )
  recordResult(journal, local, 'unknown', output, 'tool.unknown', { failure: failureOf(host, error) })
  return 'settled'
}

/** A child cannot be retried, because it has told its parent. */
function waysOn({ sessionId, parentId }: Assignment): string {
  if (parentId !== null) return ''
  return `, then let the run go on and say what became of the call: troupe session retry ${sessionId} --unknown done (or failed, or again)`
}

/** A copy of the input for `reconcile`, so that `run` does not see what `reconcile` changes in it. */
function ownInput({ call, input, isLost }: LocalCall | LostCall, tool: Tool): unknown {
  if (isLost) return structuredClone(input)
  const checked = checkArguments(tool, call)
  return checked.ok ? checked.value : input
}

/** The failure is recorded with the result, so that a node that takes over fails the run too. */
function failureOf({ failedAttempts }: CallsHost, error: RuntimeError): Failure {
  return toFailure(error, 'tool', failedAttempts + 1, Date.now())
}

async function settle(host: CallsHost, local: LocalCall, outcome: ToolOutcome, ms: number): Promise<CallsEnd> {
  const { journal, failedAttempts, attempts } = host
  noteThrown(host, local, outcome)
  switch (outcome.kind) {
    case 'done':
      recordResult(journal, local, 'ok', outcome.output, 'tool.succeeded', { facts: outcome.facts, ms })
      return done
    case 'failed':
      recordResult(journal, local, 'error', outcome.output, 'tool.failed', {
        facts: outcome.facts,
        ms,
        thrown: outcome.thrown,
      })
      return done
    case 'unfinished': {
      if (local.tool.effect !== 'once') {
        recordResult(journal, local, 'error', outcome.output, 'tool.failed', { ms })
        return done
      }
      const found = await reconcile(host, local)
      // reconcile answered that the call was not carried out: the model may make it again.
      if (found === 'run') recordResult(journal, local, 'error', outcome.output, 'tool.failed', { ms })
      return done
    }
    case 'transient': {
      const { error } = outcome
      // An error of a `once` tool means, like any other error it throws, that nothing took effect.
      if (failedAttempts + 1 < attempts) {
        const { toolCallId } = local.call
        const toolCallIds = local.tool.effect === 'once' ? [toolCallId] : []
        journal.noteReported(toolCallId, { status: 'error', output: errorOutput(error.message) })
        return { kind: 'retry', error, toolCallIds }
      }
      const text = `${error.message} (tried ${failedAttempts + 1} times)`
      recordResult(journal, local, 'error', errorOutput(text), 'tool.failed', { ms, thrown: error })
      return done
    }
    case 'fatal': {
      const failure = failureOf(host, outcome.error)
      recordResult(journal, local, 'error', errorOutput(failure.message), 'tool.failed', {
        ms,
        failure,
        thrown: outcome.error,
      })
      return done
    }
    case 'aborted':
      return done
  }
}

/** What the tool threw, for its author: the model gets the message alone. */
function noteThrown({ journal, failedAttempts }: CallsHost, { call, tool }: LocalCall, outcome: ToolOutcome): void {
  if (outcome.kind === 'done' || outcome.kind === 'unfinished' || outcome.kind === 'aborted') return
  // A tool that returned an error threw none.
  if (outcome.kind === 'failed' && !('thrown' in outcome)) return
  const thrown = outcome.kind === 'failed' ? outcome.thrown : outcome.error
  const { toolCallId } = call
  const what = { tool: tool.name, toolCallId, attempt: failedAttempts + 1, error: toRuntimeError(thrown).message }
  journal.log.warn('a tool failed', { ...what, ...thrownFields(thrown) })
}

function recordResult(
  journal: Journal,
  { call, tool }: LocalCall | LostCall,
  status: ToolStatus,
  output: ToolOutput,
  note: 'tool.succeeded' | 'tool.failed' | 'tool.unknown',
  { facts = {}, ms, failure, thrown }: { facts?: Facts; ms?: number; failure?: Failure; thrown?: unknown } = {},
): void {
  const { toolCallId, toolName } = call
  const { approvals } = journal.container.pending
  const edited = editedOutput(approvals.get(toolCallId), output, tool?.outputBytesMax)
  const thrownAt = codePlaceOf(thrown)
  const at = thrownAt === undefined ? {} : { thrownAt }
  const error = thrown === undefined ? {} : { error: brief(redactSentence(toRuntimeError(thrown).message)), ...at }
  const more = { ...(Object.keys(facts).length > 0 && { facts }), ...(failure && { failure }), ...at }
  journal.add(
    [journal.entry('toolResult', { id: journal.nextId(), toolCallId, toolName, status, output: edited, ...more })],
    { notes: [[note, { toolCallId, toolName, ...(ms === undefined ? {} : { ms }), ...error }]] },
    // If the result of a pure tool is lost, the tool runs again, which costs only its work.
    { lazy: tool?.effect === 'pure' && failure === undefined },
  )
}
