/**
 * Duty: accept or refuse a model's reply. An accepted reply has the form that everything else relies on, and ids of calls that are unique
 * in the history. Replies of models that authors write are checked like those of providers.
 * Does not own: the call (ask-model.ts), what the reply means (iteration.ts).
 * REPLY-1 An id of a call that the provider repeats, leaves out or makes too long is replaced here, before anything refers to the call
 *         (CHAT-2 of core/history/chat/chat-message.ts). An id that is only too long is kept, because its provider wants it back.
 * REPLY-2 On its way to Redis a reply has five forms: the parts of the stream (models/sdk/sdk-reply.ts), the ModelReply, the Iteration, the
 *         entry, and the JSON of the entry.
 */

import type { ModelReply } from '../../../core/definition/model.ts'
import { TransientError } from '../../../core/errors.ts'
import { replyProblem } from '../../../core/history/chat/chat-codec.ts'
import type { AssistantBlock } from '../../../core/history/chat/chat-message.ts'
import type { ConversationHistory } from '../../../core/history/history.ts'
import { credibleUsage } from '../../../core/worker/run/usage.ts'

/** Longest id of a call here. Entries, events and keys for idempotency repeat it. */
const idCharsMax = 128
/** Longest name of a model. A provider chooses the name, and each entry and each event of a reply repeats it. */
const modelCharsMax = 320
const noUsage = { inputTokens: 0, outputTokens: 0 }

const modelAdvice = 'Correct the code of the model: it is to return what the type ModelReply says.'

export interface ReplyRules {
  /** Id of the model that was asked. */
  readonly model: string
  readonly history: ConversationHistory
  readonly run: number
  readonly iteration: number
  readonly bytesMax: number
}

/** `asked`: the model that was asked, if the provider gives it another name. */
export interface AcceptedReply extends ModelReply {
  readonly asked?: string
}

/** Throws a TransientError for a value that is no reply, for a reply that is too large, and for one that an error ended. */
export function acceptReply(reply: ModelReply, rules: ReplyRules): AcceptedReply {
  const { model = rules.model, content, finishReason = 'other', ...given } = (reply ?? {}) as Partial<ModelReply>
  const usage = credibleUsage(given.usage ?? noUsage)
  const misformed = replyProblem({ model, content, finishReason, usage })
  const problem = misformed === null ? sizeProblem(content, rules.bytesMax) : `${misformed}. ${modelAdvice}`
  if (problem !== null || content === undefined)
    throw new TransientError(`model ${rules.model} gave a reply that cannot be used: ${problem}`, {
      code: 'model_garbled',
    })
  if (finishReason === 'error')
    throw new TransientError(`model ${rules.model} ended its reply with an error`, { code: 'model_unavailable' })
  const named = model.slice(0, modelCharsMax)
  return {
    model: named,
    ...(named !== rules.model && { asked: rules.model }),
    content: withOwnCallIds(content, rules),
    finishReason,
    usage,
  }
}

/** A history entry has a size limit. A model that writes more is asked again, because its next reply may be shorter. */
function sizeProblem(content: unknown, bytesMax: number): string | null {
  const json = JSON.stringify(content)
  // A UTF-16 unit has at most three bytes in UTF-8, so most replies need not be measured.
  if (json.length * 3 <= bytesMax) return null
  const bytes = Buffer.byteLength(json)
  return bytes <= bytesMax
    ? null
    : `it has ${bytes} bytes; a reply may have ${bytesMax}. Let it write less: set maxOutputTokens in the settings of the agent.`
}

function withOwnCallIds(
  content: readonly AssistantBlock[],
  { history, run, iteration }: ReplyRules,
): readonly AssistantBlock[] {
  const seen = new Set<string>()
  const isTaken = (id: string) => seen.has(id) || history.hasCall(id)
  let number = 0
  return content.map((block): AssistantBlock => {
    if (block.type !== 'tool-call') return block
    number++
    const { toolCallId } = block
    const isFree = typeof toolCallId === 'string' && toolCallId !== '' && !isTaken(toolCallId)
    const isLong = isFree && toolCallId.length > idCharsMax
    let id = isFree && !isLong ? toolCallId : `call-${run}-${iteration}-${number}`
    // The model may have chosen the same id for another call.
    while (isTaken(id)) id += '_'
    seen.add(id).add(toolCallId)
    return id === toolCallId ? block : { ...block, toolCallId: id, ...(isLong && { givenId: toolCallId }) }
  })
}
