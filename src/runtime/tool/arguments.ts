/**
 * Duty: are these arguments what the tool takes? What a model writes is never trusted: its size and depth are checked before its
 * schema, and the tool gets what the schema made of it.
 * AR1 Never throws. AR2 No key of the arguments reaches a prototype. AR3 What the tool gets shares nothing with what is recorded.
 */

import type { z } from 'zod'
import { isObject } from '../../core/check/is-object.ts'
import { type Fit, fitTo } from '../../core/check/schema-problems.ts'
import type { Tool } from '../../core/definition/define-tool.ts'
import type { ToolCallBlock } from '../../core/history/chat-message.ts'
import { isDeeperThan } from '../../core/json.ts'
import { policy } from '../../core/policy.ts'
import { type InputForm, inputFormOf } from './input-form.ts'
import { brief } from './messages.ts'

type Given = Pick<ToolCallBlock, 'input' | 'inputText'>

export function checkArguments(tool: Tool, call: Given): Fit<unknown> {
  const form = inputFormOf(tool)
  const { inputText: text } = call
  // The beginning of a wrapped argument is no argument: its end was lost.
  if (text !== undefined && form.isText && tool.input && !/^\s*\{\s*"arguments"/.test(text)) {
    const bytes = Buffer.byteLength(text)
    return bytes > policy.messageBytesMax ? refused(tooBig(bytes)) : checkSchema(tool.input, text)
  }
  const read = readArguments(call)
  return read.ok ? checkValue(tool, form, read.value) : read
}

/** As a value; what a model's adapter could not read is read here, or refused with the reason. */
export function readArguments({ input, inputText }: Given): Fit<unknown> {
  if (inputText !== undefined) return readText(inputText)
  // Depth first: what is nested deeper than the stack cannot be measured as text.
  if (isDeeperThan(input, policy.jsonDepthMax)) {
    return refused(`arguments are nested deeper than ${policy.jsonDepthMax} levels`)
  }
  const json = JSON.stringify(input) ?? ''
  // A UTF-16 unit is at most three bytes: most arguments need no count.
  const bytes = json.length * 3 > policy.messageBytesMax ? Buffer.byteLength(json) : json.length
  if (bytes > policy.messageBytesMax) return refused(tooBig(bytes))
  return { ok: true, value: json === '' ? undefined : JSON.parse(json) }
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

/** What the value may mean, the likeliest first. */
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
