/**
 * Duty: a model's reply as it is recorded: calls have ids that are unique in the history and inputs that are plain JSON.
 * M-b of core/chat-message.ts: what a provider repeats, leaves out or makes too long is renamed here, before anything refers to it.
 */
import type { AssistantBlock } from '../../core/chat-message.ts'
import type { ConversationHistory } from '../../core/history.ts'
import type { ModelReply } from '../../core/model.ts'

const idCharsMax = 128

export function withOwnCallIds(
  reply: ModelReply,
  history: ConversationHistory,
  run: number,
  iteration: number,
): ModelReply {
  const seen = new Set<string>()
  let number = 0
  const content = reply.content.map((block): AssistantBlock => {
    if (block.type !== 'tool-call') return block
    number++
    const { toolCallId } = block
    const fine = typeof toolCallId === 'string' && toolCallId !== '' && toolCallId.length <= idCharsMax
    const id =
      fine && !seen.has(toolCallId) && !history.hasCall(toolCallId) ? toolCallId : `call-${run}-${iteration}-${number}`
    seen.add(id)
    return id === toolCallId ? block : { ...block, toolCallId: id }
  })
  return { ...reply, content }
}
