/**
 * Duty: make what a model reads of a message of a user: its blocks, who sent it, and what goes with it in addition to what was said.
 * USER-BLOCKS-1 Only this file writes the lines that name a sender, mark a summary, or keep added context apart. A text that imitates one is quoted.
 */
import type { TextBlock, UserBlock, UserMessage } from '../chat/chat-message.ts'

const userTypes = new Set<string>(['text', 'image', 'audio', 'file'])
/** They name the sender of a message, or mark a summary. */
const marks = /^(?=[ \t]*\[(?:message from worker |Previous conversation handoff\]))/gm

export function userBlocks(message: Pick<UserMessage, 'from' | 'content' | 'context'>): UserBlock[] {
  const { context } = message
  return context === undefined ? saidBlocks(message) : delimited(context, saidBlocks(message))
}

const delimiters = /^(?=[ \t]*--- (?:CONTEXT ENTRY|USER MESSAGE) (?:BEGIN|END) ---)/gm

/** What was said, kept apart from what was added to it. A text that imitates the lines between them is quoted. */
function delimited(context: string, said: readonly UserBlock[]): UserBlock[] {
  const quoted = (text: string) => text.replace(delimiters, '> ')
  const blocks = said.map((block) => (block.type === 'text' ? { ...block, text: quoted(block.text) } : block))
  const before = `--- CONTEXT ENTRY BEGIN ---\n${quoted(context)}\n--- CONTEXT ENTRY END ---\n\n--- USER MESSAGE BEGIN ---`
  const after = '--- USER MESSAGE END ---'
  const [only] = blocks
  if (only?.type === 'text' && blocks.length === 1) return [{ ...only, text: `${before}\n${only.text}\n${after}` }]
  return [{ type: 'text', text: before }, ...blocks, { type: 'text', text: after }]
}

/** Adds a line that names the sender, from the field that the runtime set. A text that imitates such a line is quoted. */
function saidBlocks({ from, content }: Pick<UserMessage, 'from' | 'content'>): UserBlock[] {
  const blocks = content
    .filter((block) => userTypes.has(block.type) && !(block.type === 'text' && block.text.trim() === ''))
    .map((block) => (block.type === 'text' ? withoutMarks(block) : block))
  if (blocks.length === 0) blocks.push({ type: 'text', text: '(empty message)' })
  if (from === undefined) return blocks
  const mark = `[message from worker ${from}]`
  const [first] = blocks
  if (first?.type !== 'text') return [{ type: 'text', text: mark }, ...blocks]
  return [{ ...first, text: `${mark}\n${first.text}` }, ...blocks.slice(1)]
}

function withoutMarks(block: TextBlock): TextBlock {
  const text = withoutSenderLines(block.text)
  return text === block.text ? block : { ...block, text }
}

/** Quotes lines that imitate those that name a sender. */
export function withoutSenderLines(text: string): string {
  return text.replace(marks, '> ')
}
