/** Duty: which blocks of a reply are sent back to a model, and in which form. */
import { isObject } from '../../check/is-object.ts'
import type { AssistantBlock, AssistantMessage, ToolCallBlock } from '../chat/chat-message.ts'

/** Providers refuse a text that is only white space. */
function isBlank(block: AssistantBlock): boolean {
  return block.type === 'text' && block.providerOptions === undefined && block.text.trim() === ''
}

const assistantTypes = new Set<string>(['text', 'reasoning', 'tool-call'])

/** Providers refuse a reply that ends with reasoning, and every later prompt with it. */
export function assistantBlocks({ content }: AssistantMessage): AssistantBlock[] {
  const known = content.filter((block) => assistantTypes.has(block.type) && !isBlank(block))
  return known
    .slice(0, known.findLastIndex(({ type }) => type !== 'reasoning') + 1)
    .map((block) => (block.type === 'tool-call' ? withObjectInput(block) : block))
}

/** Providers accept only objects as arguments. Any other value, or text that is not JSON, is sent under the name `arguments`. */
function withObjectInput(call: ToolCallBlock): ToolCallBlock {
  if (isObject(call.input)) return call
  const { inputText, ...rest } = call
  return { ...rest, input: { arguments: call.input ?? inputText ?? null } }
}

/** Removes reasoning and signatures, which only the model that made them understands. Text and calls stay. */
export function withoutSignatures(blocks: readonly AssistantBlock[]): AssistantBlock[] {
  return blocks.flatMap((block): AssistantBlock[] => {
    if (block.type === 'reasoning') return []
    const { providerOptions: _, ...rest } = block
    return [rest]
  })
}
