/**
 * Duty: what the newest reply asked for and is not answered yet: children, messages, tools; until each call has its result. And what
 * ends a run for its results: a failure that one holds, the same errors again and again.
 * It begins the same in the turn that recorded the reply and in one that takes over after a crash.
 */
import { TerminalError, toRuntimeError } from '../../../core/errors.ts'
import type { Pause, Scene } from '../scene.ts'
import { invalidResult, iterate } from '../think.ts'
import { DelegatedCalls } from './delegated-calls.ts'
import { type CallsEnd, runLocalCalls } from './local-calls.ts'

/** Null to go on with what is recorded. */
export async function act(scene: Scene): Promise<Pause | null> {
  const { journal, kind, inbox, retries } = scene
  const { container, machine } = journal
  if (machine.state === 'TransientFailure') machine.apply('toolRetried')
  const { pending } = container
  // What became children waits for them, whatever their kind may spawn by now (W1 of delegated-calls.ts).
  const open = new Set(pending.calls.map(({ toolCallId }) => toolCallId).filter((id) => !pending.delegated.has(id)))
  // Of a reply that is recorded the number was judged then: 0 is within any limit.
  const { checked } = scene.iteration ?? iterate(scene, container.lastReply ?? { content: [] }, 0)
  scene.iteration = null
  const calls = checked.filter(({ call }) => open.has(call.toolCallId))
  const delegated = new DelegatedCalls(journal, async () => scene.folder())
  for (const one of calls) {
    // Its effect has the say, and not its arguments (L2 of local-calls.ts).
    if (pending.started.has(one.call.toolCallId)) continue
    // Accepted when it was recorded, and no longer: the kind has changed since.
    if (one.kind === 'invalid') journal.add([invalidResult(one, journal.nextId())])
    else if (kind.tools.isDelegation(one.call.toolName)) await delegated.begin(one.call, one.input)
    if (scene.isOver) return null
  }
  const ended = await runLocal(scene, kind.tools.locals(calls, pending.started))
  if (scene.isOver) return null
  if (ended === null || container.run.failure) return null
  if (ended.kind === 'retry') return retries.tryAgain(ended.error, 'tool', ended.toolCallIds)
  return delegated.gather(inbox)
}

/** Null when the run has failed. */
async function runLocal(scene: Scene, calls: Parameters<typeof runLocalCalls>[1]): Promise<CallsEnd | null> {
  if (calls.length === 0) return { kind: 'done' }
  const { journal, parts, kind, retries } = scene
  try {
    const folder = scene.folder()
    return await runLocalCalls(
      {
        journal,
        executor: parts.executor,
        definition: kind.definition,
        folder: folder && (await folder),
        attempt: retries.failed('tool'),
        tries: retries.most,
      },
      calls,
    )
  } catch (thrown) {
    // Its folder cannot be had.
    journal.machine.apply('toolRefused')
    scene.end.fail(toRuntimeError(thrown), 'runtime', 1)
    return null
  }
}

/** Fails the run when a call's result says so; true when it did. */
export function failAsRecorded({ journal, end }: Scene): boolean {
  const { failure } = journal.container.run
  if (failure === null) return false
  journal.machine.apply('toolRefused')
  end.failWith(failure)
  return true
}

/** Ends the run when the last iterations all ended with the same errors; true when it did. */
export function breakCircuit(scene: Scene): boolean {
  const { journal, end, turn } = scene
  const { sameErrors, errors } = journal.container.run
  if (sameErrors < turn.host.policy.sameErrors) return false
  if (journal.machine.state === 'ExecutingTools') journal.machine.apply('toolsFinished')
  journal.machine.apply('circuitOpened')
  const error = new TerminalError(
    `${scene.who} met the same tool errors in ${sameErrors} iterations in a row, and was ended before it spent more: ${errors.replaceAll('\n', '; ')}`,
    { code: 'circuit_open' },
  )
  end.fail(error, 'tool', 1)
  return true
}
