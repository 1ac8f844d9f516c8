/**
 * Duty: ChatMessage of the fifth design, as JSON: with the calls of a reply beside its text, and, as the program has it since its version 0.9,
 * with blocks in their order and ids of messages.
 * CHAT-JSON-1 A reply with calls is followed by the results of all of them, in the order of the calls.
 */

import { isObject } from '../../core/check/is-object.ts'
import type {
  AssistantBlock,
  AssistantMessage,
  ChatMessage,
  Json,
  ToolResultMessage,
  UserBlock,
} from '../../core/history/chat/chat-message.ts'
import { isTime } from '../../core/hours.ts'
import type { Format, Losses } from '../format.ts'
import { argumentsText } from '../parts/arguments.ts'
import type { Foreign } from '../parts/foreign.ts'
import { looked, messagesIn } from '../parts/role-list.ts'
import { errorOutput, type Said, textBlocks, textOutput, unknownModel } from '../parts/said.ts'
import { callsIn, joined, noteOf, outputText, withoutNone } from '../parts/turns.ts'
import { noResultMedia, oneText, textResults } from '../parts/wire-losses.ts'
import type { Source } from '../source.ts'

const types = ['system', 'user', 'assistant', 'toolCallResult', 'error', 'summary'] as const

/** What all forms of ChatMessage lose. */
export const commonLosses: Losses = {
  ...textResults,
  ...noResultMedia,
  names: 'left out',
  senders: 'left out',
  facts: 'left out',
  imageLinks: 'become a note in the text',
  audioLinks: 'becomes a note in the text',
  files: 'become a note in the text',
  signatures: 'left out',
  signedReasoning: 'the text stays; the signature stays if it is of OpenAI or Anthropic and the reply names its model',
  resultTimes: 'left out',
  usage: 'left out',
  finishReasons: 'left out',
  cancelledResults: 'become failures',
  unknownResults: 'become failures',
}

export const chatMessage: Format = {
  name: 'chat-message',
  title: 'ChatMessage',
  form: 'a JSON object `{messages, tools}`; the calls of a reply stand beside its text',
  losses: {
    ...commonLosses,
    ...oneText,
    reasoning: 'that of a reply becomes one text',
    ids: 'left out',
    models: 'left out',
  },
  fits: (source) => areMessages(source) && !hasBlocks(source),
  read,
  write: (messages) => ({ json: { messages: written(messages, false), tools: [] } }),
}

export const chatMessageBlocks: Format = {
  name: 'chat-message-blocks',
  title: 'ChatMessage with blocks',
  form: 'a JSON object `{messages, tools}`; the blocks of a reply stand in their order, and messages have ids',
  losses: { ...commonLosses, ids: 'those of results and system messages are left out' },
  fits: (source) => areMessages(source) && hasBlocks(source),
  read,
  write: (messages) => ({ json: { messages: written(messages, true), tools: [] } }),
}

function areMessages(source: Source): boolean {
  const items = looked(source)
  const isOurs = ({ type, id, at }: Readonly<Record<string, unknown>>) =>
    typeof type === 'string' && typeof id === 'string' && typeof at === 'number'
  return (
    items.length > 0 && items.every((item) => types.includes(item.type as never) && !('role' in item) && !isOurs(item))
  )
}

function hasBlocks(source: Source): boolean {
  return looked(source).some(
    ({ type, content, message_id }) => message_id !== undefined || (type === 'assistant' && Array.isArray(content)),
  )
}

function read(source: Source, said: Said): void {
  for (const message of messagesIn(source)) readMessage(message, said)
}

function readMessage(message: Foreign, said: Said): void {
  const type = message.field('type').word(types)
  if (type === 'toolCallResult') {
    readResult(message, said)
    return
  }
  const head = { at: message.field('timestamp').time(), id: message.field('message_id').textIfAny() }
  const content = message.field('content')
  switch (type) {
    case 'system':
      said.system(content.text(), head)
      return
    case 'user':
      said.user(content.isList ? readUserBlocks(content, said) : textBlocks(content.textIfAny()), head)
      return
    case 'assistant':
      readReply(message, said, head)
      return
    case 'error':
      said.error(message.field('message').text(), head)
      return
    case 'summary':
      said.summary(content.text(), message.field('messages_compacted').numberOr0(), head)
  }
}

export function readUserBlocks(content: Foreign, said: Said): UserBlock[] {
  return content.items().flatMap((block): UserBlock[] => {
    const type = block.field('type').text()
    if (type === 'text') return [{ type: 'text', text: block.field('text').text() }]
    if (type === 'image' || type === 'audio')
      return [{ type, mediaType: block.field('mime_type', 'mimeType').text(), data: block.field('data').text() }]
    said.leaveOut(block, `a block of type "${type}"`)
    return []
  })
}

function readReply(message: Foreign, said: Said, head: { readonly at: number; readonly id: string | undefined }): void {
  const content = message.field('content')
  const reasoning = message.field('reasoning')
  const encrypted = reasoning.isObject ? reasoning.field('encrypted_content') : undefined
  // The older form names the model only beside what it encrypted.
  const given = message.field('model').textIfAny() ?? (encrypted?.isObject && encrypted.field('model').textIfAny())
  const model = given ? given.replace(':', '/') : undefined
  if (content.isList) {
    said.assistant(
      content.items().flatMap((block) => readReplyBlock(block, said, model)),
      { ...head, model },
    )
    return
  }
  const blocks: AssistantBlock[] =
    encrypted === undefined ? [] : readReasoning(reasoning.field('summary_text'), encrypted)
  const calls = message
    .field('tool_calls')
    .itemsIfAny()
    .map((call) => readCall(call, said))
  said.assistant([...blocks, ...textBlocks(content.textIfAny()), ...calls], { ...head, model })
}

export function readCall(call: Foreign, said: Said) {
  const args = call.field('arguments')
  return said.call(
    call.field('id').textIfAny(),
    call.field('name').text(),
    args.isText || args.isNone ? (args.textIfAny() ?? '') : { value: args.json() },
  )
}

function readReplyBlock(block: Foreign, said: Said, model: string | undefined): AssistantBlock[] {
  const type = block.field('type').text()
  if (type === 'text') return [{ type: 'text', text: block.field('text').text() }]
  if (type === 'toolCall') return [readCall(block, said)]
  if (type === 'reasoning') return readReasoning(block.field('summary'), block.field('encrypted'), model)
  said.leaveOut(block, `a block of type "${type}"`)
  return []
}

/** Encrypted content is bound to the model that made it. */
function readReasoning(summary: Foreign, encrypted: Foreign, model?: string): AssistantBlock[] {
  const text = summary.textIfAny() ?? ''
  if (!encrypted.isObject) return text === '' ? [] : [{ type: 'reasoning', text }]
  const provider = (encrypted.field('model').textIfAny()?.replace(':', '/') ?? model ?? '').split('/')[0] || 'unknown'
  const [id, content] = [encrypted.field('id').textIfAny() ?? '', encrypted.field('content').textIfAny() ?? '']
  const options: Record<string, Json> =
    provider === 'anthropic' ? { signature: content } : { itemId: id, reasoningEncryptedContent: content }
  return [{ type: 'reasoning', text, providerOptions: { [provider]: options } }]
}

function readResult(message: Foreign, said: Said): void {
  // An older form has the result within a field of its own.
  const body = message.has('Ok', 'Err') ? message : message.field('content', 'result')
  const isOk = body.has('Ok')
  if (!isOk && !body.has('Err')) throw message.wrong('must have Ok or Err.')
  readOutcome(body.field(isOk ? 'Ok' : 'Err'), isOk, said)
}

export function readOutcome(outcome: Foreign, isOk: boolean, said: Said): void {
  const answers = { id: outcome.field('id').text(), name: outcome.field('name').textIfAny() }
  if (isOk) said.result(answers, 'ok', textOutput(outcome.field('result').text()))
  else said.result(answers, 'error', errorOutput(outcome.field('error').text()))
}

/** A time that no date can hold is not known. */
export function isoOf(at: number): string {
  return new Date(isTime(at) ? at : 0).toISOString().replace('Z', '+00:00')
}

function written(messages: readonly ChatMessage[], areBlocks: boolean): Json[] {
  const calls = new Map(
    messages.flatMap((message) =>
      message.type === 'assistant' ? callsIn(message.content).map((call) => [call.toolCallId, call] as const) : [],
    ),
  )
  return messages.map((message) => {
    if (message.type !== 'toolResult') return writtenMessage(message, areBlocks)
    const call = calls.get(message.toolCallId)
    return { type: 'toolCallResult', ...outcomeOf(message, call === undefined ? null : argumentsText(call)) }
  })
}

function writtenMessage(message: Exclude<ChatMessage, ToolResultMessage>, areBlocks: boolean): Json {
  const timestamp = isoOf(message.at)
  const id = areBlocks ? { message_id: message.id } : {}
  switch (message.type) {
    case 'system':
      return { type: 'system', content: message.text, timestamp }
    case 'user':
      return { type: 'user', ...id, content: message.content.map(writtenBlock), timestamp }
    case 'assistant':
      return areBlocks ? writtenBlocks(message) : writtenReply(message)
    case 'error':
      return { type: 'error', ...id, message: message.message, timestamp }
    case 'summary':
      return { type: 'summary', ...id, content: message.text, timestamp, messages_compacted: message.messagesCompacted }
  }
}

export function outcomeOf(result: ToolResultMessage, args: string | null): Readonly<Record<string, Json>> {
  const { toolCallId: id, toolName: name, status } = result
  if (status === 'ok') return { Ok: { id, name, arguments: args ?? '{}', result: outputText(result) } }
  return { Err: { id, name, arguments: args, error: outputText(result) } }
}

export function writtenBlock(block: UserBlock): Json {
  if (block.type === 'text') return { type: 'text', text: block.text }
  if (block.type !== 'file' && block.data !== undefined)
    return { type: block.type, data: block.data, mime_type: block.mediaType }
  return { type: 'text', text: noteOf(block) }
}

function writtenReply({ content, model, at }: AssistantMessage): Json {
  const reasoning = content.filter((block) => block.type === 'reasoning')
  const summary = reasoning
    .map(({ text }) => text)
    .filter((text) => text !== '')
    .join('\n')
  const signed = reasoning
    .map(({ providerOptions }) => encryptedOf(providerOptions, model))
    .find((one) => one !== undefined)
  const encrypted_content = signed && { ...signed, model: model.replace('/', ':') }
  return {
    type: 'assistant',
    content: joined(content),
    reasoning: withoutNone({ summary_text: summary === '' ? undefined : summary, encrypted_content }) as Json,
    timestamp: isoOf(at),
    tool_calls: callsIn(content).map(writtenCall),
  }
}

function writtenBlocks({ id, model, content, at }: AssistantMessage): Json {
  return withoutNone({
    type: 'assistant',
    message_id: id,
    model: model === unknownModel ? undefined : model.replace('/', ':'),
    content: content.map((block) => writtenReplyBlock(block, model)),
    timestamp: isoOf(at),
  }) as Json
}

function writtenReplyBlock(block: AssistantBlock, model: string): Json {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'reasoning': {
      const summary = block.text === '' ? undefined : block.text
      return withoutNone({ type: 'reasoning', summary, encrypted: encryptedOf(block.providerOptions, model) }) as Json
    }
    case 'tool-call':
      return { type: 'toolCall', ...writtenCall(block) }
  }
}

export function writtenCall(call: Extract<AssistantBlock, { readonly type: 'tool-call' }>) {
  return { id: call.toolCallId, name: call.toolName, arguments: argumentsText(call) }
}

/** The signed data that the model of this reply wants back. Undefined if the model is not known, or if another one signed it. */
function encryptedOf(options: unknown, model: string): { readonly id: string; readonly content: string } | undefined {
  const [provider = ''] = model.split('/')
  const own = isObject(options) ? options[provider] : undefined
  if (!isObject(own)) return undefined
  const content = provider === 'anthropic' ? own.signature : own.reasoningEncryptedContent
  const id = typeof own.itemId === 'string' ? own.itemId : ''
  return typeof content === 'string' ? { id, content } : undefined
}
