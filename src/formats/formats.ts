/**
 * Duty: read and write conversations of other programs: choose the format, convert, put calls and results in order, and say what was lost.
 * FORMATS-1 What is written obeys the rules of its format, also for calls that nobody answered and results of no call.
 * FORMATS-2 What cannot be read is refused with an InputError that names the place, and what is too large with a LimitError. Nothing else is thrown.
 */
import { didYouMean } from '../core/check/closest.ts'
import { InputError } from '../core/errors.ts'
import type { ChatMessage, ToolResultMessage, UserMessage } from '../core/history/chat/chat-message.ts'
import { isBlob, mediaLabel } from '../core/history/chat/media.ts'
import { formProblem } from '../core/history/foreign-format.ts'
import { pairedMessages, type Repairs } from '../core/history/paired.ts'
import type { Format, Written } from './format.ts'
import { featureNames, features, marksOf } from './parts/features.ts'
import { fittedMessages } from './parts/fitted.ts'
import { Said } from './parts/said.ts'
import { outputText } from './parts/turns.ts'
import { agentEnv } from './programs/agent-env.ts'
import { amazonQ, amazonQRow, kiroRow } from './programs/amazon-q.ts'
import { chatMessage, chatMessageBlocks } from './programs/chat-message.ts'
import { chatMessageLog } from './programs/chat-message-log.ts'
import { alternatingEntries, pairedEntries } from './programs/conversation-entries.ts'
import { flat } from './programs/flat.ts'
import { fsm, fsmSnake } from './programs/fsm.ts'
import { llmCore } from './programs/llm-core.ts'
import { troupe } from './programs/troupe.ts'
import { aiSdk } from './providers/ai-sdk.ts'
import { anthropic } from './providers/anthropic.ts'
import { gemini } from './providers/gemini.ts'
import { ollama } from './providers/ollama.ts'
import { openaiChat } from './providers/openai-chat.ts'
import { openaiResponses } from './providers/openai-responses.ts'
import { sourceOf } from './source.ts'

/** The formats in the order in which they are tried: if two fit, the first one is taken. */
export const formats: readonly Format[] = [
  troupe,
  kiroRow,
  amazonQRow,
  amazonQ,
  alternatingEntries,
  pairedEntries,
  fsmSnake,
  fsm,
  chatMessageLog,
  agentEnv,
  chatMessageBlocks,
  chatMessage,
  gemini,
  anthropic,
  openaiResponses,
  ollama,
  openaiChat,
  llmCore,
  aiSdk,
  flat,
]

export const formatNames: readonly string[] = formats.map(({ name }) => name)

export interface ReadConversation {
  /** The name of the format. */
  readonly format: string
  readonly messages: readonly ChatMessage[]
  /** What the other program calls the conversation. */
  readonly id?: string
  readonly title?: string
  /** What was left out or mended, one sentence each. */
  readonly warnings: readonly string[]
}

export interface ReadOptions {
  /** Default: it is recognised by the content. */
  readonly format?: string | undefined
  /** The id of the wanted conversation, if a source holds several. */
  readonly conversation?: string | undefined
}

/** Reads a conversation: a text (JSON or JSON lines), or a value that was parsed before. */
export function readConversation(given: unknown, { format: wanted, conversation }: ReadOptions = {}): ReadConversation {
  const source = sourceOf(given)
  const format = wanted === undefined ? formats.find((one) => one.fits(source)) : formatOf(wanted)
  if (format === undefined)
    throw new InputError(
      `the format of the conversation was not recognised: name it, one of ${formatNames.join(', ')}.`,
    )
  const said = new Said(conversation)
  format.read(source, said)
  if (said.messages.length === 0) throw new InputError(`the conversation (${format.name}) holds no message.`)
  const { messages: paired, repairs } = pairedMessages(said.messages)
  const { messages, warnings } = fittedMessages(paired)
  return {
    format: format.name,
    messages,
    ...(said.id !== undefined && { id: said.id }),
    ...(said.title !== undefined && { title: said.title }),
    warnings: [...source.warnings, ...said.warnings, ...repairWarnings(repairs), ...warnings],
  }
}

export interface WrittenConversation {
  readonly text: string
  /** What the format could not carry, one sentence each. */
  readonly warnings: readonly string[]
}

/** Writes a conversation as text: JSON, or JSON lines. Throws an InputError for a value that is no message. */
export function writeConversation(
  given: Iterable<ChatMessage>,
  name: string,
  written: Written = {},
): WrittenConversation {
  const format = formatOf(name)
  const said = [...given]
  for (const [index, message] of said.entries()) {
    const problem = formProblem(message, index)
    if (problem !== null) throw new InputError(problem)
  }
  const { messages: paired, repairs } = pairedMessages(said)
  const messages = paired.map(withoutBlobs)
  const text = format.write(messages, written)
  const warnings = [...repairWarnings(repairs), ...lossWarnings(format, messages), ...blobWarnings(paired)]
  if ('lines' in text) return { text: text.lines.map((line) => `${JSON.stringify(line)}\n`).join(''), warnings }
  return { text: `${JSON.stringify(text.json, null, text.isCompact ? undefined : 2)}\n`, warnings }
}

/** A blob stays with its session: what goes elsewhere says what it was. */
function withoutBlobs(message: ChatMessage): ChatMessage {
  if (message.type === 'toolResult') return withoutRest(message)
  if (!hasMediaBlob(message)) return message
  const content = message.content.map((block) =>
    block.type !== 'text' && isBlob(block) ? chatText(`[${mediaLabel(block)}]`) : block,
  )
  return { ...message, content }
}

function withoutRest({ blob, ...result }: ToolResultMessage): ToolResultMessage {
  if (blob === undefined) return result
  const text = `${outputText(result)}\n[The rest of this result stayed with the session that the conversation was exported from.]`
  return { ...result, output: { type: result.output.type === 'error-text' ? 'error-text' : 'text', value: text } }
}

function hasMediaBlob(message: ChatMessage): message is UserMessage {
  return message.type === 'user' && message.content.some(isBlob)
}

function blobWarnings(messages: readonly ChatMessage[]): string[] {
  const media = messages.filter(hasMediaBlob).flatMap(({ content }) => content.filter(isBlob)).length
  const results = messages.filter((message) => message.type === 'toolResult' && message.blob !== undefined).length
  return [
    ...(media > 0 ? [`media that were too long for their message became notes: ${media}.`] : []),
    ...(results > 0 ? [`results that were too long for the conversation were cut: ${results}.`] : []),
  ]
}

const chatText = (text: string) => ({ type: 'text', text }) as const

export function formatOf(name: string): Format {
  const format = formats.find((one) => one.name === name)
  if (format !== undefined) return format
  throw new InputError(
    `there is no format "${name}": it is one of ${formatNames.join(', ')}.${didYouMean(name, formatNames)}`,
  )
}

function lossWarnings(format: Format, messages: readonly ChatMessage[]): string[] {
  return featureNames.flatMap((feature) => {
    const loss = format.losses[feature]
    const count = loss === undefined ? 0 : marksOf(feature, messages).length
    return count === 0 ? [] : [`${features[feature].what} (${count === 1 ? 'once' : `${count} times`}): ${loss}.`]
  })
}

function repairWarnings({ unanswered, orphans, renamedCalls }: Repairs): string[] {
  return [
    ...(unanswered > 0 ? [`calls without a result got one that says so: ${unanswered}.`] : []),
    ...(orphans > 0 ? [`results without a call became text: ${orphans}.`] : []),
    ...(renamedCalls > 0 ? [`ids of calls that came twice were replaced: ${renamedCalls}.`] : []),
  ]
}
