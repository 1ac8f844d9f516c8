/**
 * Duty: call a function of a kind that looks into the loop of its agent, and answer how it ended.
 * HOOK-1 It never throws. It answers when the time of the function is over at the latest, even if that ignores its signal.
 * HOOK-2 What the function threw, or that it took too long, is logged once, with the place in its code.
 * HOOK-3 What a function returns after the turn was stopped counts for nothing: the answer is `over`.
 */
import { thrownFields } from '../../../core/code-place.ts'
import type { HookSelf } from '../../../core/definition/agent/iteration-context.ts'
import { type RuntimeError, TimeoutError, toRuntimeError } from '../../../core/errors.ts'
import { limited } from '../../tool/limited.ts'
import { mayRecord } from '../../turn/permit.ts'
import { watchLoop } from '../../user-code/event-loop.ts'
import { runUserPart } from '../../user-code/user-code.ts'
import type { AgentTurn } from '../agent-turn.ts'

export type HookEnd<Value> =
  | { readonly kind: 'returned'; readonly value: Value }
  | { readonly kind: 'failed'; readonly error: RuntimeError }
  | { readonly kind: 'over' }

type Ended<Value> =
  | { readonly kind: 'returned'; readonly value: Value }
  | { readonly kind: 'threw'; readonly thrown: unknown }

/** `name`: of the field of the kind. `then`: what follows from a failure, for its log line. `run`: if it is not the one in progress. */
export async function runHook<Value>(
  agentTurn: AgentTurn,
  name: string,
  then: string,
  hook: (self: HookSelf) => Value | Promise<Value>,
  run: number = agentTurn.journal.position.run,
): Promise<HookEnd<Value>> {
  const { turn } = agentTurn
  const { hookMs, renewEveryMs } = turn.host.policy
  const log = turn.host.workerLog(turn.assignment, run)
  const { workerId: id, name: worker, kind, sessionId, parentId, depth } = turn.assignment
  const what = `${name} of ${kind}`
  const end = await limited(
    { signal: turn.signal, timeoutMs: hookMs, what },
    async (signal, started): Promise<Ended<Value>> => {
      started()
      const self = { id, name: worker, kind, sessionId, parentId, depth, run, signal, log }
      try {
        const value = await runUserPart(name, () => watchLoop(() => hook(self), what, renewEveryMs, log))
        return { kind: 'returned', value }
      } catch (thrown) {
        return { kind: 'threw', thrown }
      }
    },
  )
  if (end.kind === 'aborted' || !mayRecord(turn)) return { kind: 'over' }
  const ended = end.kind === 'ended' ? end.value : { kind: 'threw' as const, thrown: tooLate(what, hookMs) }
  if (ended.kind === 'returned') return ended
  const { thrown } = ended
  const error = toRuntimeError(thrown)
  log.error(`${what} failed; ${then}`, { error: error.message, ...thrownFields(thrown) })
  return { kind: 'failed', error }
}

function tooLate(what: string, ms: number): TimeoutError {
  return new TimeoutError(`${what} did not finish within ${ms} ms.`)
}
