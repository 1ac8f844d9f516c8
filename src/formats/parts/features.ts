/**
 * Duty: name everything that a conversation may hold and that some format cannot carry, and find it in a conversation.
 * FEATURE-1 Two conversations that have the same of a feature give the same list of texts for it. So a test can see what a format lost.
 */
import { isObject } from '../../core/check/is-object.ts'
import {
  type AssistantBlock,
  type AssistantMessage,
  type ChatMessage,
  type Json,
  type MediaBlock,
  type ToolCallBlock,
  type ToolResultMessage,
  toolCallsOf,
  type UserBlock,
  type UserMessage,
} from '../../core/history/chat/chat-message.ts'
import { plainOutputOf } from '../../core/history/chat/media.ts'
import { unknownModel } from './said.ts'

type Messages = readonly ChatMessage[]

interface FeatureForm {
  /** The name of the feature in a table and in warnings. */
  readonly what: string
  readonly in: (messages: Messages) => readonly string[]
}

const portableId = /^[A-Za-z0-9_-]{1,40}$/
const portableName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

const users = (messages: Messages) => messages.filter((message): message is UserMessage => message.type === 'user')
const replies = (messages: Messages) =>
  messages.filter((message): message is AssistantMessage => message.type === 'assistant')
const results = (messages: Messages) =>
  messages.filter((message): message is ToolResultMessage => message.type === 'toolResult')
const calls = (messages: Messages): ToolCallBlock[] => replies(messages).flatMap(toolCallsOf)
const media = (messages: Messages) =>
  users(messages).flatMap(({ content }) =>
    content.filter((block): block is MediaBlock => block.type === 'image' || block.type === 'audio'),
  )
const blocks = (messages: Messages): (UserBlock | AssistantBlock)[] =>
  messages.flatMap((message): readonly (UserBlock | AssistantBlock)[] =>
    message.type === 'user' || message.type === 'assistant' ? message.content : [],
  )
const isBlank = (block: UserBlock | AssistantBlock) => block.type === 'text' && block.text.trim() === ''
const ofStatus = (status: ToolResultMessage['status']) => (messages: Messages) =>
  results(messages).flatMap((result) => (result.status === status ? [status] : []))
const dataOf = (type: MediaBlock['type'], from: 'data' | 'url') => (messages: Messages) =>
  media(messages).flatMap((block) => (block.type === type && block[from] !== undefined ? [block[from]] : []))

export const features = {
  userTexts: { what: 'texts of users', in: (messages) => texts(users(messages)) },
  replyTexts: { what: 'texts of replies', in: (messages) => texts(replies(messages)) },
  system: {
    what: 'system messages',
    in: (messages) => messages.flatMap((message) => (message.type === 'system' ? [message.text] : [])),
  },
  laterSystem: {
    what: 'system messages behind the beginning',
    in: (messages) => {
      const first = messages.findIndex(({ type }) => type !== 'system' && type !== 'error')
      return messages
        .slice(first < 0 ? messages.length : first)
        .flatMap((message) => (message.type === 'system' ? [message.text] : []))
    },
  },
  severalSystem: {
    what: 'more than one system message at the beginning',
    in: (messages) => {
      const first = messages.findIndex(({ type }) => type !== 'system' && type !== 'error')
      const beginning = first < 0 ? messages : messages.slice(0, first)
      return beginning.flatMap((message) => (message.type === 'system' ? [message.text] : [])).slice(1)
    },
  },
  neighbours: {
    what: 'messages of the same side in a row',
    in: (messages) => {
      const sides = messages.flatMap((message) => sideOf(message) ?? [])
      return sides.filter((side, index) => side !== 'toolResult' && side === sides[index - 1])
    },
  },
  emptyMessages: {
    what: 'messages without text, media and calls',
    in: (messages) => messages.flatMap((message) => (isEmpty(message) ? [message.type] : [])),
  },
  names: { what: 'names of users', in: (messages) => users(messages).flatMap(({ name }) => name ?? []) },
  senders: { what: 'workers that sent a message', in: (messages) => users(messages).flatMap(({ from }) => from ?? []) },
  facts: {
    what: 'facts',
    in: (messages) =>
      [...users(messages), ...results(messages)].flatMap(({ facts }) => (facts ? [JSON.stringify(facts)] : [])),
  },
  images: { what: 'images', in: dataOf('image', 'data') },
  imageLinks: { what: 'images by address', in: dataOf('image', 'url') },
  audio: { what: 'audio', in: dataOf('audio', 'data') },
  audioLinks: { what: 'audio by address', in: dataOf('audio', 'url') },
  files: {
    what: 'files',
    in: (messages) => blocks(messages).flatMap((block) => (block.type === 'file' ? [block.url] : [])),
  },
  reasoning: {
    what: 'reasoning without a signature',
    in: (messages) => reasoningOf(messages, false),
  },
  signedReasoning: { what: 'reasoning with a signature', in: (messages) => reasoningOf(messages, true) },
  signatures: {
    what: 'signatures and other options of providers on texts and calls',
    in: (messages) =>
      blocks(messages).flatMap((block) =>
        block.type !== 'reasoning' && 'providerOptions' in block && block.providerOptions !== undefined
          ? [JSON.stringify(block.providerOptions)]
          : [],
      ),
  },
  blockOrder: {
    what: 'texts behind calls, and several texts in one reply',
    in: (messages) => pairsIn(messages, (type) => type !== 'reasoning').filter((pair) => pair.endsWith('text')),
  },
  reasoningOrder: {
    what: 'reasoning behind texts and calls',
    in: (messages) =>
      pairsIn(messages, () => true).filter((pair) => pair.endsWith('reasoning') && !pair.startsWith('reasoning')),
  },
  calls: {
    what: 'tool calls',
    in: (messages) =>
      calls(messages).flatMap(({ toolName, input }) =>
        isObject(input) && portableName.test(toolName) ? [`${toolName} ${sorted(input)}`] : [],
      ),
  },
  plainArguments: {
    what: 'arguments that are no object',
    in: (messages) =>
      calls(messages).flatMap(({ input, inputText }) =>
        isObject(input) || input === null || inputText !== undefined ? [] : [JSON.stringify(input)],
      ),
  },
  badArguments: {
    what: 'arguments that are not JSON',
    in: (messages) => calls(messages).flatMap(({ inputText }) => inputText ?? []),
  },
  callIds: {
    what: 'ids of calls',
    in: (messages) => calls(messages).flatMap(({ toolCallId }) => (portableId.test(toolCallId) ? [toolCallId] : [])),
  },
  oddCallIds: {
    what: 'ids of calls that are longer than 40 characters or hold other characters than letters, digits, _ and -',
    in: (messages) => calls(messages).flatMap(({ toolCallId }) => (portableId.test(toolCallId) ? [] : [toolCallId])),
  },
  oddToolNames: {
    what: 'names of tools that are longer than 64 characters or hold other characters than letters, digits, _ and -',
    in: (messages) => calls(messages).flatMap(({ toolName }) => (portableName.test(toolName) ? [] : [toolName])),
  },
  results: {
    what: 'results of tools',
    in: (messages) =>
      results(messages).map(({ output }) => {
        const value = plainOutputOf(output)
        return typeof value === 'string' ? value : sorted(value)
      }),
  },
  jsonResults: {
    what: 'results that are JSON and not text',
    in: (messages) =>
      results(messages).flatMap(({ output }) => (output.type === 'json' ? [JSON.stringify(output.value)] : [])),
  },
  resultMedia: {
    what: 'images, audio and files in results',
    in: (messages) =>
      results(messages).flatMap(({ output }) =>
        output.type === 'content'
          ? output.value.flatMap((block) => (block.type === 'text' ? [] : [JSON.stringify(block)]))
          : [],
      ),
  },
  failedResults: { what: 'failures of calls', in: ofStatus('error') },
  cancelledResults: { what: 'cancels of calls', in: ofStatus('cancelled') },
  unknownResults: { what: 'unknown outcomes of calls', in: ofStatus('unknown') },
  errors: {
    what: 'errors that were recorded between messages',
    in: (messages) => messages.flatMap((message) => (message.type === 'error' ? [message.message] : [])),
  },
  summaries: {
    what: 'summaries as such',
    in: (messages) => messages.flatMap((message) => (message.type === 'summary' ? [message.text] : [])),
  },
  summaryCounts: {
    what: 'numbers of messages that summaries stand for',
    in: (messages) =>
      messages.flatMap((message) => (message.type === 'summary' ? [String(message.messagesCompacted)] : [])),
  },
  ids: {
    what: 'ids of messages',
    in: (messages) => messages.flatMap(({ id }) => (/^(m\d+)?$/.test(id) ? [] : [id])),
  },
  times: {
    what: 'timestamps of messages',
    in: (messages) => timesOf(messages.filter(({ type }) => type !== 'toolResult')),
  },
  resultTimes: { what: 'timestamps of results', in: (messages) => timesOf(results(messages)) },
  models: {
    what: 'the model of each reply',
    in: (messages) => replies(messages).flatMap(({ model }) => (model === unknownModel ? [] : [model])),
  },
  usage: {
    what: 'tokens of each reply',
    in: (messages) =>
      replies(messages).flatMap(({ usage }) =>
        usage.inputTokens + usage.outputTokens === 0 ? [] : [`${usage.inputTokens} ${usage.outputTokens}`],
      ),
  },
  finishReasons: {
    what: 'reasons why replies ended, other than a normal end or calls',
    in: (messages) =>
      replies(messages).flatMap(({ finishReason }) =>
        finishReason === 'stop' || finishReason === 'tool-calls' ? [] : [finishReason],
      ),
  },
} as const satisfies Readonly<Record<string, FeatureForm>>

export type Feature = keyof typeof features
export const featureNames = Object.keys(features) as readonly Feature[]

export function marksOf(feature: Feature, messages: Messages): readonly string[] {
  return features[feature].in(messages)
}

/** This includes a reply that holds only reasoning: providers refuse it. */
export function isEmpty(message: ChatMessage): boolean {
  if (message.type === 'user') return message.content.every(isBlank)
  return message.type === 'assistant' && message.content.every((block) => isBlank(block) || block.type === 'reasoning')
}

/** Undefined for messages that stand between the sides. */
function sideOf(message: ChatMessage): ChatMessage['type'] | undefined {
  if (message.type === 'error' || message.type === 'system' || isEmpty(message)) return undefined
  return message.type === 'summary' ? 'user' : message.type
}

/** Line by line, because formats cut texts into messages in their own ways. */
function texts(messages: readonly (UserMessage | AssistantMessage)[]): string[] {
  const all = messages.flatMap(({ content }) =>
    (content as readonly (UserBlock | AssistantBlock)[]).flatMap((block) => (block.type === 'text' ? block.text : [])),
  )
  return all
    .join('\n')
    .split('\n')
    .filter((line) => line.trim() !== '')
}

/** Line by line, and what is signed with its signature. */
function reasoningOf(messages: Messages, isSigned: boolean): string[] {
  return replies(messages).flatMap(({ content }) =>
    content.flatMap((block) => {
      if (block.type !== 'reasoning' || (block.providerOptions !== undefined) !== isSigned) return []
      return isSigned ? [`${block.text} ${JSON.stringify(block.providerOptions)}`] : block.text.split('\n')
    }),
  )
}

/** The types of blocks of each reply, each with the type behind it. */
function pairsIn(messages: Messages, counts: (type: AssistantBlock['type']) => boolean): string[] {
  return replies(messages).flatMap((reply) => {
    const types = reply.content.filter((block) => !isBlank(block)).map(({ type }) => type)
    const counted = isEmpty(reply) ? [] : types.filter(counts)
    return counted.slice(1).map((type, index) => `${counted[index]} ${type}`)
  })
}

function timesOf(messages: Messages): string[] {
  return messages.flatMap(({ at }) => (at === 0 ? [] : [String(at)]))
}

/** JSON with its fields in the order of their names. */
function sorted(value: Json | Readonly<Record<string, unknown>>): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  )
}
