/**
 * Duty: a model's reply as it is recorded: of the form that everything else relies on, with ids of calls that are unique in the
 * history. Models of authors are checked like those of providers.
 * M-b of core/history/chat-message.ts: what a provider repeats, leaves out or makes too long is renamed here, before anything refers to it.
 */

import { problemText } from '../../core/check/schema-problems.ts'
import type { ModelReply } from '../../core/definition/model.ts'
import { TransientError } from '../../core/errors.ts'
import { readChatMessage } from '../../core/history/chat-codec.ts'
import { type AssistantBlock, chatMessageSchema } from '../../core/history/chat-message.ts'
import type { ConversationHistory } from '../../core/history/history.ts'

const idCharsMax = 128
/** Of what a provider calls its model: it is told with each reply. */
const modelCharsMax = 320

/** Throws a TransientError (`model_garbled`) for what is no reply. */
export function checkedReply(reply: ModelReply, model: string): ModelReply {
  const given = (reply ?? {}) as Partial<ModelReply>
  const { content, finishReason = 'other', usage = noUsage } = given
  const checked = { model: given.model ?? model, content: content as ModelReply['content'], finishReason, usage }
  const message = { type: 'assistant', id: '', at: 0, ...checked }
  if (readChatMessage(message) !== null) return { ...checked, model: checked.model.slice(0, modelCharsMax) }
  const { error } = chatMessageSchema.safeParse(message)
  const why = error ? problemText(error) : 'it cannot be read'
  throw new TransientError(`model ${model} gave a reply that is none: ${why}`, { code: 'model_garbled' })
}

const noUsage = { inputTokens: 0, outputTokens: 0 }

export function withOwnCallIds(
  reply: ModelReply,
  history: ConversationHistory,
  run: number,
  iteration: number,
): ModelReply {
  const seen = new Set<string>()
  const isTaken = (id: string) => seen.has(id) || history.hasCall(id)
  let number = 0
  const content = reply.content.map((block): AssistantBlock => {
    if (block.type !== 'tool-call') return block
    number++
    const { toolCallId } = block
    const fine = typeof toolCallId === 'string' && toolCallId !== '' && toolCallId.length <= idCharsMax
    let id = fine && !isTaken(toolCallId) ? toolCallId : `call-${run}-${iteration}-${number}`
    // The model may have given that one to another call.
    while (isTaken(id)) id += '_'
    seen.add(id)
    return id === toolCallId ? block : { ...block, toolCallId: id }
  })
  return { ...reply, content }
}
