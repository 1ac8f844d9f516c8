/**
 * Duty: how a model says in a call that the loop ends after it: `terminate: true` beside the arguments of the tool.
 * Does not own: the end of the run (../reply/last-call.ts).
 * TERMINATE-1 A tool that has an argument of this name keeps it: its calls never end the loop.
 */
import { isObject } from '../../../core/check/is-object.ts'
import type { ToolSpec } from '../../../core/definition/model.ts'
import type { Tool } from '../../../core/definition/tool/define-tool.ts'
import type { ToolCallBlock } from '../../../core/history/chat/chat-message.ts'
import { inputFormOf } from '../../tool/input-form.ts'

const field = 'terminate'
const fieldSchema = {
  type: 'boolean',
  description: 'true: if this call succeeds, it is your last; you are not asked again.',
}

type Properties = Readonly<Record<string, unknown>>

function propertiesOf(schema: ToolSpec['inputSchema']): Properties {
  return isObject(schema.properties) ? schema.properties : {}
}

/** The tools as a model sees them, with the argument `terminate` where they may have it. */
export function withTerminate(specs: readonly ToolSpec[]): readonly ToolSpec[] {
  return specs.map((spec) => {
    const properties = propertiesOf(spec.inputSchema)
    if (field in properties) return spec
    return { ...spec, inputSchema: { ...spec.inputSchema, properties: { ...properties, [field]: fieldSchema } } }
  })
}

/** The call with only the arguments of its tool. */
export function withoutTerminate(call: ToolCallBlock, tool: Tool): ToolCallBlock {
  const { input } = call
  if (!isObject(input) || !(field in input) || field in propertiesOf(inputFormOf(tool).inputSchema)) return call
  const { [field]: _said, ...own } = input
  return { ...call, input: own }
}

/** True for a call with which the model said that the loop ends after it. */
export function saysTerminate(call: ToolCallBlock, tool: Tool | undefined): boolean {
  const { input } = call
  return tool !== undefined && isObject(input) && input[field] === true && withoutTerminate(call, tool) !== call
}
