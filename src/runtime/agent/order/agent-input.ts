/**
 * Duty: read an input of an agent: does it fit the kind, and what does the history hold of it?
 */
import type { AgentDefinition } from '../../../core/definition/define-worker.ts'
import { fitInput } from '../../../core/definition/kind-types.ts'
import { InputError, type RuntimeError } from '../../../core/errors.ts'
import type { Entry } from '../../../core/history/entry.ts'
import { contentProblem } from '../../../core/history/foreign-format.ts'
import { toJson } from '../../../core/json.ts'
import type { Mail } from '../../../core/worker/message/message.ts'
import type { AgentTurn } from '../agent-turn.ts'
import type { Journal } from '../journal.ts'
import { userMessage } from './user-message.ts'

/** The input as the schema of the kind returns it, or why it does not fit. */
export type ReadInput =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: RuntimeError }

/**
 * The history holds the input as the schema returned it, with defaults and changes, so that everybody sees the same input ever after. `ahead`: how many
 * entries come before it in the same step. `context`: what goes with it and nobody said.
 */
export function entryOf({ message }: Mail, journal: Journal, input: ReadInput, ahead = 0, context?: string): Entry {
  if (message.kind !== 'input') return journal.entry('received', { message })
  const id = journal.nextId(ahead)
  return journal.entry('user', userMessage(id, input.ok ? { ...message, value: input.value } : message, context))
}

export function readInput({ turn, kind }: AgentTurn, { message, malformed }: Mail): ReadInput {
  const { assignment } = turn
  if (malformed !== undefined) {
    const who = `message ${message.id} of worker ${assignment.workerId}`
    return { ok: false, problem: new InputError(`${who} cannot be read: ${malformed}`) }
  }
  return readValue(kind.definition, assignment.kind, message.kind === 'input' ? message.value : null)
}

export function readValue(definition: AgentDefinition, kind: string, value: unknown): ReadInput {
  const fit = fitInput(definition, kind, value)
  if (definition.input !== undefined) return fit.ok ? asJson(fit.value, kind) : fit
  const problem = blocksProblem(value, kind)
  return problem === null ? fit : { ok: false, problem }
}

/** A schema may return what JSON cannot hold, or make a small input large. */
function asJson(value: unknown, kind: string): ReadInput {
  try {
    return { ok: true, value: JSON.parse(toJson(value, `the input of ${kind}, as its schema returns it,`)) as unknown }
  } catch (thrown) {
    const { message } = thrown as Error
    return { ok: false, problem: new InputError(message, { cause: thrown }) }
  }
}

/**
 * Without a schema an input may be any JSON. Refused are an empty text, and blocks that are nearly right: these would reach the model as JSON text, which
 * nobody means.
 */
function blocksProblem(value: unknown, kind: string): InputError | null {
  if (typeof value === 'string' && value.trim() === '')
    return new InputError(`the input of ${kind} is an empty text: write what it is to do.`)
  const problem = contentProblem(value)
  return problem === null ? null : new InputError(`the input of ${kind} is no list of content blocks: ${problem}`)
}
