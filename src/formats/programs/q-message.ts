/**
 * Duty: messages as the Amazon Q command line keeps them: pairs of a user's side and an assistant's side. All formats of that program read them.
 * Q-1 A user's side is a prompt, or the results of all calls of the reply before it; with calls that were cancelled it may be both.
 * Q-2 Each user's side is answered, except the last one.
 */
import type {
  AssistantBlock,
  ChatMessage,
  Json,
  ToolOutput,
  ToolResultMessage,
  UserBlock,
} from '../../core/history/chat/chat-message.ts'
import { isTime } from '../../core/hours.ts'
import type { Losses, Written } from '../format.ts'
import { argumentsObject } from '../parts/arguments.ts'
import type { Foreign } from '../parts/foreign.ts'
import { errorOutput, meaningOf, type Said, textBlocks } from '../parts/said.ts'
import { alternating, callsIn, joined, outputText, type ReplyTurn, turnsOf, type UserTurn } from '../parts/turns.ts'
import { noAudio, noFiles, noReasoning, ofRequests, oneText } from '../parts/wire-losses.ts'

type Fields = Readonly<Record<string, Json>>

/** The text that stands in place of a side which a pair lacks. It is left out when it is read. */
const emptyPrompt = 'Empty prompt'
const interrupted = 'Tool uses were interrupted, waiting for the next user prompt'

export const qLosses: Losses = {
  ...ofRequests,
  ...noAudio,
  ...noFiles,
  ...noReasoning,
  ...oneText,
  models: 'left out',
  system: 'become the context of the first message, and a part of that message when they are read',
  laterSystem: 'become the context of the first message',
  severalSystem: 'become one text',
  times: 'those of replies are left out',
  names: 'left out',
  neighbours: 'become one message',
  signatures: 'left out',
  imageLinks: 'become a note in the text',
  images: 'those that are not PNG, JPEG, GIF or WebP become a note in the text',
  badArguments: 'go under the name `arguments` of an object',
  cancelledResults: 'become failures, unless a prompt follows',
  unknownResults: 'become failures',
  ids: 'those of users are left out',
}

const userForms = ['Prompt', 'ToolUseResults', 'CancelledToolUses'] as const
const imageFormats: Readonly<Record<string, string>> = {
  png: 'Png',
  jpeg: 'Jpeg',
  jpg: 'Jpeg',
  gif: 'Gif',
  webp: 'Webp',
}

/** An entry: a pair, or one side of it. */
export function readQEntry(entry: Foreign, said: Said): void {
  // Older versions of the program wrote a pair as a list.
  const [user, assistant] = entry.isList ? entry.items() : [entry.field('user'), entry.field('assistant')]
  if (user === undefined || assistant === undefined) throw entry.wrong('must be a pair.')
  if (user.isNone && assistant.isNone) throw entry.wrong('has neither a user nor an assistant.')
  if (!user.isNone) readQUser(user, said)
  if (!assistant.isNone) readQAssistant(assistant, said)
}

export function readQUser(user: Foreign, said: Said): void {
  // The first design wrote the form itself; the program wrote a message around it.
  const content = user.has(...userForms) ? user : user.field('content')
  const form = userForms.find((one) => content.has(one))
  if (form === undefined) throw content.wrong(`must have one of ${userForms.join(', ')}.`)
  const body = content.field(form)
  const at = (user.has('timestamp') ? user : body).field('timestamp').time()
  for (const result of body.field('tool_use_results', 'results').itemsIfAny())
    readResult(result, form === 'CancelledToolUses', said, at)
  const prompt = body.field('prompt', 'content')
  const text = prompt.isText && prompt.text() !== emptyPrompt ? prompt.text() : ''
  const context = user.has('additional_context') ? user.field('additional_context').textIfAny() : ''
  const images = user.has('images')
    ? user
        .field('images')
        .itemsIfAny()
        .flatMap((image) => imageOf(image, said))
    : []
  const blocks = [...textBlocks(context), ...textBlocks(text), ...images]
  if (blocks.length > 0) said.user(blocks, { at })
}

function readResult(result: Foreign, isCancelled: boolean, said: Said, at: number): void {
  const blocks = result.field('content').itemsIfAny()
  const [only] = blocks
  const value: ToolOutput =
    blocks.length === 1 && only?.has('Json', 'json')
      ? { type: 'json', value: only.field('Json', 'json').json() }
      : { type: 'text', value: blocks.map(blockText).join('\n') }
  const isError = result.field('status').textIfAny()?.toLowerCase() === 'error'
  const status = isCancelled ? 'cancelled' : isError ? 'error' : 'ok'
  const text = typeof value.value === 'string' ? value.value : JSON.stringify(value.value)
  said.result(
    { id: result.field('tool_use_id', 'toolUseId').text() },
    status,
    status === 'ok' ? value : errorOutput(text),
    { at },
  )
}

function blockText(block: Foreign): string {
  if (block.isText) return block.text()
  return block.has('Text', 'text')
    ? block.field('Text', 'text').text()
    : JSON.stringify(block.field('Json', 'json').json())
}

function imageOf(image: Foreign, said: Said): UserBlock[] {
  const bytes = image.field('source').field('Bytes', 'bytes')
  const mediaType = `image/${image.field('format').text().toLowerCase()}`
  if (bytes.isText) return [{ type: 'image', mediaType, data: bytes.text() }]
  const numbers = bytes.items().map(({ value }) => value)
  if (numbers.every((byte) => Number.isInteger(byte) && (byte as number) >= 0 && (byte as number) < 256))
    return [{ type: 'image', mediaType, data: Buffer.from(numbers as number[]).toString('base64') }]
  said.leaveOut(image, 'its bytes are no bytes')
  return []
}

function readQAssistant(assistant: Foreign, said: Said): void {
  const form = assistant.has('ToolUse') ? 'ToolUse' : 'Response'
  const body = assistant.has(form) ? assistant.field(form) : assistant
  const text = body.field('content').textIfAny() ?? ''
  const uses = body.has('tool_uses') ? body.field('tool_uses').itemsIfAny() : []
  if (uses.length === 0 && (text === '' || text === interrupted)) return
  const calls = uses.map((use) => {
    // A tool that was renamed later has its name in front of the first one.
    const isRenamed = use.field('name').value === 'dummy' && use.has('orig_name')
    const name = isRenamed ? use.field('orig_name') : use.field('name', 'orig_name')
    const args = isRenamed ? use.field('orig_args', 'args') : use.field('args', 'orig_args')
    return said.call(use.field('id').textIfAny(), name.text(), { value: args.isNone ? {} : args.json() })
  })
  said.assistant([...textBlocks(text), ...calls], {
    id: body.has('message_id') ? body.field('message_id').textIfAny() : undefined,
  })
}

export interface QPair {
  readonly user: Fields
  readonly assistant: Fields
}

export interface QHistory {
  readonly pairs: readonly QPair[]
  /** A user's side that is not answered. */
  readonly next: Fields | null
  /** The text that stands for everything before. */
  readonly summary: string | null
  /** The conversation as a person reads it, line by line. */
  readonly transcript: readonly string[]
}

/** A user's side that may still change. */
interface Pending {
  readonly prompt: UserTurn | null
  readonly results: readonly ToolResultMessage[]
}

export function qHistory(messages: readonly ChatMessage[], { folder = '/' }: Written): QHistory {
  const first = messages.findIndex(({ type }) => type !== 'system' && type !== 'error')
  const summary = messages[first]?.type === 'summary' ? messages[first].text : null
  const { system, turns } = alternating(
    turnsOf(summary === null ? messages : messages.filter((_, index) => index !== first)),
  )
  const pairs: QPair[] = []
  const transcript: string[] = []
  let context = system.join('\n\n')
  let pending = null as Pending | null
  const sideOf = (side: Pending | null) => {
    const user = writtenUser(side ?? { prompt: null, results: [] }, folder, context)
    context = ''
    if (side?.prompt) transcript.push(`> ${joined(side.prompt.blocks).replaceAll('\n', '> \n')}`)
    return user
  }
  for (const turn of turns) {
    if (turn.side === 'assistant') {
      pairs.push({ user: sideOf(pending), assistant: writtenAssistant(turn) })
      transcript.push(transcriptOf(turn))
      pending = null
    } else if (turn.side === 'results') {
      pending = { prompt: null, results: turn.results }
    } else if (pending === null || mayJoin(pending)) {
      pending = { prompt: turn, results: pending?.results ?? [] }
    } else {
      // Results and a prompt make no user's side together.
      pairs.push({ user: sideOf(pending), assistant: { Response: { message_id: null, content: interrupted } } })
      pending = { prompt: turn, results: [] }
    }
  }
  return { pairs, next: pending === null ? null : sideOf(pending), summary, transcript }
}

function mayJoin({ results }: Pending): boolean {
  return results.every(({ status }) => status === 'cancelled')
}

function transcriptOf({ blocks }: ReplyTurn): string {
  const names = callsIn(blocks).map(({ toolName }) => toolName)
  return `${joined(blocks)}\n[Tool uses: ${names.length === 0 ? 'none' : names.join(',')}]`
}

function writtenUser({ prompt, results }: Pending, folder: string, context: string): Fields {
  const images = (prompt?.blocks ?? []).filter(isKeptImage)
  const others = (prompt?.blocks ?? []).filter((block) => !isKeptImage(block))
  const text = joined(others) || emptyPrompt
  const tool_use_results = results.map(writtenResult)
  const at = prompt?.at ?? results[0]?.at ?? 0
  return {
    additional_context: context,
    env_context: {
      env_state: { operating_system: 'linux', current_working_directory: folder, environment_variables: [] },
    },
    content:
      results.length === 0
        ? { Prompt: { prompt: text } }
        : prompt === null
          ? { ToolUseResults: { tool_use_results } }
          : { CancelledToolUses: { prompt: text, tool_use_results } },
    timestamp: at === 0 || !isTime(at) ? null : new Date(at).toISOString(),
    images: images.length === 0 ? null : images.map(writtenImage),
  }
}

function isKeptImage(block: UserBlock): boolean {
  return block.type === 'image' && block.data !== undefined && formatOf(block.mediaType) !== undefined
}

function formatOf(mediaType: string): string | undefined {
  return meaningOf(imageFormats, mediaType.replace('image/', ''))
}

function writtenImage(block: UserBlock): Json {
  const { mediaType, data = '' } = block as { readonly mediaType: string; readonly data?: string }
  return { format: formatOf(mediaType) ?? 'Png', source: { Bytes: [...Buffer.from(data, 'base64')] } }
}

function writtenResult(result: ToolResultMessage): Json {
  const { toolCallId, status, output } = result
  const content = output.type === 'json' ? { Json: output.value } : { Text: outputText(result) }
  return { tool_use_id: toolCallId, content: [content], status: status === 'ok' ? 'Success' : 'Error' }
}

function writtenAssistant({ blocks, message }: ReplyTurn): Fields {
  const calls = callsIn(blocks)
  const message_id = /^(m\d+)?$/.test(message.id) ? null : message.id
  const content = joined(blocks)
  if (calls.length === 0) return { Response: { message_id, content } }
  return { ToolUse: { message_id, content, tool_uses: calls.map(writtenCall) } }
}

function writtenCall(call: Extract<AssistantBlock, { readonly type: 'tool-call' }>): Json {
  const args = call.inputText === undefined ? call.input : (argumentsObject(call) as Json)
  return { id: call.toolCallId, name: call.toolName, orig_name: call.toolName, args, orig_args: args }
}
