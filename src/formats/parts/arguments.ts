/** Duty: arguments of a call as text: read as JSON, with bounds, or kept as they are; written as text or as an object. */
import { isObject } from '../../core/check/is-object.ts'
import { jsonTextProblem } from '../../core/check/json-text.ts'
import { parseExactJson } from '../../core/exact-json.ts'
import type { Json, ToolCallBlock } from '../../core/history/chat/chat-message.ts'
import { policy } from '../../core/policy.ts'

const bounds = { depthMax: policy.jsonDepthMax - 4, partsMax: policy.conversationPartsMax }

/** An empty text means no arguments. Text that is not JSON, or that is nested too deeply, is kept as text. */
export function parseArguments(text: string): Pick<ToolCallBlock, 'input' | 'inputText'> {
  if (text.trim() === '') return { input: {} }
  if (jsonTextProblem(text, bounds) !== null) return { input: null, inputText: text }
  try {
    return { input: parseExactJson(text) }
  } catch {
    return { input: null, inputText: text }
  }
}

/** The arguments as the model wrote them, or as JSON. */
export function argumentsText({ input, inputText }: Pick<ToolCallBlock, 'input' | 'inputText'>): string {
  return inputText ?? JSON.stringify(input)
}

/** Most programs take only objects. Other values, and text that is not JSON, go under the name `arguments`, as in a prompt. */
export function argumentsObject({
  input,
  inputText,
}: Pick<ToolCallBlock, 'input' | 'inputText'>): Readonly<Record<string, Json>> {
  return isObject(input) ? input : { arguments: input ?? inputText ?? null }
}
