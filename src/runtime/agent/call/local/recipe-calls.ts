/**
 * Duty: carry out a call of a tool that is a recipe: its steps one after the other, then side by side, and one result of all of them.
 * Does not own: the form of a recipe (recipe-plan.ts), calls without steps (local-calls.ts).
 * RECIPE-CALLS-1 A step that has ended is recorded, and is not run again. A step of a `once` tool is recorded as started before it runs; the outcome of
 *                one that was started and has no record is unknown, as that of a call (LOCAL-2 of local-calls.ts).
 *                A step that a message interrupts while its start is recorded does not run.
 * RECIPE-CALLS-2 A step may do what a call of its tool may do, with the same checks. Nobody is asked about a step: one that needs an approval runs only
 *                if a person approved the recipe, and one that needs it each time does not run.
 * RECIPE-CALLS-3 A step that fails is an error of the result. It does not keep the others from running.
 * RECIPE-CALLS-4 Recipes do not nest.
 */
import { performance } from 'node:perf_hooks'
import { hasRun, type Tool } from '../../../../core/definition/tool/define-tool.ts'
import {
  composeResults,
  type RecipeError,
  type RecipeParts,
  type RecipeResult,
} from '../../../../core/definition/tool/recipe.ts'
import { toRuntimeError } from '../../../../core/errors.ts'
import type { Json, ToolCallBlock, ToolOutput, ToolStatus } from '../../../../core/history/chat/chat-message.ts'
import { plainOutputOf } from '../../../../core/history/chat/media.ts'
import { interruptedText, unknownOutcomeText } from '../../../../core/history/run/open-calls.ts'
import { readOnly } from '../../../../core/read-only.ts'
import { redactData } from '../../../../core/secret/redact.ts'
import type { Failure } from '../../../../core/worker/run/failure.ts'
import { outputOf } from '../../../tool/attempt.ts'
import type { ToolOutcome } from '../../../tool/executor.ts'
import type { Facts } from '../../../tool/fact-collector.ts'
import { limited } from '../../../tool/limited.ts'
import { brief } from '../../../tool/messages.ts'
import { errorOutput } from '../../../tool/output.ts'
import { mayCall, mayFinish, mayRecord } from '../../../turn/permit.ts'
import { watchLoop } from '../../../user-code/event-loop.ts'
import { runUserPart } from '../../../user-code/user-code.ts'
import {
  askOutcome,
  asOneRetry,
  type CallsEnd,
  type CallsHost,
  failureOf,
  type LocalCall,
  noteThrown,
  ownInput,
  partsOf,
  type Retry,
  recordResult,
  retryOf,
  startRecorded,
  unknownFailure,
} from '../call-host.ts'
import { dryOutput } from '../dry-run.ts'
import { keepLong } from './long-results.ts'
import { type PlannedRecipe, type PlannedStep, planRecipe } from './recipe-plan.ts'

/** How many parallel steps run at the same time. */
const atOnce = 3

/** How a step ended. fails: the run fails because of it. stopped: nothing was recorded, the next turn goes on. */
type StepEnd =
  | { readonly kind: 'ended'; readonly status: ToolStatus; readonly output: ToolOutput; readonly facts: Facts }
  | Retry
  | { readonly kind: 'fails'; readonly status: ToolStatus; readonly output: ToolOutput; readonly failure: Failure }
  | { readonly kind: 'stopped' }

interface Running {
  readonly host: CallsHost
  readonly local: LocalCall
  readonly plan: PlannedRecipe
  /** What the serial steps returned, by the names of their tools. */
  readonly serial: Record<string, Json>
  readonly ends: Map<PlannedStep, StepEnd>
}

const done: CallsEnd = { kind: 'done' }
const stopped: StepEnd = { kind: 'stopped' }

/** Returns null if the call has no steps, and runs by the `run` of its tool. */
export async function runRecipe(host: CallsHost, local: LocalCall): Promise<CallsEnd | null> {
  const { journal } = host
  const { tool, call } = local
  let plan: PlannedRecipe | null
  try {
    const what = `recipe of tool "${tool.name}"`
    const { renewEveryMs } = journal.turn.host.policy
    plan = runUserPart(what, () =>
      watchLoop(() => planRecipe(tool, ownInput(local, tool)), what, renewEveryMs, journal.log),
    )
  } catch (thrown) {
    return evaluationFailed(host, local, thrown)
  }
  if (plan === null && hasRun(tool)) return null
  const lost = lostStep(host, call, plan)
  if (lost !== null) return unknownResult(host, local, lost)
  const running: Running = { host, local, plan: plan ?? { steps: [], compose: undefined }, serial: {}, ends: new Map() }
  const end = (await runSerial(running)) ?? (await runParallel(running))
  if (end !== null || !mayRecord(journal.turn)) return end ?? done
  return compose(running)
}

/** A step that was started, and that the recipe no longer has. */
function lostStep({ journal }: CallsHost, { toolCallId }: ToolCallBlock, plan: PlannedRecipe | null): string | null {
  const ids = new Set(plan?.steps.map(({ id }) => id))
  for (const { type, id } of journal.container.pending.subCalls.get(toolCallId)?.values() ?? [])
    if (type === 'subCallStarted' && !ids.has(id))
      return `its step ${id} was started, and its recipe has no such step any more`
  return null
}

/** Returns null if all steps have ended. */
async function runSerial(running: Running): Promise<CallsEnd | null> {
  for (const step of running.plan.steps) {
    if (step.phase !== 'serial') continue
    const end = await runStep(running, step)
    running.ends.set(step, end)
    if (end.kind !== 'ended') return endOf(running)
    if (end.status === 'ok') running.serial[step.tool] = plainOutputOf(end.output)
  }
  return null
}

async function runParallel(running: Running): Promise<CallsEnd | null> {
  const waiting = running.plan.steps.filter(({ phase }) => phase === 'parallel')
  const runNext = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      if (running.ends.values().some(({ kind }) => kind === 'fails' || kind === 'stopped')) return
      running.ends.set(step, await runStep(running, step))
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, waiting.length) }, runNext))
  return endOf(running)
}

/** Null if all steps that ran have ended. */
function endOf({ host, local, ends }: Running): CallsEnd | null {
  const all = [...ends.values()]
  if (!mayRecord(host.journal.turn) || all.some(({ kind }) => kind === 'stopped')) return done
  const failed = all.find((end) => end.kind === 'fails')
  if (failed) {
    const { status, output, failure } = failed
    recordResult(host.journal, local, status, output, status === 'unknown' ? 'tool.unknown' : 'tool.failed', {
      failure,
    })
    return done
  }
  const retries = all.filter((end) => end.kind === 'retry')
  const [first] = retries
  if (first === undefined) return null
  return asOneRetry(first, retries)
}

async function runStep(running: Running, step: PlannedStep): Promise<StepEnd> {
  const { host, local } = running
  const { journal } = host
  const recorded = journal.container.pending.subCalls.get(local.call.toolCallId)?.get(step.id)
  if (recorded?.type === 'subCall')
    return { kind: 'ended', status: recorded.status, output: recorded.output, facts: recorded.facts ?? {} }
  const checked = checkStep(running, step)
  if ('problem' in checked) return endStep(running, step, undefined, 'error', errorText(checked.problem))
  const sub: LocalCall = { ...checked, wasStarted: recorded !== undefined, isLost: false }
  const dry = dryOutput(journal, sub.tool, sub.call.toolName)
  if (dry !== null) return endStep(running, step, sub.tool, 'cancelled', dry)
  if (sub.wasStarted) {
    const known = await reconcile(running, step, sub)
    if (known !== null) return known
  }
  if (!mayCall(journal.turn)) return stopped
  const { toolName } = sub.call
  const { turn } = journal
  if (sub.tool.effect === 'once') {
    const started = journal.entry('subCallStarted', { toolCallId: local.call.toolCallId, id: step.id, toolName })
    journal.add([started], { notes: [['tool.started', { toolCallId: sub.call.toolCallId, toolName }]] })
    await startRecorded(turn)
  } else if (sub.tool.effect !== 'pure') await turn.settled()
  if (!(sub.tool.effect === 'once' ? mayFinish(turn) : mayCall(turn))) return stopped
  if (sub.tool.effect === 'once' && turn.steers.interrupts) return interruptedStep(running, step, sub)
  const startedAt = performance.now()
  const outcome = await attempt(running, step, sub)
  if (!mayRecord(turn)) return stopped
  return settle(running, step, sub, outcome, Math.round(performance.now() - startedAt))
}

/** A message came while the start of the step was recorded (PERMIT-5). The step has not begun, and nobody would know that later. */
function interruptedStep(running: Running, step: PlannedStep, { tool }: LocalCall): StepEnd {
  const { journal } = running.host
  const { toolCallId } = running.local.call
  const output: ToolOutput = { type: 'error-text', value: interruptedText }
  endStep(running, step, tool, 'cancelled', output)
  const begun = [...(journal.container.pending.subCalls.get(toolCallId)?.values() ?? [])]
  const tookNoEffect = begun.every((sub) => sub.type === 'subCall' && (sub.status === 'cancelled' || !sub.once))
  if (tookNoEffect) journal.noteReported(toolCallId, { status: 'cancelled', output })
  return stopped
}

/** The call of the step, or why it cannot be run. */
function checkStep(
  { host, local, serial }: Running,
  step: PlannedStep,
): Pick<LocalCall, 'call' | 'tool' | 'input'> | { readonly problem: string } {
  let input: Json
  try {
    const { arguments: given = {} } = step
    input = typeof given === 'function' ? given(readOnly({ ...serial })) : given
    input = JSON.parse(JSON.stringify(input)) as Json
  } catch (thrown) {
    return { problem: `its arguments could not be made: ${brief(toRuntimeError(thrown).message)}` }
  }
  const toolCallId = `${local.call.toolCallId}/${step.id}`
  const call: ToolCallBlock = { type: 'tool-call', toolCallId, toolName: step.tool, input }
  const { checked, tool } = host.step(call)
  if (checked.kind === 'invalid') return { problem: checked.text.replace(/^Error: /, '') }
  if (tool === undefined) return { problem: `'${brief(step.tool)}' cannot be a step of a recipe` }
  if (!hasRun(tool)) return { problem: `'${brief(step.tool)}' is a recipe, and recipes do not nest` }
  const isApproved = host.journal.container.pending.approvals.get(local.call.toolCallId)?.status === 'approved'
  const { verdict } = checked
  if (verdict.do === 'ask' && (verdict.eachTime || !isApproved)) {
    const who = verdict.eachTime ? 'each time' : "and nobody approved its recipe: give the recipe approval: 'always'"
    return { problem: `it needs the approval of a person, ${who}. It was not run` }
  }
  return { call, tool, input: checked.input }
}

async function attempt({ host, plan }: Running, { label, phase }: PlannedStep, sub: LocalCall): Promise<ToolOutcome> {
  const { journal, telemetry, executor, failedAttempts } = host
  const { tool, call, input } = sub
  const { workerId, sessionId, kind, run } = journal.turn.assignment
  const { toolCallId, toolName } = call
  const attempt = failedAttempts + 1
  const attributes = { sessionId, workerId, kind, run, tool: toolName, toolCallId, label, phase, attempt }
  const span = telemetry.startSpan('sub_call', attributes)
  const { live } = journal.turn
  live.beginCall(call, { isStored: tool.effect === 'once' })
  // The result of the recipe may be kept aside; what its steps return is only read by it.
  const parts = { ...partsOf(host, call, plan.steps.length), keeps: null }
  const outcome = await executor.run({ tool, input, parts })
  live.endCall(toolCallId)
  span.end({ outcome: outcome.kind })
  noteThrown(host, sub, outcome)
  return outcome
}

async function settle(
  running: Running,
  step: PlannedStep,
  sub: LocalCall,
  outcome: ToolOutcome,
  ms: number,
): Promise<StepEnd> {
  const { failedAttempts } = running.host
  const { tool, call } = sub
  switch (outcome.kind) {
    case 'done':
      return endStep(running, step, tool, 'ok', outcome.output, { facts: outcome.facts, ms })
    case 'failed':
      return endStep(running, step, tool, 'error', outcome.output, { facts: outcome.facts, ms })
    case 'unfinished': {
      const known = tool.effect === 'once' ? await reconcile(running, step, sub) : null
      return known ?? endStep(running, step, tool, 'error', outcome.output, { ms })
    }
    case 'transient': {
      const { error } = outcome
      const retryMs = running.host.retryMs(tool, error)
      if (retryMs !== null) return retryOf(running.host, call, tool, error, retryMs)
      const text = `${error.message} (tried ${failedAttempts + 1} times)`
      return endStep(running, step, tool, 'error', errorOutput(text), { ms })
    }
    case 'fatal': {
      const failure = failureOf(running.host, outcome.error)
      return { kind: 'fails', status: 'error', output: errorOutput(failure.message), failure }
    }
    case 'aborted':
      return stopped
  }
}

/** Finds out how a step ended that was started. Null: it took no effect. */
async function reconcile(running: Running, step: PlannedStep, sub: LocalCall): Promise<StepEnd | null> {
  const { host } = running
  const answer = await askOutcome(host, sub)
  if (answer === null) return stopped
  if ('done' in answer) {
    if (!answer.done) return null
    return endStep(running, step, sub.tool, 'ok', answer.output, { facts: answer.facts })
  }
  const output = errorText(unknownOutcomeText(sub.call.toolName))
  if (host.definition.onUnknown === 'tell') return endStep(running, step, sub.tool, 'unknown', output)
  return { kind: 'fails', status: 'unknown', output, failure: unknownFailure(host, sub.call, answer.why) }
}

/** Records how a step ended. */
function endStep(
  { host, local }: Running,
  { id, tool: toolName }: PlannedStep,
  tool: Tool | undefined,
  status: ToolStatus,
  output: ToolOutput,
  { facts = {}, ms }: { readonly facts?: Facts; readonly ms?: number } = {},
): StepEnd {
  const { journal } = host
  const { toolCallId } = local.call
  const once = tool?.effect === 'once'
  const more = { ...(once && { once }), ...(Object.keys(facts).length > 0 && { facts }) }
  const type = status === 'ok' ? 'tool.succeeded' : status === 'unknown' ? 'tool.unknown' : 'tool.failed'
  const note = { toolCallId: `${toolCallId}/${id}`, toolName, ...(ms === undefined ? {} : { ms }) }
  journal.add(
    [journal.entry('subCall', { toolCallId, id, toolName, status, output, ...more })],
    { notes: [[type, note]] },
    { lazy: tool === undefined || tool.effect === 'pure' },
  )
  return { kind: 'ended', status, output, facts }
}

async function compose(running: Running): Promise<CallsEnd> {
  const { host, local, plan, ends } = running
  const { journal } = host
  const facts: Facts = Object.assign({}, ...[...ends.values()].map((end) => (end.kind === 'ended' ? end.facts : {})))
  const make = plan.compose ?? composeResults
  const { hookMs } = journal.turn.host.policy
  const what = `compose of tool "${local.tool.name}"`
  let thrown: unknown
  const end = await limited({ signal: journal.turn.signal, timeoutMs: hookMs, what }, async (_signal, started) => {
    started()
    try {
      return { value: await runUserPart(what, () => make(readOnly(partsOfEnds(running)))) }
    } catch (error) {
      thrown = error
      return null
    }
  })
  if (end.kind === 'aborted' || !mayRecord(journal.turn)) return done
  if (end.kind === 'timedOut')
    return evaluationFailed(host, local, new Error(`${what} did not end within ${hookMs} ms`))
  if (end.value === null) return evaluationFailed(host, local, thrown)
  const { output, whole } = redactData(outputOf(local.tool, partsOf(host, local.call), end.value.value))
  const kept = whole === undefined ? { output } : await keepLong(journal, local.call, { output, whole, facts })
  if (!mayRecord(journal.turn)) return done
  // It returned something without a JSON form.
  if (output.type === 'error-text') recordResult(journal, local, 'error', output, 'tool.failed', { facts })
  else recordResult(journal, local, 'ok', kept.output, 'tool.succeeded', { ...kept, facts })
  return done
}

function partsOfEnds({ plan, ends }: Running): RecipeParts {
  const serialResults: RecipeResult[] = []
  const parallelResults: RecipeResult[] = []
  const errors: RecipeError[] = []
  for (const step of plan.steps) {
    const end = ends.get(step)
    if (end?.kind !== 'ended') continue
    const { label, tool, phase } = step
    const value = plainOutputOf(end.output)
    if (end.status !== 'ok') errors.push({ label, tool, error: problemIn(end.output) })
    else (phase === 'serial' ? serialResults : parallelResults).push({ label, tool, output: structuredClone(value) })
  }
  return { serialResults, parallelResults, errors }
}

function problemIn({ value }: ToolOutput): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).replace(/^Error: /, '')
}

function evaluationFailed(host: CallsHost, local: LocalCall, thrown: unknown): CallsEnd {
  const output = errorText(`Recipe evaluation error: ${brief(toRuntimeError(thrown).message)}`)
  noteThrown(host, local, { kind: 'failed', output, facts: {}, thrown })
  recordResult(host.journal, local, 'error', output, 'tool.failed', { thrown })
  return done
}

function unknownResult(host: CallsHost, local: LocalCall, why: string): CallsEnd {
  const output = errorText(unknownOutcomeText(local.call.toolName))
  const failure = host.definition.onUnknown === 'tell' ? undefined : unknownFailure(host, local.call, why)
  recordResult(host.journal, local, 'unknown', output, 'tool.unknown', failure && { failure })
  return done
}

function errorText(value: string): ToolOutput {
  return { type: 'error-text', value }
}
