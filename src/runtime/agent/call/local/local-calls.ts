/**
 * Duty: run the tool calls of one reply that run in this node, side by side, and record how each of them ended.
 * Does not own: one attempt of a tool (tool/executor.ts), calls of recipes (recipe-calls.ts), calls that start children (delegated-calls.ts).
 * LOCAL-1 A pure tool runs at once. An idempotent tool runs once the reply is acknowledged. A `once` tool runs once it is recorded as
 *         started.
 * LOCAL-2 The outcome of a call that was started and has no result is unknown. The tool's `reconcile` decides it, or else the worker's
 *         rule. The same holds for a started call that is no longer valid because the kind or the time has changed; there only
 *         the answer "it was done" is believed.
 * LOCAL-3 Nothing is recorded about a call that was stopped because the turn is over. The next turn decides by what is recorded.
 */
import { performance } from 'node:perf_hooks'
import { interruptedText, unknownOutcomeText } from '../../../../core/history/run/open-calls.ts'
import type { ToolOutcome } from '../../../tool/executor.ts'
import { errorOutput } from '../../../tool/output.ts'
import { mayCall, mayFinish, mayRecord } from '../../../turn/permit.ts'
import {
  askOutcome,
  asOneRetry,
  type CallsEnd,
  type CallsHost,
  failureOf,
  type LocalCall,
  type LostCall,
  noteThrown,
  partsOf,
  type Retry,
  recordResult,
  retryOf,
  startRecorded,
  unknownFailure,
} from '../call-host.ts'
import { dryOutput } from '../dry-run.ts'
import { runnable } from '../own-tools.ts'
import { keepLong } from './long-results.ts'
import { runRecipe } from './recipe-calls.ts'

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
  const { toolsAtOnce = host.journal.turn.host.policy.toolsAtOnce } = host.definition.limits ?? {}
  const atOnce = Math.min(calls.length, toolsAtOnce)
  await Promise.all(Array.from({ length: atOnce }, runNext))
  const [first] = retries
  if (first === undefined) return done
  const { container, turn } = host.journal
  if (container.run.failure === null) return asOneRetry(first, retries)
  // The run fails, so no call is tried again: the error of each call is its result.
  if (!mayRecord(turn)) return done
  for (const { local, error } of retries)
    recordResult(host.journal, local, 'error', errorOutput(error.message), 'tool.failed')
  return done
}

const done: CallsEnd = { kind: 'done' }

async function runCall(host: CallsHost, local: LocalCall | LostCall): Promise<CallsEnd> {
  const dry = dryOutput(host.journal, local.tool, local.call.toolName)
  if (dry !== null) {
    if (mayRecord(host.journal.turn)) recordResult(host.journal, local, 'cancelled', dry, 'tool.failed')
    return done
  }
  // A call that was started runs by its own `run`.
  if (!local.isLost && local.tool.recipe !== undefined && !local.wasStarted) {
    const end = await runRecipe(host, local)
    if (end !== null) return end
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
  if (tool.effect === 'once') await startRecorded(turn)
  else if (tool.effect !== 'pure') await turn.settled()
  if (!(tool.effect === 'once' ? mayFinish(turn) : mayCall(turn))) return done
  if (tool.effect === 'once' && turn.steers.interrupts) {
    // A message came while the start was recorded (PERMIT-5). Nothing has begun, and nobody would know that later.
    recordResult(journal, local, 'cancelled', { type: 'error-text', value: interruptedText }, 'tool.failed')
    return done
  }
  const startedAt = performance.now()
  const outcome = await runTool(host, local)
  if (!mayRecord(turn)) return done
  return settle(host, local, outcome, Math.round(performance.now() - startedAt))
}

async function runTool(host: CallsHost, { tool, call, input }: LocalCall): Promise<ToolOutcome> {
  const { workerId, sessionId, kind, run } = host.journal.turn.assignment
  const { toolCallId, toolName } = call
  const attributes = { sessionId, workerId, kind, run, tool: toolName, toolCallId, attempt: host.failedAttempts + 1 }
  const span = host.telemetry.startSpan('tool_call', attributes)
  const { live } = host.journal.turn
  live.beginCall(call, { isStored: tool.effect === 'once' })
  const own = runnable(tool, host.journal.turn)
  const outcome = await host.executor.run({ tool: own, input, parts: partsOf(host, call) })
  live.endCall(toolCallId)
  span.end({ outcome: outcome.kind })
  return outcome
}

/** LOCAL-2: finds out how a call ended that an earlier turn started, or that ended without a sign. */
async function reconcile(host: CallsHost, local: LocalCall | LostCall): Promise<'run' | 'settled'> {
  const { journal, definition } = host
  const answer = await askOutcome(host, local)
  if (answer === null) return 'settled'
  if ('done' in answer && answer.done) {
    recordResult(journal, local, 'ok', answer.output, 'tool.succeeded', { facts: answer.facts })
    return 'settled'
  }
  if ('done' in answer) return 'run'
  const output = { type: 'error-text', value: unknownOutcomeText(local.call.toolName) } as const
  const failure = definition.onUnknown === 'tell' ? undefined : unknownFailure(host, local.call, answer.why)
  recordResult(journal, local, 'unknown', output, 'tool.unknown', failure && { failure })
  return 'settled'
}

async function settle(host: CallsHost, local: LocalCall, outcome: ToolOutcome, ms: number): Promise<CallsEnd> {
  const { journal, failedAttempts } = host
  noteThrown(host, local, outcome)
  switch (outcome.kind) {
    case 'done': {
      const { whole, output, facts } = outcome
      const kept = whole === undefined ? { output } : await keepLong(journal, local.call, { output, whole, facts })
      if (!mayRecord(journal.turn)) return done
      recordResult(journal, local, 'ok', kept.output, 'tool.succeeded', { ...kept, facts, ms })
      return done
    }
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
      const retryMs = host.retryMs(local.tool, error)
      if (retryMs !== null) {
        journal.noteReported(local.call.toolCallId, { status: 'error', output: errorOutput(error.message) })
        return retryOf(host, local.call, local.tool, error, retryMs)
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
