/**
 * Duty: check the arguments that a model wrote for a tool, and make the tool's input from them.
 * Does not own: how a schema looks to a model (input-form.ts).
 * ARGUMENTS-1 Arguments are not trusted: their size and depth are checked before their schema. No function here throws.
 * ARGUMENTS-2 No key of the arguments reaches a prototype.
 * ARGUMENTS-3 The tool gets the value that the schema returned. It shares nothing with the recorded call.
 */

import type { z } from 'zod'
import { isObject } from '../../core/check/is-object.ts'
import { type Fit, fitTo } from '../../core/check/schema-problems.ts'
import type { Tool } from '../../core/definition/tool/define-tool.ts'
import type { ToolCallBlock } from '../../core/history/chat/chat-message.ts'
import { isDeeperThan } from '../../core/json.ts'
import { policy } from '../../core/policy.ts'
import { type InputForm, inputFormOf } from './input-form.ts'
import { brief } from './messages.ts'

type Written = Pick<ToolCallBlock, 'input' | 'inputText'>

export function checkArguments(tool: Tool, call: Written): Fit<unknown> {
  const form = inputFormOf(tool)
  const { inputText: text } = call
  // A text that begins like a wrapped argument is not the argument itself, but a wrapped one whose end was lost.
  if (text !== undefined && form.isText && tool.input && !/^\s*\{\s*"arguments"/.test(text)) {
    const bytes = Buffer.byteLength(text)
    return bytes > policy.messageBytesMax ? refused(tooBig(bytes)) : checkSchema(tool.input, text)
  }
  const read = readArguments(call)
  return read.ok ? checkValue(tool, form, read.value) : read
}

/** The arguments as a value. Text that the model's adapter could not parse is parsed here, or refused with the reason. */
export function readArguments({ input, inputText }: Written): Fit<unknown> {
  if (inputText !== undefined) return readText(inputText)
  // The depth is checked first, because JSON.stringify overflows the stack on a value that is nested too deeply.
  if (isDeeperThan(input, policy.jsonDepthMax)) {
    return refused(`arguments are nested deeper than ${policy.jsonDepthMax} levels`)
  }
  const json = JSON.stringify(input) ?? ''
  // A UTF-16 unit has at most three bytes in UTF-8, so most arguments need not be measured.
  const bytes = json.length * 3 > policy.messageBytesMax ? Buffer.byteLength(json) : json.length
  if (bytes > policy.messageBytesMax) return refused(tooBig(bytes))
  return { ok: true, value: json === '' ? undefined : JSON.parse(json) }
}

/** True for arguments that are no JSON: their end is missing, or they were never JSON. */
export function isUnreadable({ inputText }: Written): boolean {
  return inputText !== undefined && !readText(inputText).ok
}

function readText(text: string): Fit<unknown> {
  const bytes = Buffer.byteLength(text)
  if (bytes > policy.messageBytesMax) return refused(tooBig(bytes))
  if (text.trim() === '') return { ok: true, value: {} }
  try {
    return readArguments({ input: JSON.parse(text) as ToolCallBlock['input'] })
  } catch (thrown) {
    return refused(`arguments are not JSON: ${(thrown as Error).message}`)
  }
}

function checkValue(tool: Tool, form: InputForm, value: unknown): Fit<unknown> {
  const schema: z.ZodType | undefined = tool.input
  if (schema === undefined) return { ok: true, value }
  let refusal: Fit<unknown> | undefined
  for (const reading of readings(form, value)) {
    const fit = checkSchema(schema, reading)
    if (fit.ok) return fit
    refusal ??= fit
  }
  return refusal as Fit<unknown>
}

/** The values that the model may have meant, the likeliest first. */
function readings(form: InputForm, value: unknown): unknown[] {
  if (!form.wrapped || !isObject(value)) return [value]
  const keys = Object.keys(value)
  if (keys.length === 0) return [value, undefined]
  return keys.length === 1 && keys[0] === 'arguments' ? [value.arguments, value] : [value]
}

function checkSchema(schema: z.ZodType, value: unknown): Fit<unknown> {
  const fit = fitTo(schema, value)
  return fit.ok ? fit : refused(...fit.reasons)
}

function tooBig(bytes: number): string {
  return `arguments have ${bytes} bytes; the limit is ${policy.messageBytesMax}`
}

function refused(...reasons: string[]): Fit<unknown> {
  return { ok: false, reasons: reasons.map(brief) }
}
