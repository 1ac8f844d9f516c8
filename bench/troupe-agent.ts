/**
 * Duty: the agent of agent-script.ts as an agent worker with one pure tool, and one that only answers, for conversations that grow.
 * Their models are scripted and take no time.
 */
import { type AgentDefinition, defineTool, defineWorker, type ModelRequest } from 'troupe'
import { z } from 'zod'
import { say, scriptedModel } from '../src/models/local/scripted-model.ts'
import { type AgentMessage, replyOfModel, resultOfTool } from './agent-script.ts'

export const agentKindName = 'agent'
export const answererKindName = 'answerer'

const countLines = defineTool({
  name: 'count_lines',
  description: 'Counts the lines of a file.',
  effect: 'pure',
  input: z.object({ path: z.string() }),
  run: (input, { toolCallId }) => resultOfTool({ id: toolCallId, name: 'count_lines', input }).content,
})

/** The last message alone decides the reply: the question, or the tool's result. */
function replyTo({ messages }: ModelRequest) {
  const last: AgentMessage =
    messages.at(-1)?.role === 'user' ? { role: 'user', content: '' } : { role: 'tool', callId: '', content: '' }
  const reply = replyOfModel([last])
  if (reply.role !== 'assistant' || reply.toolCall === undefined) return say(reply.content)
  const { id, name, input } = reply.toolCall
  return {
    content: [
      { type: 'text', text: reply.content },
      { type: 'tool-call', toolCallId: id, toolName: name, input },
    ],
  } as const
}

export const benchAgents: Readonly<Record<string, AgentDefinition>> = {
  [agentKindName]: defineWorker({
    instructions: 'You answer questions about files.',
    model: scriptedModel('bench/script', replyTo),
    tools: [countLines],
  }),
  /** It repeats the message, so that message and reply have the same known size. */
  [answererKindName]: defineWorker({
    instructions: 'You repeat what you are told.',
    model: scriptedModel('bench/echo', ({ messages }) => {
      const last = messages.at(-1)
      return say(last?.role === 'user' && last.content[0]?.type === 'text' ? last.content[0].text : '')
    }),
  }),
}
