/**
 * Duty: runs the tool calls of one reply that run in this node, side by side, and records what became of each.
 * L1 A pure tool runs at once; an idempotent one once the reply is acknowledged; a `once` tool once it is recorded as started.
 * L2 A call that was started and has no result is unknown: its own `reconcile` says what happened, else the worker's rule. So is one
 *    that is no longer valid, since the kind or the time has changed; of that one only "it was done" is believed.
 * L3 Nothing is recorded of a call that was stopped because the turn is over: the next turn decides by what is recorded.
 */
import { performance } from 'node:perf_hooks'
import type { Tool } from '../../../core/definition/define-tool.ts'
import type { AgentDefinition } from '../../../core/definition/define-worker.ts'
import { type RuntimeError, TerminalError } from '../../../core/errors.ts'
import type { ToolCallBlock, ToolOutput, ToolStatus } from '../../../core/history/chat-message.ts'
import { unknownOutcomeText } from '../../../core/history/open-calls.ts'
import { type Failure, toFailure } from '../../../core/worker/failure.ts'
import { checkArguments } from '../../tool/arguments.ts'
import type { ToolCallParts } from '../../tool/attempt.ts'
import type { Reconciliation, ToolExecutor, ToolOutcome } from '../../tool/executor.ts'
import { errorOutput } from '../../tool/output.ts'
import { mayCall, mayRecord } from '../../turn/permit.ts'
import type { Journal } from '../journal.ts'

export interface LocalCall {
  readonly call: ToolCallBlock
  readonly tool: Tool
  readonly input: unknown
  /** By an earlier turn: L2 decides whether it runs. */
  readonly wasStarted: boolean
  readonly isLost: false
}

/** Started by an earlier turn, and no longer valid: it is not run again. */
export interface LostCall {
  readonly call: ToolCallBlock
  /** Undefined when the kind has it no longer. */
  readonly tool: Tool | undefined
  /** As the model gave it. */
  readonly input: unknown
  readonly isLost: true
}

/** Some calls are to be tried again later. */
interface Retry {
  readonly kind: 'retry'
  readonly error: RuntimeError
  /** Of `once` tools, which were started and said that nothing took effect. */
  readonly toolCallIds: readonly string[]
}

export type CallsEnd = { readonly kind: 'done' } | Retry

export interface CallsHost {
  readonly journal: Journal
  readonly executor: ToolExecutor
  readonly definition: AgentDefinition
  readonly folder: string | null
  /** Failed tries of this iteration's calls so far, and how many there may be. */
  readonly attempt: number
  readonly tries: number
}

export async function runLocalCalls(host: CallsHost, calls: readonly (LocalCall | LostCall)[]): Promise<CallsEnd> {
  const [only] = calls
  if (only !== undefined && calls.length === 1 && mayCall(host.journal.turn)) return runCall(host, only)
  const waiting = [...calls]
  const retries: (Retry & { readonly local: LocalCall | LostCall })[] = []
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      // A failure that was added meanwhile ends the run: nothing more begins.
      if (!mayCall(host.journal.turn) || host.journal.container.run.failure) return
      const end = await runCall(host, next)
      if (end.kind === 'retry') retries.push({ ...end, local: next })
    }
  }
  const lanes = Math.min(calls.length, host.journal.turn.host.policy.toolsAtOnce)
  await Promise.all(Array.from({ length: lanes }, lane))
  const [first] = retries
  if (first === undefined) return done
  const { container, turn } = host.journal
  if (container.run.failure === null)
    return { kind: 'retry', error: first.error, toolCallIds: retries.flatMap(({ toolCallIds }) => toolCallIds) }
  // The run fails, so nothing is tried again: what they said is their result.
  if (!mayRecord(turn)) return done
  for (const { local, error } of retries)
    recordResult(host.journal, local, 'error', errorOutput(error.message), 'tool.failed')
  return done
}

const done: CallsEnd = { kind: 'done' }

async function runCall(host: CallsHost, local: LocalCall | LostCall): Promise<CallsEnd> {
  if (local.isLost || local.wasStarted) {
    const found = await reconcile(host, local)
    if (found === 'settled' || local.isLost) return done
  }
  const { journal } = host
  const { tool, call } = local
  const { turn } = journal
  if (tool.effect === 'once') {
    const { toolCallId, toolName } = call
    journal.add([{ type: 'toolStarted', toolCallId, toolName }], {
      notes: [['tool.started', { toolCallId, toolName }]],
    })
  }
  if (tool.effect !== 'pure') await turn.settled()
  if (!mayCall(turn)) return done
  const startedAt = performance.now()
  const outcome = await host.executor.run({ tool, input: local.input, parts: partsOf(host, call) })
  if (!mayRecord(turn)) return done
  return settle(host, local, outcome, Math.round(performance.now() - startedAt))
}

function partsOf({ journal, folder, attempt }: CallsHost, call: ToolCallBlock): ToolCallParts {
  const { turn, container } = journal
  const { grant, host } = turn
  const { toolCallId, toolName } = call
  return {
    workerId: grant.workerId,
    sessionId: grant.sessionId,
    toolCallId,
    attempt: attempt + 1,
    idempotencyKey: `${grant.workerId}/${journal.position.run}/${toolCallId}`,
    signal: turn.signal,
    folder,
    bound: grant.allowed.folder ?? null,
    limits: { ...grant.limits, ...turn.spending.allowed },
    depth: grant.depth,
    input: container.input,
    log: journal.log,
    facts: container.facts,
    children: container.run.children,
    onProgress: (value: unknown) =>
      host.live.publish(grant.sessionId, grant.workerId, [['tool.progress', { toolCallId, toolName, value }]]),
  }
}

/** L2: what became of a call that was started in an earlier turn, or gave no sign of its end. */
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
      : `reconcile of tool "${toolName}" says that it did not, but was asked with arguments that are no longer valid`
  const output = { type: 'error-text', value: unknownOutcomeText(toolName) } as const
  if (definition.onUnknown === 'tell') {
    recordResult(journal, local, 'unknown', output, 'tool.unknown')
    return 'settled'
  }
  const error = new TerminalError(
    `call ${call.toolCallId} of tool "${toolName}" was started, and nobody knows whether it took effect (${why}). It was not run again. Look at what it would have changed, then send the worker a message; or set onUnknown: 'tell' to let the model decide.`,
    { code: 'tool_outcome_unknown' },
  )
  recordResult(journal, local, 'unknown', output, 'tool.unknown', { failure: failureOf(host, error) })
  return 'settled'
}

/** `reconcile` and `run` are each given their own: what one makes of it is not what the other is asked for. */
function ownInput({ call, input, isLost }: LocalCall | LostCall, tool: Tool): unknown {
  if (isLost) return structuredClone(input)
  const checked = checkArguments(tool, call)
  return checked.ok ? checked.value : input
}

/** Recorded with the result, so that whoever takes over fails the run as well. */
function failureOf({ attempt }: CallsHost, error: RuntimeError): Failure {
  return toFailure(error, 'tool', attempt + 1, Date.now())
}

async function settle(host: CallsHost, local: LocalCall, outcome: ToolOutcome, ms: number): Promise<CallsEnd> {
  const { journal, attempt, tries } = host
  switch (outcome.kind) {
    case 'done':
      recordResult(journal, local, 'ok', outcome.output, 'tool.succeeded', { facts: outcome.facts, ms })
      return done
    case 'failed':
      recordResult(journal, local, 'error', outcome.output, 'tool.failed', { facts: outcome.facts, ms })
      return done
    case 'unfinished': {
      if (local.tool.effect !== 'once') {
        recordResult(journal, local, 'error', outcome.output, 'tool.failed', { ms })
        return done
      }
      const found = await reconcile(host, local)
      // It says that it was not done: the model may ask for it again.
      if (found === 'run') recordResult(journal, local, 'error', outcome.output, 'tool.failed', { ms })
      return done
    }
    case 'transient': {
      const { error } = outcome
      // What a `once` tool throws is its own word that nothing took effect, like any other error of it.
      if (attempt + 1 < tries) {
        const { toolCallId } = local.call
        const toolCallIds = local.tool.effect === 'once' ? [toolCallId] : []
        journal.noteWord(toolCallId, { status: 'error', output: errorOutput(error.message) })
        return { kind: 'retry', error, toolCallIds }
      }
      const text = `${error.message} (tried ${attempt + 1} times)`
      recordResult(journal, local, 'error', errorOutput(text), 'tool.failed', { ms })
      return done
    }
    case 'fatal': {
      const failure = failureOf(host, outcome.error)
      recordResult(journal, local, 'error', errorOutput(failure.message), 'tool.failed', { ms, failure })
      return done
    }
    case 'aborted':
      return done
  }
}

function recordResult(
  journal: Journal,
  { call, tool }: LocalCall | LostCall,
  status: ToolStatus,
  output: ToolOutput,
  note: 'tool.succeeded' | 'tool.failed' | 'tool.unknown',
  { facts = {}, ms, failure }: { facts?: Readonly<Record<string, unknown>>; ms?: number; failure?: Failure } = {},
): void {
  const { toolCallId, toolName } = call
  const more = { ...(Object.keys(facts).length > 0 && { facts }), ...(failure && { failure }) }
  journal.add(
    [{ type: 'toolResult', id: journal.nextId(), toolCallId, toolName, status, output, ...more }],
    { notes: [[note, { toolCallId, toolName, ...(ms === undefined ? {} : { ms }) }]] },
    // Nothing is lost but work if a pure tool runs again.
    { lazy: tool?.effect === 'pure' && failure === undefined },
  )
}
