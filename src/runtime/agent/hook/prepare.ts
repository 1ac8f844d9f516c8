/**
 * Duty: what a kind does before its model is asked in a run: its hook `spawn`, once for a worker, and its processors, one after the other.
 * Does not own: the order of steps (agent.ts), taking answers (call/person/asked-calls.ts).
 * PREPARE-1 Each of them is a step of its own, which is recorded before the model is asked. A turn that takes the run over goes on behind the last one.
 * PREPARE-2 A processor that fails ends the run, or the attempt if the failure may pass: an input that nobody has looked at reaches no model.
 * PREPARE-3 A processor that waits for somebody holds no slot. It is called again, with the answer.
 */
import { isObject } from '../../../core/check/is-object.ts'
import { preview } from '../../../core/check/preview.ts'
import { type Processed, type Processor, processorsOf } from '../../../core/definition/agent/processors.ts'
import { InputError, type RuntimeError, TerminalError, TransientError } from '../../../core/errors.ts'
import type { UserBlock } from '../../../core/history/chat/chat-message.ts'
import type { Entry, EntryParts } from '../../../core/history/entry.ts'
import { askId } from '../../../core/ids.ts'
import { toJson } from '../../../core/json.ts'
import { policy } from '../../../core/policy.ts'
import type { AskOrder } from '../../../core/ports/ports.ts'
import { readOnly } from '../../../core/read-only.ts'
import { encodeAnswer, encodeAskBody } from '../../../core/worker/ask/ask.ts'
import { forSignal } from '../../../core/worker/wait.ts'
import type { AgentTurn, Pause } from '../agent-turn.ts'
import { takeAnswers } from '../call/person/asked-calls.ts'
import { blocksOf } from '../order/user-message.ts'
import { modelFailed } from '../reply/model-failed.ts'
import { advanceToReply, advanceToRequest } from '../run-states.ts'
import { hookText, textEntry } from './hook-text.ts'
import { runHook } from './run-hook.ts'

/** True if a hook or a processor has its turn before the model. */
export function needsPreparing({ kind, journal }: AgentTurn): boolean {
  const { hooks } = kind.definition
  if (hooks === undefined) return false
  const { run, isSpawnHooked } = journal.container
  if (run.inputText === undefined || run.iterations > 0) return false
  return (hooks.spawn !== undefined && !isSpawnHooked) || run.processed < processorsOf(hooks.prompt).length
}

/** Calls the next hook or processor. Returns null when the turn goes on. */
export async function prepare(agentTurn: AgentTurn): Promise<Pause | null> {
  const { kind, journal } = agentTurn
  const { container } = journal
  const { hooks } = kind.definition
  if (hooks?.spawn !== undefined && !container.isSpawnHooked) return spawned(agentTurn)
  if (container.run.openAsk !== null && container.run.answer === null) {
    if (!takeAnswers(agentTurn)) return null
    if (container.run.answer === null) return { for: forSignal }
  }
  const index = container.run.processed
  const processor = processorsOf(hooks?.prompt)[index]
  return processor === undefined ? null : processed(agentTurn, processor, index)
}

async function spawned(agentTurn: AgentTurn): Promise<null> {
  const { kind, journal } = agentTurn
  const { hooks } = kind.definition
  const input = readOnly(structuredClone(journal.container.input))
  const end = await runHook(agentTurn, 'hooks.spawn', 'the model gets no text of it', (self) =>
    hooks?.spawn?.(input, self),
  )
  if (end.kind === 'over') return null
  const text = end.kind === 'returned' ? hookText(journal, 'hooks.spawn', end.value) : null
  record(agentTurn, { hook: 'spawn', did: text === null ? 'continue' : 'context' }, text)
  return null
}

async function processed(agentTurn: AgentTurn, processor: Processor, index: number): Promise<Pause | null> {
  const { journal, who } = agentTurn
  const { answer } = journal.container.run
  const by = processor.name === '' ? `prompt[${index}]` : processor.name
  const what = `processor ${by}`
  const input = readOnly(structuredClone(journal.container.input))
  const given = answer && { status: answer.status, value: answer.value, by: answer.by, reason: answer.reason }
  const startedAt = performance.now()
  const end = await runHook(agentTurn, what, 'its input does not reach the model', (self) =>
    processor(input, { ...self, answer: readOnly(structuredClone(given)) }),
  )
  if (end.kind === 'over') return null
  if (end.kind === 'failed') return failed(agentTurn, by, end.error)
  const head = { hook: 'prompt', by, ms: Math.round(performance.now() - startedAt) } as const
  const verdict = end.value ?? { do: 'continue' as const }
  try {
    return obey(agentTurn, index, head, verdict)
  } catch (thrown) {
    return failed(agentTurn, by, new TerminalError(`${(thrown as Error).message} (${who})`))
  }
}

/** Throws for an answer of a wrong form. */
function obey(
  agentTurn: AgentTurn,
  index: number,
  head: Pick<EntryParts<'hooked'>, 'hook'> & { readonly by: string; readonly ms: number },
  verdict: Extract<Processed, { readonly do: string }>,
): Pause | null {
  const { journal } = agentTurn
  const { do: did } = isObject(verdict) ? verdict : { do: undefined }
  switch (verdict.do) {
    case 'continue':
    case 'transform': {
      const text = hookText(journal, `processor ${head.by}`, verdict.context)
      const content = verdict.do === 'transform' ? contentOf(verdict.input) : undefined
      record(agentTurn, { ...head, did: verdict.do, ...(content && { content }) }, text)
      return null
    }
    case 'abort':
      return abort(agentTurn, { ...head, did: 'abort' }, verdict.reason)
    case 'suspend':
      return suspend(agentTurn, index, { ...head, did: 'suspend' }, verdict)
    default:
      throw new InputError(
        `it answered ${preview(did === undefined ? verdict : did)}, not continue, transform, abort or suspend`,
      )
  }
}

/** Records a step, and the text that the model gets with it. */
function record({ journal }: AgentTurn, parts: EntryParts<'hooked'>, text: string | null): void {
  const hooked = journal.entry('hooked', parts)
  journal.add(text === null ? [hooked] : [hooked, textEntry(journal, text, 1)])
}

function contentOf(input: unknown): readonly UserBlock[] {
  return blocksOf(JSON.parse(toJson(input, 'the input')) as unknown)
}

function abort({ journal, end, who }: AgentTurn, parts: EntryParts<'hooked'>, reason: unknown): null {
  if (typeof reason !== 'string') throw new InputError(`its reason is ${preview(reason)}, which is no text`)
  advanceToRequest(journal.machine)
  journal.machine.apply('limitReached')
  const error = new TerminalError(`the input of ${who} was refused by processor ${parts.by}: ${reason}`, {
    code: 'input_refused',
  })
  end.fail(error, 'runtime', 1, {
    entries: [journal.entry('hooked', { ...parts, reason: reason.slice(0, policy.reasonBytesMax) })],
  })
  return null
}

function suspend(
  { journal, turn }: AgentTurn,
  index: number,
  parts: EntryParts<'hooked'>,
  { question, options, expiresMs }: Extract<Processed, { readonly do: 'suspend' }>,
): Pause {
  const { questionBytesMax, timerMsMax } = policy
  if (typeof question !== 'string' || question.trim() === '' || Buffer.byteLength(question) > questionBytesMax)
    throw new InputError(`its question must be a text of 1 to ${questionBytesMax} bytes`)
  if (options !== undefined && !(Array.isArray(options) && options.every((option) => typeof option === 'string')))
    throw new InputError(`its options must be texts, not ${preview(options)}`)
  if (expiresMs !== undefined && !(Number.isInteger(expiresMs) && expiresMs >= 1 && expiresMs <= timerMsMax))
    throw new InputError(`its expiresMs must be a whole number from 1 to ${timerMsMax}, not ${preview(expiresMs)}`)
  const { run, asks } = { run: journal.position.run, asks: journal.container.run.suspensions }
  const id = askId(turn.assignment.workerId, run, `prompt:${index}`, asks + 1)
  const answer = encodeAnswer('null', { status: 'expired', by: null, reason: null })
  const order: AskOrder = {
    id,
    sort: 'question',
    body: encodeAskBody({ question, ...(options && { options }) }),
    ...(expiresMs !== undefined && { expiry: { ms: expiresMs, answer } }),
  }
  const note = { id, sort: 'question', question, ...(expiresMs !== undefined && { expiresMs }) } as const
  const entries: Entry[] = [
    journal.entry('hooked', { ...parts, ask: id }),
    journal.entry('asked', { toolCallId: `prompt_${index}`, asks: [note] }),
  ]
  journal.add(entries, {
    asks: [order],
    position: { signalsOpen: journal.position.signalsOpen + 1 },
    notes: [['ask.opened', note]],
  })
  return { for: forSignal }
}

/** PREPARE-2: the run goes on as if the model call that follows had failed. */
function failed(agentTurn: AgentTurn, by: string, cause: RuntimeError): Pause | null {
  const { journal, who } = agentTurn
  const message = `processor ${by} of ${who} failed: ${cause.message}`
  advanceToRequest(journal.machine)
  advanceToReply(journal.machine)
  return modelFailed(
    agentTurn,
    cause.retryable ? new TransientError(message, { cause }) : new TerminalError(message, { cause }),
  )
}
