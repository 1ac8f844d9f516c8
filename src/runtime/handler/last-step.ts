/**
 * Duty: the last step of a cancelled run whose kind has `onCancel`: call it, and add to the end of the run what it asked for.
 * Owns: when it is called in a turn, its time limit, and what becomes of its failure. Does not own: the end itself, and its commit.
 * LAST-STEP-1 `onCancel` begins when the code of the run has returned, or after `onCancelMs` if that goes on in spite of its signal.
 * LAST-STEP-2 What it asked for is recorded by the commit that ends the run, or not at all. Until that commit, a turn of another node may
 *             call it again, under the same key. After it nobody calls it.
 * LAST-STEP-3 Whatever it does, the run ends as cancelled. An error that it throws, its time limit and a message that is refused are
 *             recorded with the end; then nothing of what it asked for is done.
 * LAST-STEP-4 If it has ended as many nodes as make a message poison, it is not called again. Its failure says so.
 */
import { thrownFields } from '../../core/code-place.ts'
import type { HandlerDefinition } from '../../core/definition/define-worker.ts'
import { LeaseLostError, type RuntimeError, TerminalError, TimeoutError, toRuntimeError } from '../../core/errors.ts'
import type { CancelledEntry } from '../../core/history/entry.ts'
import { policy } from '../../core/policy.ts'
import type { RunPosition } from '../../core/ports/ports.ts'
import { type Failure, toFailure } from '../../core/worker/run/failure.ts'
import type { Step } from '../turn/step/step.ts'
import type { Turn } from '../turn/turn.ts'
import { watchLoop } from '../user-code/event-loop.ts'
import { runUserCode } from '../user-code/user-code.ts'
import { HandlerSelf } from './handler-self.ts'
import { HandlerState } from './handler-state.ts'
import { HandlerSteps } from './handler-steps.ts'

/** A run that was cancelled, and whose kind has `onCancel`. */
export interface CancelledRun {
  readonly turn: Turn
  /** The position of the run by its record, and the state of the handler there. */
  readonly position: RunPosition
  readonly stateJson: string | null
  /** What the definition of a handler says of its state; nothing for an agent. */
  readonly definition: Pick<HandlerDefinition, 'state' | 'initial'>
  readonly isAgent: boolean
  readonly onCancel: (self: never, reason: string) => unknown
  readonly onCancelMs: number | undefined
  /** Code of the run that may still be working. Never rejects. */
  readonly working: Promise<unknown> | undefined
}

/** What the entry of the cancel says of `onCancel`. */
type Said = NonNullable<CancelledEntry['onCancel']>

const notForHandlers: ReadonlySet<string> = new Set(['spawn', 'reply', 'fail', 'after', 'ask', 'step'])
const notForAgents: ReadonlySet<string> = new Set([...notForHandlers, 'setState'])

/** Calls `onCancel`, and makes the step that ends the run. `end` makes it without what `onCancel` asked for. */
export async function lastStep(run: CancelledRun, end: (said: Said) => Step): Promise<Step> {
  const { turn, position, working, onCancelMs = policy.onCancelMs } = run
  const reason = await turn.host.store.cancelReason(turn.assignment)
  const failed = (thrown: unknown): Step => {
    const failure = failureOf(run, thrown)
    const step = end({ reason, failure })
    const warning = `onCancel failed: ${failure.message}`
    return { ...step, notes: [...step.notes, ['run.warned', { run: position.run, warning }]] }
  }
  const most = turn.host.policy.suspectAfterStarts + turn.host.policy.poisonAfterIsolatedStarts
  if (turn.assignment.starts > most) return failed(poisonOf(run, most))
  await within(onCancelMs, working)
  const stop = new AbortController()
  const self = selfOf(run, stop.signal)
  const late = new TimeoutError(`onCancel of ${turn.assignment.kind} took longer than ${onCancelMs} ms.`)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    stop.abort(late)
  }, onCancelMs)
  // If the turn loses its lease, `onCancel` is stopped. Once its end is recorded nobody listens any more.
  void turn.finished.then((over) => over !== 'ended' && stop.abort(new LeaseLostError(`the turn is over (${over}).`)))
  try {
    await Promise.race([call(run, self, reason), aborted(stop.signal)])
    self.close()
    const { sends, stateJson } = self.requests
    const step = end({ reason, ...(sends.length > 0 && { sent: sends.map(({ workerId }) => workerId) }) })
    return { ...step, sends, ...(stateJson !== undefined && { stateJson }), ifRefused: failed }
  } catch (thrown) {
    self.close({ isLate })
    return failed(thrown)
  } finally {
    clearTimeout(timer)
  }
}

async function call({ turn, onCancel }: CancelledRun, self: HandlerSelf, reason: string): Promise<void> {
  const code = () => onCancel(self as never, reason)
  await runUserCode(turn.assignment, 'onCancel', () =>
    watchLoop(code, 'onCancel', turn.host.policy.renewEveryMs, self.log),
  )
}

function selfOf({ turn, position, stateJson, definition, isAgent }: CancelledRun, signal: AbortSignal): HandlerSelf {
  const { assignment, host } = turn
  const stateBefore = isAgent ? null : stateJson
  const state = new HandlerState({ ...assignment, stateJson: stateBefore }, definition)
  const log = host.workerLog(assignment, position.run)
  const who = `worker ${assignment.name} (${assignment.workerId}) of session ${assignment.sessionId}`
  return new HandlerSelf({
    assignment,
    run: position.run,
    attempt: 1,
    calls: position.calls,
    openChildren: position.pendingCalls.length,
    signalsOpen: position.signalsOpen,
    readState: (json) => state.read(json ?? stateBefore),
    definition,
    limits: assignment.limits,
    spending: turn.session.spending.allowed,
    signal: () => signal,
    log,
    message: { id: 'cancel' },
    blobs: host.blobs,
    steps: new HandlerSteps(turn),
    refused: isAgent ? notForAgents : notForHandlers,
    onLateCall: ({ message, stack }) => log.error(`${who}: ${message}`, { stack }),
    poolOf: (kind) => host.poolOf(kind),
  })
}

function failureOf({ turn, position }: CancelledRun, thrown: unknown): Failure {
  const { assignment, host } = turn
  const error = toRuntimeError(thrown)
  const failure = toFailure(error, 'handler', 1, Date.now())
  if (turn.over !== undefined) return failure
  const what = 'onCancel failed; the run ends as cancelled, and nothing that onCancel asked for is done'
  host.workerLog(assignment, position.run).error(what, { error: failure.message, ...thrownFields(thrown) })
  return failure
}

function poisonOf({ turn }: CancelledRun, most: number): RuntimeError {
  const { name, workerId, lastWords } = turn.assignment
  const words = lastWords === null ? '' : `: ${lastWords}`
  const what = `onCancel of worker ${name} (${workerId}) was not called again: its worker was started ${most} times and recorded nothing${words}.`
  return new TerminalError(what, { code: 'poison' })
}

function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  return promise
}

async function within(ms: number, working: Promise<unknown> | undefined): Promise<void> {
  if (working === undefined) return
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([working, late])
  clearTimeout(timer)
}
