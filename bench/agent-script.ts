/**
 * Duty: the agent that every contestant runs: its model asks for one tool, and answers when it has the result.
 * Model and tool take no time, so the bench measures the cost of durability. All contestants record the same texts.
 */

export type AgentMessage =
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly toolCall?: ToolCall }
  | { readonly role: 'tool'; readonly callId: string; readonly content: string }

export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly input: { readonly path: string }
}

export const agentQuestion = 'How many lines has the read-me?'
export const agentAnswer = 'It has 118 lines.'

const toolCall: ToolCall = { id: 'call-1', name: 'count_lines', input: { path: 'README.md' } }

/** The model: a function of the history alone. */
export function replyOfModel(history: readonly AgentMessage[]): AgentMessage {
  if (history.at(-1)?.role === 'user') return { role: 'assistant', content: 'I look at the file.', toolCall }
  return { role: 'assistant', content: agentAnswer }
}

/** The tool: pure, so that no contestant needs to guard it. */
export function resultOfTool(call: ToolCall): AgentMessage {
  return { role: 'tool', callId: call.id, content: `${call.input.path}: 118 lines, 6 204 bytes` }
}

export const childrenPerTree = 10

/** The question that the parent of a tree sends to its child number `index`. */
export function childQuestion(index: number): string {
  return `Summarise part ${index} of the report in one sentence, and name what is missing in it.`
}

export function childAnswer(question: string): string {
  return `Nothing is missing. You asked: ${question.slice(0, 40)}`
}

export const treeQuestion =
  'Have the ten parts of the report summarised, each by a worker of its own, and tell how many there are.'

export function treeAnswer(answers: readonly string[]): string {
  return `All ${answers.length} parts are summarised.`
}

export const expectedTreeAnswer = treeAnswer(Array.from({ length: childrenPerTree }, () => ''))
