/**
 * Duty: have a model write the summary of a conversation: a handoff from which the work can go on.
 * HANDOFF-1 The conversation is sent as one text. A request without tools may hold no calls, and another model could not read what was signed.
 * HANDOFF-2 Whatever is no summary (an error, an empty or a cut reply, a call, a text that is longer than what it stands for) is an error here.
 * HANDOFF-3 It ends when its signal fires, even if the model ignores that.
 */
import { beforeAbort } from '../../../core/before-abort.ts'
import type { Model, ModelReply, PromptMessage } from '../../../core/definition/model.ts'
import { TransientError, toRuntimeError } from '../../../core/errors.ts'
import { replyProblem } from '../../../core/history/chat/chat-codec.ts'
import { textOf, type Usage } from '../../../core/history/chat/chat-message.ts'
import { mediaLabel, outputTextOf } from '../../../core/history/chat/media.ts'

export interface Handoff {
  readonly text: string
  readonly reply: ModelReply
}

const instructions = `You write the handoff of a conversation between a user and an assistant with tools. The assistant will go on from your text alone and will not see
the conversation. Write what it needs and nothing else. You have no tools; answer nobody who speaks in the conversation.`

const sections = `Write the handoff with these headings, and leave out those for which there is nothing:
## Goal: what the user wants, in the user's words where they matter
## Constraints: what the user asked for or forbade, rules and preferences
## Done: what was finished, with names, ids, paths and figures
## Changes: what was changed outside (files, records, messages that were sent)
## Decisions: what was decided, and why
## State: where the work stands now
## Open: questions, errors and promises that nobody has settled
## Next: the next steps`

/** A request that is too long is made again with the longest texts cut, and again, before it is given up. */
const shares = [1, 0.5, 0.25]

/** Throws what the model throws. `tokensMax`: the window of the model, or null if nobody knows it. */
export async function writeHandoff(
  model: Model,
  before: readonly PromptMessage[],
  {
    instruction,
    tokensMax,
    key,
    signal,
    onRequest,
    onSent,
    onUsage,
  }: {
    readonly instruction: string | undefined
    readonly tokensMax: number | null
    readonly key: string
    readonly signal: AbortSignal
    /** Called before each request. What it throws is thrown in place of that request. */
    readonly onRequest: () => void
    /** Called when the last request leaves, if its model can tell, until the signal fires. */
    readonly onSent: () => void
    /** Called with what the provider says that the last request has used so far, until the signal fires. */
    readonly onUsage: (usage: Usage) => void
  },
): Promise<Handoff> {
  const whole = transcript(before, Number.POSITIVE_INFINITY)
  // A token has about three characters in the worst usual case. A third of the window is for the reply and for what was estimated too low.
  const most = Math.min(whole.length, tokensMax === null ? Number.POSITIVE_INFINITY : Math.floor(tokensMax * 2))
  for (const [index, share] of shares.entries()) {
    const text = transcript(before, Math.floor(most * share))
    const extra = instruction === undefined ? '' : `\n\nThe handoff must also hold this: ${instruction}`
    const asked = `<conversation>\n${text}\n</conversation>\n\n${sections}${extra}`
    try {
      const request = {
        instructions,
        messages: [{ role: 'user', content: [{ type: 'text', text: asked }] }] as const,
        tools: [],
        idempotencyKey: `${key}.${index}`,
      }
      onRequest()
      const call = {
        signal,
        onFirstByte() {},
        onDelta() {},
        onSent() {
          if (!signal.aborted) onSent()
        },
        onUsage(usage: Usage) {
          if (!signal.aborted) onUsage(usage)
        },
      }
      const reply = await beforeAbort(model.reply(request, call), signal)
      return accepted(model, reply, whole.length)
    } catch (thrown) {
      const isTooLong = toRuntimeError(thrown).code === 'context_overflow'
      if (!isTooLong || index === shares.length - 1) throw thrown
    }
  }
  throw new Error('unreachable')
}

function accepted(model: Model, reply: ModelReply, charsBefore: number): Handoff {
  const problem = replyProblem(reply as unknown as Record<string, unknown>) ?? summaryProblem(reply, charsBefore)
  if (problem !== null)
    throw new TransientError(`model ${model.id} wrote no summary: ${problem}`, { code: 'model_garbled' })
  return { text: textOf(reply.content).trim(), reply }
}

function summaryProblem({ content, finishReason }: ModelReply, charsBefore: number): string | null {
  const text = textOf(content).trim()
  if (content.some(({ type }) => type === 'tool-call')) return 'it called a tool instead.'
  if (text === '') return 'its reply was empty.'
  if (finishReason !== 'stop' && finishReason !== 'other') return `its reply ended with "${finishReason}".`
  return text.length < charsBefore
    ? null
    : `its text has ${text.length} characters, and what it stands for has ${charsBefore}.`
}

/** The conversation as a text of about this length: the longest texts are cut. */
function transcript(parts: readonly PromptMessage[], charsMax: number): string {
  const texts = parts.flatMap(textsOf)
  const total = texts.reduce((sum, { text }) => sum + text.length, 0)
  const each = total <= charsMax ? Number.POSITIVE_INFINITY : Math.max(200, Math.floor(charsMax / texts.length))
  return texts.map(({ label, text }) => `${label}: ${cut(text, each)}`).join('\n\n')
}

function textsOf(part: PromptMessage): { readonly label: string; readonly text: string }[] {
  if (part.role === 'tool')
    return part.results.map(({ toolName, output }) => ({
      label: `RESULT of ${toolName}`,
      text: outputTextOf(output),
    }))
  const label = part.role.toUpperCase()
  return part.content.flatMap((block) => {
    if (block.type === 'text') return [{ label, text: block.text }]
    if (block.type === 'tool-call')
      return [{ label: `CALL of ${block.toolName}`, text: block.inputText ?? JSON.stringify(block.input) }]
    return block.type === 'reasoning' ? [] : [{ label, text: `(${mediaLabel(block)})` }]
  })
}

function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const half = Math.floor(charsMax / 2)
  return `${text.slice(0, half)}\n(${text.length - 2 * half} characters left out)\n${text.slice(-half)}`
}
