/**
 * Duty: items of OpenAI's responses.
 * RESPONSES-1 Each function call has its output behind the items of its reply. Reasoning has an id of OpenAI, and an item of its reply behind it.
 */
import type {
  AssistantBlock,
  Json,
  ReasoningBlock,
  ToolOutput,
  ToolResultMessage,
  UserBlock,
} from '../../core/history/chat/chat-message.ts'
import type { Format } from '../format.ts'
import { argumentsText } from '../parts/arguments.ts'
import { addressOf, dataOf, mediaAt } from '../parts/data-uri.ts'
import { Foreign } from '../parts/foreign.ts'
import { callIdFor, toolNameFor } from '../parts/portable.ts'
import { blocksOf, haveRoles, looked, wholeOf } from '../parts/role-list.ts'
import { modelOf, optionOf, optionsOf, outputOf, type Reply, type Said, textBlocks, textOutput } from '../parts/said.ts'
import {
  joined,
  lastModel,
  noteOf,
  outputText,
  type ReplyTurn,
  type Turn,
  turnsOf,
  type UserTurn,
  withoutNone,
} from '../parts/turns.ts'
import { noAudio, ofRequests, strictNames, textResults } from '../parts/wire-losses.ts'
import type { Source } from '../source.ts'
import { fileAt, textOfPart } from './openai-chat.ts'

const roles = ['user', 'assistant', 'system', 'developer'] as const
const itemTypes = new Set<unknown>(['function_call', 'function_call_output', 'reasoning'])
const partTypes = new Set<unknown>(['input_text', 'output_text', 'input_image', 'input_file'])

export const openaiResponses: Format = {
  name: 'openai-responses',
  title: 'OpenAI responses',
  form: 'a JSON object `{input, model?}`, the body of a request; `input` is a list of items',
  losses: {
    ...ofRequests,
    ...noAudio,
    ...strictNames,
    ...textResults,
    neighbours: 'replies become one reply',
    names: 'left out',
    blockOrder: 'texts in a row become one',
    reasoningOrder: 'at the end of a reply it is left out',
    reasoning: 'left out: OpenAI takes only reasoning that it has given an id',
    signedReasoning: 'left out if another provider signed it, or if it ends a reply',
    signatures: 'left out',
    files: 'those by address lose their names',
    failedResults: 'only the text says so',
  },
  fits(source) {
    const whole = wholeOf(source)
    if (whole.object === 'response' || (typeof whole.input === 'string' && !('messages' in whole))) return true
    const items = itemsLooked(source)
    if (Array.isArray(whole.input) && haveRoles(items, roles)) return true
    return items.some(({ type }) => itemTypes.has(type)) || blocksOf(items).some(({ type }) => partTypes.has(type))
  },
  read(source, said) {
    const { whole } = source
    const reply: Reply = whole?.isObject ? { model: modelOf('openai', whole.field('model').textIfAny()) } : {}
    if (whole?.has('instructions'))
      for (const { text } of textBlocks(whole.field('instructions').textIfAny())) said.system(text)
    let blocks: AssistantBlock[] = []
    const endReply = () => {
      if (blocks.length > 0) said.assistant(blocks, reply)
      blocks = []
    }
    for (const item of itemsOf(source)) {
      const ofReply = replyBlocks(item, said)
      if (ofReply !== null) {
        blocks.push(...ofReply)
        continue
      }
      if (heldTypes.has(typeOf(item))) endReply()
      readItem(item, said)
    }
    endReply()
  },
  write: (messages) => ({
    json: {
      ...lastModel(messages, 'openai'),
      input: turnsOf(messages).flatMap(writtenTurn),
    },
  }),
}

function writtenTurn(turn: Turn): readonly Json[] {
  switch (turn.side) {
    case 'system':
      return [{ type: 'message', role: 'system', content: turn.text }]
    case 'user':
      return [writtenUser(turn)]
    case 'assistant':
      return writtenReply(turn)
    case 'results':
      return turn.results.map(writtenResult)
  }
}

function itemsLooked(source: Source): readonly Readonly<Record<string, unknown>>[] {
  const whole = wholeOf(source)
  return ['input', 'output', 'items']
    .flatMap((name) => (Array.isArray(whole[name]) ? looked(source, name) : []))
    .concat(source.whole?.isObject ? [] : looked(source))
}

/** The items of a request, and behind them those of its response, where both are there. */
function itemsOf({ whole, lines }: Source): readonly Foreign[] {
  if (!whole?.isObject) return lines
  if (whole.has('type')) return [whole]
  const [input, output] = [whole.field('input'), whole.field('output', 'items')]
  if (input.isNone && output.isNone) throw whole.wrong('has no list "input" and no list "output".')
  const asked = input.isText ? [new Foreign({ role: 'user', content: input.text() }, 'input')] : input.itemsIfAny()
  return [...asked, ...output.itemsIfAny()]
}

/** Null for an item that is no part of a reply. */
function replyBlocks(item: Foreign, said: Said): AssistantBlock[] | null {
  const type = typeOf(item)
  if (type === 'function_call' || type === 'custom_tool_call') {
    const args = item.field('arguments', 'input').textIfAny() ?? ''
    return [
      said.call(
        item.field('call_id', 'id').textIfAny(),
        item.field('name').text(),
        type === 'function_call' ? args : { value: args },
      ),
    ]
  }
  if (type === 'reasoning') return [readReasoning(item)]
  if (type !== 'message' || item.field('role').word(roles) !== 'assistant') return null
  const content = item.field('content')
  if (!content.isList) return textBlocks(content.textIfAny())
  return content.items().flatMap((part) => textOfPart(part, said).flatMap(textBlocks))
}

function typeOf(item: Foreign): string {
  return item.field('type').textIfAny() ?? 'message'
}

function readReasoning(item: Foreign): ReasoningBlock {
  const parts = [...item.field('summary').itemsIfAny(), ...item.field('content').itemsIfAny()]
  const text = parts.map((part) => part.field('text').textIfAny() ?? '').join('\n')
  const itemId = item.field('id').textIfAny()
  return {
    type: 'reasoning',
    text,
    ...optionsOf('openai', { itemId, reasoningEncryptedContent: item.field('encrypted_content').textIfAny() }),
  }
}

/** Texts, and media if there are any. */
function outputOfParts(output: Foreign, said: Said): ToolOutput {
  const blocks = output.items().flatMap((part) => userPart(part, said))
  return blocks.some(({ type }) => type !== 'text')
    ? { type: 'content', value: blocks }
    : textOutput(blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n'))
}

/** Any other item is left out, and is no end of a reply: what a model thought before it belongs to what it said behind it. */
const heldTypes = new Set(['message', 'function_call_output', 'custom_tool_call_output'])

function readItem(item: Foreign, said: Said): void {
  const type = typeOf(item)
  if (type === 'function_call_output' || type === 'custom_tool_call_output') {
    const output = item.field('output')
    const value = output.isList ? outputOfParts(output, said) : outputOf(output.json())
    said.result({ id: item.field('call_id').text() }, 'ok', value)
  } else if (type === 'message') {
    const content = item.field('content')
    if (item.field('role').word(roles) === 'user')
      said.user(
        content.isList ? content.items().flatMap((part) => userPart(part, said)) : textBlocks(content.textIfAny()),
      )
    else
      said.system(
        content.isList
          ? content
              .items()
              .map((part) => part.field('text').text())
              .join('\n')
          : (content.textIfAny() ?? ''),
      )
  } else said.leaveOut(item, `an item of type "${type}"`)
}

function userPart(part: Foreign, said: Said): UserBlock[] {
  const type = part.field('type').text()
  if (type === 'input_text' || type === 'text' || type === 'output_text') return textBlocks(part.field('text').text())
  if (type === 'input_image' && part.field('image_url').isText)
    return [mediaAt('image', part.field('image_url').text())]
  const address = type === 'input_file' ? part.field('file_data', 'file_url') : undefined
  if (address?.isText) return [fileAt(address.text(), part.field('filename').textIfAny())]
  said.leaveOut(
    part,
    type === 'input_image' || type === 'input_file' ? 'a file by an id of its provider' : `a part of type "${type}"`,
  )
  return []
}

function writtenUser({ blocks }: UserTurn): Json {
  return { type: 'message', role: 'user', content: blocks.map(writtenUserPart) }
}

function writtenUserPart(block: UserBlock): Json {
  switch (block.type) {
    case 'text':
      return { type: 'input_text', text: block.text }
    case 'image':
      return { type: 'input_image', image_url: addressOf(block), detail: 'auto' }
    case 'audio':
      return { type: 'input_text', text: noteOf(block) }
    case 'file':
      if (dataOf(block.url) === null) return { type: 'input_file', file_url: block.url }
      return { type: 'input_file', filename: block.filename ?? 'file', file_data: block.url }
  }
}

function writtenReply({ blocks }: ReplyTurn): Json[] {
  const items: Json[] = []
  const said = blocks.findLastIndex(({ type }) => type !== 'reasoning')
  let texts: AssistantBlock[] = []
  const endText = () => {
    if (texts.length > 0) items.push({ type: 'message', role: 'assistant', content: joined(texts) })
    texts = []
  }
  for (const [index, block] of blocks.entries()) {
    if (block.type === 'text') {
      texts.push(block)
      continue
    }
    if (block.type === 'reasoning') {
      const item = writtenReasoning(block)
      // OpenAI refuses reasoning without the item that followed it.
      if (item === null || index > said) continue
      endText()
      items.push(item)
      continue
    }
    endText()
    items.push({
      type: 'function_call',
      call_id: callIdFor(block.toolCallId, 64),
      name: toolNameFor(block.toolName),
      arguments: argumentsText(block),
    })
  }
  endText()
  return items
}

function writtenReasoning({ text, providerOptions }: ReasoningBlock): Json {
  const id = optionOf(providerOptions, 'openai', 'itemId')
  if (id === undefined) return null
  const encrypted_content = optionOf(providerOptions, 'openai', 'reasoningEncryptedContent')
  const summary = text === '' ? [] : [{ type: 'summary_text', text }]
  return withoutNone({ type: 'reasoning', id, summary, encrypted_content }) as Json
}

function writtenResult(result: ToolResultMessage): Json {
  return { type: 'function_call_output', call_id: callIdFor(result.toolCallId, 64), output: outputText(result) }
}
