/**
 * Duty: one model call and what its reply means: an answer, tool calls, nothing, or a failure.
 * T1 The call is made when the reply and the effects it follows from are acknowledged, and while the lease is trusted. The result of a
 *    pure tool may still be on its way: after a crash that tool runs again.
 * T2 The reply is recorded as it came, with all its calls, before anything of it runs; invalid calls are answered with it.
 */

import type { ModelReply } from '../../core/definition/model.ts'
import { LimitError, TerminalError, toRuntimeError } from '../../core/errors.ts'
import type { EventNote } from '../../core/event/event.ts'
import type { ToolCallBlock } from '../../core/history/chat-message.ts'
import type { AgentResult } from '../../core/history/entry.ts'
import { toJson } from '../../core/json.ts'
import { cutOffText } from '../tool/messages.ts'
import { mayCall } from '../turn/permit.ts'
import { afterRun, completedNote, endingOf } from '../turn/run-ending.ts'
import { askModel } from './ask-model.ts'
import { type CheckedCall, type Iteration, runStages } from './iteration.ts'
import type { EntryFacts, StepParts } from './journal.ts'
import { withOwnCallIds } from './reply.ts'
import { advanceToReply, advanceToRequest } from './run-states.ts'
import type { Scene, Wait } from './scene.ts'

/** Null to go on with what is recorded. */
export async function think(scene: Scene): Promise<Wait | null> {
  const { journal, kind, turn } = scene
  const { container, machine, position } = journal
  advanceToRequest(machine)
  const ownLimit = overOwnLimit(scene)
  if (ownLimit !== null) return overBudget(scene, ownLimit)
  advanceToReply(machine)
  if (!turn.isSettled) await turn.settled()
  if (!mayCall(turn)) return null
  // The last commit's answer tells what the others have used.
  const limit = overLimitOfSession(scene)
  if (limit !== null) return overBudget(scene, limit)
  const { iterations, blanks } = container.run
  const number = iterations + 1
  try {
    const folder = scene.folder()
    container.agentPrompt = kind.tools.instructions(turn, folder && (await folder))
  } catch (thrown) {
    return cannotAsk(scene, thrown)
  }
  if (!mayCall(turn)) return null
  let reply: ModelReply
  try {
    const request = {
      instructions: container.agentPrompt,
      messages: container.history.prompt(),
      tools: kind.tools.specs(turn),
      idempotencyKey: `${turn.grant.workerId}/${position.run}/${number}${blanks > 0 ? `.${blanks}` : ''}`,
    }
    reply = withOwnCallIds(await askModel(turn, kind.model, request, number), container.history, position.run, number)
  } catch (thrown) {
    return scene.isOver ? null : modelFailed(scene, thrown)
  }
  if (scene.isOver) return null
  machine.apply('replyReceived')
  return replied(scene, reply)
}

/** The stages of an iteration that need no doing; the same for a reply that was recorded in an earlier turn. */
export function iterate(
  { journal, kind, turn, who }: Scene,
  reply: Pick<ModelReply, 'content'> & Partial<ModelReply>,
  number: number,
): Iteration {
  const most = kind.definition.limits?.iterations ?? turn.host.policy.iterations
  const check = (call: ToolCallBlock): CheckedCall =>
    isCutOff(reply, call)
      ? { kind: 'invalid', call, text: cutOffText(call.toolName) }
      : kind.tools.check(call, journal.turn.grant)
  return runStages(reply, number, most, { who, check })
}

/** No argument may be all that was left of them: a tool would take that for "all of it". */
function isCutOff({ content, finishReason }: Partial<ModelReply>, call: ToolCallBlock): boolean {
  if (finishReason !== 'length' || content?.at(-1) !== call) return false
  const { input, inputText } = call
  return inputText !== undefined || (typeof input === 'object' && input !== null && Object.keys(input).length === 0)
}

function replied(scene: Scene, reply: ModelReply): Wait | null {
  const { journal, end } = scene
  const { container, machine } = journal
  const iteration = iterate(scene, reply, container.run.iterations + 1)
  scene.iteration = iteration
  journal.countUsage(reply.usage, iteration.decision === 'blank')
  if (iteration.decision === 'blank') return blank(scene, reply)
  const { inputTokens, outputTokens } = reply.usage
  const { model, finishReason } = reply
  // What was cut off, or filtered, is an answer like any other: who reads it must be able to see that.
  const odd = finishReason === 'stop' || finishReason === 'tool-calls' ? {} : { finishReason }
  const note = { model, iteration: iteration.number, calls: iteration.calls.length, inputTokens, outputTokens, ...odd }
  const parts: StepParts = {
    notes: [['model.replied', note]],
    ...noFailure(scene),
  }
  const entry: EntryFacts = { type: 'assistant', id: journal.nextId(), ...reply }
  if (iteration.decision === 'done') answer(scene, reply, entry, parts)
  else if (iteration.error) {
    machine.apply('limitReached')
    end.fail(iteration.error, 'runtime', 1, { entries: [entry], parts, notRun: iteration.calls })
  } else {
    const invalid = iteration.checked.flatMap((call) => (call.kind === 'invalid' ? [call] : []))
    machine.apply(invalid.length === iteration.checked.length ? 'callsInvalid' : 'callsAccepted')
    const results = invalid.map((call, index) => invalidResult(call, journal.nextId(index + 1)))
    journal.add([entry, ...results], parts)
  }
  return null
}

export function invalidResult({ call, text }: CheckedCall & { kind: 'invalid' }, id: string): EntryFacts {
  const { toolCallId, toolName } = call
  return { type: 'toolResult', id, toolCallId, toolName, status: 'error', output: { type: 'error-text', value: text } }
}

function answer(scene: Scene, reply: ModelReply, entry: EntryFacts, parts: StepParts): void {
  const { journal, end, turn } = scene
  const { container, machine, position } = journal
  const text = reply.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
  const { facts } = container.run
  const value: AgentResult = { text, ...(Object.keys(facts).length > 0 && { facts }) }
  let valueJson: string
  try {
    valueJson = toJson(value, `the result of ${scene.who}`)
  } catch (thrown) {
    machine.apply('limitReached')
    end.fail(toRuntimeError(thrown), 'runtime', 1, { entries: [entry], parts })
    return
  }
  machine.apply('answered')
  journal.add(
    [entry, { type: 'completed', value }],
    {
      ...parts,
      ...endingOf(turn.grant, position.run, { status: 'completed', valueJson }),
      awaiting: position.awaits.length,
      position: afterRun(position.run),
      notes: [...(parts.notes ?? []), completedNote(turn.grant, position.run, valueJson)],
    },
    { lazy: true },
  )
}

function blank(scene: Scene, reply: ModelReply): null {
  const { journal, end, kind, turn } = scene
  const { model, finishReason, usage } = reply
  const entries: EntryFacts[] = [{ type: 'blank', model, finishReason, usage }]
  const blanks = journal.container.run.blanks + 1
  if (blanks >= turn.host.policy.blankStops) {
    const error = new TerminalError(
      `model ${model} gave ${blanks} blank replies in a row to ${scene.who}, the last one with finish reason "${finishReason}".`,
      { code: 'model_blank' },
    )
    journal.machine.apply('limitReached')
    end.fail(error, 'model', blanks, { entries })
    return null
  }
  journal.machine.apply('blankReply')
  const { nudge } = kind.definition
  if (nudge !== undefined) {
    entries.push({ type: 'user', id: journal.nextId(1), content: [{ type: 'text', text: nudge }] })
  }
  const note: EventNote = ['model.blanked', { model, blanks, finishReason }]
  journal.add(entries, { notes: [note], ...noFailure(scene) })
  return null
}

/** The model has replied: what an earlier try left in the record is over. */
function noFailure({ journal }: Scene): StepParts {
  return { failure: journal.position.attempt > 0 ? null : undefined, position: { attempt: 0, retrying: '' } }
}

/** What has been used up, in words; null when a further model call may be made. */
function overOwnLimit({ journal, kind, who }: Scene): string | null {
  const limit = kind.definition.limits?.tokens
  const { tokens } = journal.container.run
  if (limit === undefined || tokens < limit) return null
  return `${who} has used ${tokens} tokens in this run and may use ${limit}: no further model call was made. Raise limits.tokens.`
}

function overLimitOfSession({ journal, turn, who }: Scene): string | null {
  const { sessionSpent: spent } = journal
  const { allowed } = turn.spending
  const name = spent.modelCalls >= allowed.modelCalls ? 'modelCalls' : spent.tokens >= allowed.tokens ? 'tokens' : null
  if (name === null) return null
  const { sessionId, isJob } = turn.grant
  const of = name === 'tokens' ? 'tokens' : 'model calls'
  // The session of a job ends with its root, and nothing would be left to go on.
  const raise = isJob ? '' : `, or raise it for this one: troupe session limit ${sessionId} ${name}=${2 * spent[name]}`
  return `session ${sessionId} has used ${spent[name]} of the ${allowed[name]} ${of} that all its agents have together: ${who} made no further model call. Create sessions with a higher limits.${name}${raise}`
}

function overBudget({ journal, end }: Scene, what: string): null {
  journal.machine.apply('limitReached')
  end.fail(new LimitError('budget_exceeded', what), 'runtime', 1)
  return null
}

/** Its instructions or its folder cannot be had: no try will mend that. */
function cannotAsk({ journal, end }: Scene, thrown: unknown): null {
  journal.machine.apply('replyRefused')
  end.fail(toRuntimeError(thrown), 'runtime', 1)
  return null
}

function modelFailed({ journal, end, retries }: Scene, thrown: unknown): Wait | null {
  const error = toRuntimeError(thrown)
  const wait = retries.tryAgain(error, 'model')
  if (wait) return wait
  journal.machine.apply(error.retryable ? 'retriesExceeded' : 'replyRefused')
  end.fail(error, 'model', retries.failed('model') + 1)
  return null
}
