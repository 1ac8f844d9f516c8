/**
 * Duty: let a model say in a call that the loop ends after it: `terminate: true` beside the arguments of the tool.
 * TERMINATE-1 Whether the run ends follows from the recorded reply and its results, so a node that takes over ends it too.
 * TERMINATE-2 A tool that has an argument of this name keeps it: its calls never end the loop.
 */
import { isObject } from '../../../core/check/is-object.ts'
import type { Tool } from '../../../core/definition/define-tool.ts'
import type { ToolSpec } from '../../../core/definition/model.ts'
import {
  type ToolCallBlock,
  type ToolResultMessage,
  textOf,
  toolCallsOf,
} from '../../../core/history/chat/chat-message.ts'
import { inputFormOf } from '../../tool/input-form.ts'
import type { AgentTurn } from '../agent-turn.ts'
import { complete } from '../reply/complete.ts'
import type { AgentTools } from './agent-tools.ts'

const field = 'terminate'
const fieldSchema = {
  type: 'boolean',
  description: 'true: if this call succeeds, it is your last; you are not asked again.',
}

type Properties = Readonly<Record<string, unknown>>

function propertiesOf(schema: ToolSpec['inputSchema']): Properties {
  return isObject(schema.properties) ? schema.properties : {}
}

/** The tools as a model sees them that may say so. */
export function withTerminate(specs: readonly ToolSpec[]): readonly ToolSpec[] {
  return specs.map((spec) => {
    const properties = propertiesOf(spec.inputSchema)
    if (field in properties) return spec
    return { ...spec, inputSchema: { ...spec.inputSchema, properties: { ...properties, [field]: fieldSchema } } }
  })
}

/** The call with the arguments that are its tool's. */
export function withoutTerminate(call: ToolCallBlock, tool: Tool): ToolCallBlock {
  const { input } = call
  if (!isObject(input) || !(field in input) || field in propertiesOf(inputFormOf(tool).inputSchema)) return call
  const { [field]: _said, ...own } = input
  return { ...call, input: own }
}

function saysSo(call: ToolCallBlock, tools: AgentTools): boolean {
  const tool = tools.toolOf(call)
  return (
    tool !== undefined && isObject(call.input) && call.input[field] === true && withoutTerminate(call, tool) !== call
  )
}

/** Ends the run if a call of the newest reply said so and succeeded. Returns true if it did. */
export function endAfterCall(agentTurn: AgentTurn, tools: AgentTools): boolean {
  if (agentTurn.kind.definition.mayTerminate !== true) return false
  const { container } = agentTurn.journal
  const reply = container.lastReply
  if (reply === null) return false
  const { messages } = container.history
  const since = messages.slice(messages.lastIndexOf(reply) + 1)
  // Something else was said since: then the model is asked again.
  if (!since.every((message): message is ToolResultMessage => message.type === 'toolResult')) return false
  const ending = new Set(toolCallsOf(reply).flatMap((call) => (saysSo(call, tools) ? [call.toolCallId] : [])))
  const last = since.find(({ toolCallId, status }) => status === 'ok' && ending.has(toolCallId))
  if (last === undefined) return false
  const { value } = last.output
  const said = textOf(reply.content)
  const text = said.trim() !== '' ? said : typeof value === 'string' ? value : JSON.stringify(value)
  complete(agentTurn, { text }, [])
  return true
}
