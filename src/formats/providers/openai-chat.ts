/**
 * Duty: messages of OpenAI's chat completions, and of the many interfaces that are like it.
 * OPENAI-CHAT-1 Behind a reply with calls stand the results of all these calls, and nothing between them.
 */
import { isObject } from '../../core/check/is-object.ts'
import type { FinishReason, Json, UserBlock } from '../../core/history/chat/chat-message.ts'
import type { Format } from '../format.ts'
import { argumentsText } from '../parts/arguments.ts'
import { addressOf, dataOf, mediaAt } from '../parts/data-uri.ts'
import type { Foreign } from '../parts/foreign.ts'
import { callIdFor, toolNameFor } from '../parts/portable.ts'
import { areTextBlocks, blocksOf, haveRoles, looked, messagesIn, wholeOf } from '../parts/role-list.ts'
import { meaningOf, modelOf, type Reply, type Said, textBlocks, textOutput } from '../parts/said.ts'
import {
  callsIn,
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
import { noReasoning, ofRequests, oneText, strictNames, textResults } from '../parts/wire-losses.ts'
import type { Source } from '../source.ts'

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const
const finishReasons = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool-calls',
  content_filter: 'content-filter',
} as const
const partTypes = new Set<unknown>(['image_url', 'input_audio', 'refusal'])

export const openaiChat: Format = {
  name: 'openai-chat',
  title: 'OpenAI chat completions',
  form: 'a JSON object `{messages, model?}`, the body of a request',
  losses: {
    ...ofRequests,
    ...noReasoning,
    ...oneText,
    ...textResults,
    ...strictNames,
    signatures: 'left out',
    failedResults: 'only the text says so',
    audio: 'what is neither WAV nor MP3 becomes a note in the text',
    audioLinks: 'becomes a note in the text',
    files: 'those with data stay; those by address become a note in the text',
  },
  fits(source) {
    const whole = wholeOf(source)
    if (Array.isArray(whole.choices) || isDataSet(source)) return true
    const items = looked(source)
    // A request names its model, and a plain list of roles does not.
    if (typeof whole.model === 'string' && Array.isArray(whole.messages) && haveRoles(items, roles))
      return !mayBeOther(items)
    // Other formats have such lists too, but only OpenAI has names in them.
    if (areTextBlocks(items) && items.some(({ name }) => typeof name === 'string')) return true
    const isFilePart = (part: unknown) => isObject(part) && part.type === 'file' && isObject(part.file)
    const isTyped = (call: unknown) => (call as { function?: unknown } | null)?.function !== undefined
    return items.some(
      ({ role, tool_calls, tool_call_id, function_call, content, refusal }) =>
        (Array.isArray(tool_calls) &&
          tool_calls.some(isTyped) &&
          typeof (tool_calls[0] as { function?: { arguments?: unknown } } | null)?.function?.arguments === 'string') ||
        function_call !== undefined ||
        typeof refusal === 'string' ||
        (Array.isArray(content) && content.some(isFilePart)) ||
        role === 'developer' ||
        role === 'function' ||
        (role === 'tool' && typeof tool_call_id === 'string' && Array.isArray(content)) ||
        (Array.isArray(content) && blocksOf([{ content }]).some(({ type }) => partTypes.has(type))),
    )
  },
  read(source, said) {
    const { whole } = source
    const model = whole?.isObject ? modelOf('openai', whole.field('model').textIfAny()) : undefined
    if (whole?.has('choices')) {
      const at = whole.field('created').time()
      const choices = whole.field('choices').items()
      if (choices.length > 1) said.warn(`the first of ${choices.length} choices was read.`)
      for (const choice of choices.slice(0, 1))
        readMessage(choice.field('message'), said, {
          model,
          at,
          ...finishOf(choice),
          id: whole.field('id').textIfAny(),
        })
      return
    }
    for (const message of messagesOf(source, said)) readMessage(message, said, { model })
  },
  write: (messages) => ({
    json: { ...lastModel(messages, 'openai'), messages: turnsOf(messages).flatMap(writtenTurn) },
  }),
}

/** Each line holds a whole conversation. */
function isDataSet({ whole, lines }: Source): boolean {
  return whole === null && lines.every((line) => line.has('messages'))
}

/** Calls in the form of another interface. */
function mayBeOther(items: readonly Readonly<Record<string, unknown>>[]): boolean {
  return items.some(({ tool_calls, tool_name, images }) => {
    const [call] = Array.isArray(tool_calls) ? tool_calls : []
    const made = (Object(call) as { function?: { arguments?: unknown } }).function
    return (
      tool_name !== undefined || images !== undefined || (call !== undefined && typeof made?.arguments !== 'string')
    )
  })
}

/** Lines of a data set hold a whole conversation each: the first one is read. */
function messagesOf(source: Source, said: Said): readonly Foreign[] {
  const [first, ...more] = source.lines
  if (source.whole !== null || !first?.has('messages')) return messagesIn(source)
  if (more.length > 0) said.warn(`the first of ${more.length + 1} conversations was read.`)
  return first.field('messages').items()
}

function finishOf(choice: Foreign): Pick<Reply, 'finishReason'> {
  const finishReason = meaningOf<FinishReason>(finishReasons, choice.field('finish_reason').value)
  return finishReason === undefined ? {} : { finishReason }
}

function readMessage(message: Foreign, said: Said, reply: Reply): void {
  const role = message.field('role').word(roles)
  const content = message.field('content')
  switch (role) {
    case 'system':
    case 'developer':
      said.system(textOf(content, said))
      return
    case 'user':
      said.user(userBlocks(content, said), { name: message.field('name').textIfAny() })
      return
    case 'assistant':
      said.assistant(
        [
          ...textBlocks(
            message.field('reasoning_content', 'reasoning').isText
              ? message.field('reasoning_content', 'reasoning').text()
              : '',
          ).map(({ text }) => ({ type: 'reasoning' as const, text })),
          ...textBlocks(textOf(content, said)),
          ...textBlocks(message.field('refusal').textIfAny()),
          ...callsOf(message, said),
        ],
        reply,
      )
      return
    case 'tool':
      said.result(
        { id: message.field('tool_call_id').textIfAny(), name: message.field('name').textIfAny() },
        'ok',
        textOutput(textOf(content, said)),
      )
      return
    case 'function':
      said.result({ name: message.field('name').textIfAny() }, 'ok', textOutput(textOf(content, said)))
  }
}

function textOf(content: Foreign, said: Said): string {
  if (!content.isList) return content.textIfAny() ?? ''
  return content
    .items()
    .flatMap((part) => textOfPart(part, said))
    .join('\n')
}

/** Where only texts can stand: what another part holds is left out. */
export function textOfPart(part: Foreign, said: Said): readonly string[] {
  const text = part.field('text', 'refusal')
  if (text.isNone) said.leaveOut(part, `a part of type "${part.field('type').textIfAny() ?? 'unknown'}"`)
  return text.isNone || text.text() === '' ? [] : [text.text()]
}

function callsOf(message: Foreign, said: Said) {
  const calls = message
    .field('tool_calls')
    .itemsIfAny()
    .map((call) => {
      const made = call.has('custom') ? call.field('custom') : call.field('function')
      const args = made.field('arguments', 'input')
      const id = call.field('id').textIfAny()
      const name = made.field('name').text()
      if (call.has('custom')) return said.call(id, name, { value: args.textIfAny() ?? '' })
      return said.call(id, name, args.isText ? args.text() : { value: args.isNone ? {} : args.json() })
    })
  const old = message.field('function_call')
  if (!old.isNone) calls.push(said.call(undefined, old.field('name').text(), old.field('arguments').textIfAny() ?? ''))
  return calls
}

function userBlocks(content: Foreign, said: Said): UserBlock[] {
  if (!content.isList) return textBlocks(content.textIfAny())
  return content.items().flatMap((part): UserBlock[] => {
    const type = part.field('type').text()
    if (type === 'text') return textBlocks(part.field('text').text())
    if (type === 'image_url') {
      const image = part.field('image_url')
      return [mediaAt('image', image.isText ? image.text() : image.field('url').text())]
    }
    if (type === 'input_audio') {
      const audio = part.field('input_audio')
      const format = audio.field('format').textIfAny() ?? 'wav'
      return [
        {
          type: 'audio',
          mediaType: format === 'mp3' ? 'audio/mpeg' : `audio/${format}`,
          data: audio.field('data').text(),
        },
      ]
    }
    const data = type === 'file' ? part.field('file').field('file_data') : undefined
    if (data?.isText) return [fileAt(data.text(), part.field('file').field('filename').textIfAny())]
    said.leaveOut(part, type === 'file' ? 'a file by an id of its provider' : `a part of type "${type}"`)
    return []
  })
}

export function fileAt(address: string, filename: string | undefined): UserBlock {
  const mediaType = dataOf(address)?.mediaType || 'application/octet-stream'
  return { type: 'file', mediaType, url: address, ...(filename !== undefined && { filename }) }
}

function writtenTurn(turn: Turn): readonly Readonly<Record<string, unknown>>[] {
  switch (turn.side) {
    case 'system':
      return [{ role: 'system', content: turn.text }]
    case 'user':
      return [withoutNone({ role: 'user', content: writtenUser(turn), name: nameOf(turn) })]
    case 'assistant':
      return [writtenReply(turn)]
    case 'results':
      return turn.results.map((result) => ({
        role: 'tool',
        tool_call_id: callIdFor(result.toolCallId),
        content: outputText(result),
      }))
  }
}

/** OpenAI refuses names with spaces and some signs. */
function nameOf({ name }: UserTurn): string | undefined {
  return name?.replaceAll(/[\s<|\\/>]/g, '_').slice(0, 64)
}

function writtenUser({ blocks }: UserTurn): Json {
  const [first] = blocks
  if (blocks.length === 1 && first?.type === 'text') return first.text
  return blocks.map(writtenBlock)
}

function writtenBlock(block: UserBlock): Json {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'image':
      return { type: 'image_url', image_url: { url: addressOf(block) } }
    case 'audio': {
      const format = audioFormat(block.mediaType)
      if (block.data === undefined || format === null) return { type: 'text', text: noteOf(block) }
      return { type: 'input_audio', input_audio: { data: block.data, format } }
    }
    case 'file': {
      if (dataOf(block.url) === null) return { type: 'text', text: noteOf(block) }
      return { type: 'file', file: { filename: block.filename ?? 'file', file_data: block.url } }
    }
  }
}

function audioFormat(mediaType: string): 'wav' | 'mp3' | null {
  if (/wav/.test(mediaType)) return 'wav'
  return /mpeg|mp3/.test(mediaType) ? 'mp3' : null
}

function writtenReply({ blocks }: ReplyTurn): Readonly<Record<string, unknown>> {
  const calls = callsIn(blocks)
  const text = joined(blocks)
  return withoutNone({
    role: 'assistant',
    content: text === '' ? null : text,
    tool_calls:
      calls.length === 0
        ? undefined
        : calls.map((call) => ({
            id: callIdFor(call.toolCallId),
            type: 'function',
            function: { name: toolNameFor(call.toolName), arguments: argumentsText(call) },
          })),
  })
}
