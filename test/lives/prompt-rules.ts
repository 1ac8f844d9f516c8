/** Duty: what must hold of every prompt, whatever a life was: one line for each fault. */
import type { ModelRequest, PromptMessage } from '../../src/core/definition/model.ts'

const mayFollow: Readonly<Record<string, string>> = {
  beginning: 'user',
  user: 'assistant',
  assistant: 'user tool',
  tool: 'user assistant',
}

export function promptFaults({ messages }: Pick<ModelRequest, 'messages'>): string[] {
  const ids = messages.flatMap(callsOf)
  const last = messages.at(-1)?.role
  return [
    ...messages.flatMap((message, at) =>
      partFaults(message, messages[at - 1], messages[at + 1]).map((fault) => `${fault} at ${at}`),
    ),
    ...(new Set(ids).size === ids.length ? [] : [`a call twice: ${ids.join()}`]),
    ...(last === 'user' || last === 'tool' ? [] : [`it ends with ${String(last)}`]),
  ]
}

function partFaults(
  message: PromptMessage,
  before: PromptMessage | undefined,
  after: PromptMessage | undefined,
): string[] {
  const { role } = message
  const faults = mayFollow[before?.role ?? 'beginning']?.split(' ').includes(role)
    ? []
    : [`${role} after ${String(before?.role)}`]
  if (role === 'tool') return message.results.length > 0 ? faults : [...faults, 'no results']
  if (message.content.length === 0) faults.push('no content')
  const hasBlank = message.content.some((block) => block.type === 'text' && block.text.trim() === '')
  if (hasBlank) faults.push('a blank text')
  const calls = callsOf(message)
  const results = after?.role === 'tool' ? after.results.map(({ toolCallId }) => toolCallId) : []
  return JSON.stringify(calls) === JSON.stringify(results)
    ? faults
    : [...faults, `calls ${calls.join()} with results ${results.join()}`]
}

function callsOf(message: PromptMessage): string[] {
  return message.role === 'assistant'
    ? message.content.flatMap((block) => (block.type === 'tool-call' ? [block.toolCallId] : []))
    : []
}
