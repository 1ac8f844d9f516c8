/**
 * Duty: what a kind's `output` means for its model and its replies: how the model is told of it, and which value a text holds.
 * Does not own: what follows from a reply that does not fit (answer.ts).
 * AGENT-OUTPUT-1 Whatever ends a run, its value fits the schema: a text, or the arguments of a terminal tool.
 */
import type { z } from 'zod'
import { onlyFenceIn, withoutFence, withoutInlineFence } from '../../../core/check/fence.ts'
import { type Fit, fitTo } from '../../../core/check/schema-problems.ts'
import type { AgentDefinition } from '../../../core/definition/define-worker.ts'
import { ConfigError } from '../../../core/errors.ts'
import { parseExactJson } from '../../../core/exact-json.ts'
import type { Json } from '../../../core/history/chat/chat-message.ts'
import { isDeeperThan } from '../../../core/json.ts'
import { policy } from '../../../core/policy.ts'
import { toJsonSchema } from '../../tool/input-form.ts'

/** What a kind's last reply must be, as its model is told. */
export interface OutputForm {
  /** JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>
  /** What the instructions say of it. */
  readonly prompt: string
}

/** Null for a kind without `output`. Throws a ConfigError if no model can be told of its schema. */
export function outputFormOf({ output }: AgentDefinition): OutputForm | null {
  if (output === undefined) return null
  try {
    const schema = toJsonSchema(output)
    return { schema, prompt: promptOf(schema) }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigError(
      `the output schema has no JSON Schema for a model (${reason}). Use only types that JSON can hold.`,
      { cause },
    )
  }
}

function promptOf(schema: OutputForm['schema']): string {
  return (
    'When you have finished, reply with one JSON value and nothing else: no other words, no code fence. ' +
    `It must fit this JSON Schema:\n${JSON.stringify(schema)}`
  )
}

/** The value that the text holds, as the schema returns it, or why it holds none. */
export function readOutput(output: z.ZodType, text: string): Fit<unknown> {
  const value = jsonIn(text)
  if (value === undefined) return { ok: false, reasons: [whyNoJson(text)] }
  return fitOutput(output, value)
}

/** The value as the schema of the kind returns it. */
export function fitOutput(output: z.ZodType, value: unknown): Fit<unknown> {
  if (isDeeperThan(value, policy.jsonDepthMax))
    return { ok: false, reasons: [`it is nested deeper than ${policy.jsonDepthMax} levels`] }
  return fitTo<unknown>(output, value)
}

/** Models put a fence around JSON, and some also words around the fence. */
function jsonIn(text: string): Json | undefined {
  for (const within of [withoutFence(text), withoutInlineFence(text), onlyFenceIn(text)]) {
    const value = within === null ? undefined : parsed(within)
    if (value !== undefined) return value
  }
  return undefined
}

function parsed(text: string): Json | undefined {
  try {
    return parseExactJson(text)
  } catch {
    return undefined
  }
}

function whyNoJson(text: string): string {
  try {
    parseExactJson(withoutFence(text))
    return ''
  } catch (thrown) {
    return `it is not JSON: ${(thrown as Error).message}`
  }
}
