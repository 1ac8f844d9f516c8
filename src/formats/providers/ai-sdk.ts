/**
 * Duty: messages of the AI SDK: model messages, and the messages of its user interfaces, which are only read.
 * AI-SDK-1 A reply with calls is followed by one tool message with the results of all of them.
 */
import type {
  AssistantBlock,
  Json,
  ToolOutput,
  ToolResultMessage,
  ToolStatus,
  UserBlock,
} from '../../core/history/chat/chat-message.ts'
import { heldBytes, mediaLabel } from '../../core/history/chat/media.ts'
import type { Format } from '../format.ts'
import { argumentsObject } from '../parts/arguments.ts'
import { addressOf, dataOf, mediaAt } from '../parts/data-uri.ts'
import type { Foreign } from '../parts/foreign.ts'
import { areTextBlocks, blocksOf, looked, messagesIn } from '../parts/role-list.ts'
import { errorOutput, outputOf, type Said, textBlocks } from '../parts/said.ts'
import { outputText, type Turn, turnsOf, withoutNone } from '../parts/turns.ts'
import { ofRequests } from '../parts/wire-losses.ts'

const roles = ['system', 'user', 'assistant', 'tool', 'data'] as const
const partTypes = new Set<unknown>(['tool-call', 'tool-result', 'reasoning', 'file', 'dynamic-tool', 'step-start'])

export const aiSdk: Format = {
  name: 'ai-sdk',
  title: 'AI SDK messages',
  form: 'a JSON list of model messages',
  losses: {
    ...ofRequests,
    models: 'left out',
    names: 'left out',
    resultMedia: 'those by address, and those of a call that failed, become a note in the text',
    badArguments: 'go under the name `arguments` of an object',
    cancelledResults: 'become failures',
    unknownResults: 'become failures',
  },
  fits(source) {
    const items = looked(source)
    return (
      blocksOf(items).some(
        ({ type, toolCallId, image, mediaType }) =>
          (partTypes.has(type) && (toolCallId !== undefined || type === 'reasoning' || mediaType !== undefined)) ||
          (type === 'image' && image !== undefined),
      ) ||
      (items.some(({ parts }) => Array.isArray(parts)) &&
        blocksOf(items, 'parts').every((part) => typeof part.type === 'string')) ||
      areTextBlocks(items)
    )
  },
  read(source, said) {
    for (const message of messagesIn(source)) {
      if (message.has('parts')) readUiMessage(message, said)
      else readMessage(message, said)
    }
  },
  write: (messages) => ({ json: turnsOf(messages).map(writtenTurn) }),
}

function readMessage(message: Foreign, said: Said): void {
  const role = message.field('role').word(roles)
  const content = message.field('content')
  const parts = content.isList ? content.items() : []
  const text = textBlocks(content.isList ? '' : content.textIfAny())
  switch (role) {
    case 'system':
      said.system(
        content.isList ? parts.map((part) => part.field('text').text()).join('\n') : (content.textIfAny() ?? ''),
      )
      return
    case 'user':
      said.user([...text, ...parts.flatMap((part) => userPart(part, said))])
      return
    case 'assistant':
      said.assistant([...text, ...parts.flatMap((part) => replyPart(part, said))])
      // Results of tools that the provider ran stand in the reply.
      for (const part of parts) if (part.field('type').value === 'tool-result') readResult(part, said)
      return
    case 'tool':
      for (const part of content.items()) {
        if (part.field('type').text() === 'tool-result') readResult(part, said)
        else said.leaveOut(part, `a part of type "${part.field('type').text()}"`)
      }
      return
    case 'data':
      said.leaveOut(message, 'data of a user interface')
  }
}

/** Options of providers go with a part as they are. */
function optionsOf(part: Foreign) {
  const options = part.field('providerOptions', 'providerMetadata')
  return options.isObject
    ? { providerOptions: options.value as Readonly<Record<string, Readonly<Record<string, Json>>>> }
    : {}
}

function userPart(part: Foreign, said: Said): UserBlock[] {
  const type = part.field('type').text()
  if (type === 'text') return textBlocks(part.field('text').text()).map((block) => ({ ...block, ...optionsOf(part) }))
  const data = type === 'image' ? part.field('image') : type === 'file' ? part.field('data', 'url') : undefined
  if (data?.isText) {
    const mediaType =
      part.field('mediaType', 'mimeType').textIfAny() ?? (type === 'image' ? 'image/*' : 'application/octet-stream')
    const isAddress = /^(https?|data|file):/.test(data.text())
    const url = isAddress ? data.text() : `data:${mediaType};base64,${data.text()}`
    const [sort] = mediaType.split('/')
    if (type === 'image' || sort === 'image') return [mediaAt('image', url, mediaType)]
    if (sort === 'audio') return [mediaAt('audio', url, mediaType)]
    const filename = part.field('filename').textIfAny()
    return [{ type: 'file', mediaType, url, ...(filename !== undefined && { filename }) }]
  }
  said.leaveOut(part, `a part of type "${type}"`)
  return []
}

function replyPart(part: Foreign, said: Said): AssistantBlock[] {
  const type = part.field('type').text()
  switch (type) {
    case 'text':
      return textBlocks(part.field('text').text()).map((block) => ({ ...block, ...optionsOf(part) }))
    case 'reasoning':
      return [{ type: 'reasoning', text: part.field('text', 'reasoning').textIfAny() ?? '', ...optionsOf(part) }]
    case 'tool-call': {
      const input = part.field('input', 'args')
      return [
        {
          ...said.call(part.field('toolCallId').textIfAny(), part.field('toolName').text(), { value: input.json() }),
          ...optionsOf(part),
        },
      ]
    }
    case 'tool-result':
      return []
    default:
      said.leaveOut(part, `a part of type "${type}"`)
      return []
  }
}

function readResult(part: Foreign, said: Said): void {
  const answers = { id: part.field('toolCallId').text(), name: part.field('toolName').textIfAny() }
  const output = part.field('output')
  if (!output.isObject || !output.has('type')) {
    const isError = part.field('isError').value === true
    const value = part.field('output', 'result').json()
    said.result(
      answers,
      isError ? 'error' : 'ok',
      isError ? errorOutput(typeof value === 'string' ? value : JSON.stringify(value)) : outputOf(value),
    )
    return
  }
  said.result(answers, ...outcomeOf(output))
}

/** Texts, and media if there are any. */
function outputOfParts(parts: readonly Foreign[]): ToolOutput {
  const blocks = parts.flatMap((part): UserBlock[] => {
    if (part.field('mediaType').isNone) return textBlocks(part.field('text').textIfAny())
    return mediumOf(part, part.field('mediaType').text())
  })
  return blocks.some(({ type }) => type !== 'text')
    ? { type: 'content', value: blocks }
    : { type: 'text', value: blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n') }
}

/** `media` and `file-data` of version 5 and 6, `file` of version 7. */
function mediumOf(part: Foreign, mediaType: string): UserBlock[] {
  const inner = part.field('data').isObject ? part.field('data') : part
  const data = inner.field('data').textIfAny()
  const url = data === undefined ? inner.field('url').textIfAny() : undefined
  if (data === undefined && url === undefined) return []
  const group = mediaType.split('/', 1)[0]
  if (group === 'image' || group === 'audio')
    return [{ type: group, mediaType, ...(data === undefined ? { url } : { data }) }]
  return [{ type: 'file', mediaType, url: url ?? `data:${mediaType};base64,${data}` }]
}

function outcomeOf(output: Foreign): [ToolStatus, ToolOutput] {
  const value = output.field('value')
  const text = () => (value.isText ? value.text() : JSON.stringify(value.json()))
  switch (output.field('type').text()) {
    case 'text':
      return ['ok', { type: 'text', value: text() }]
    case 'json':
      return ['ok', { type: 'json', value: value.json() }]
    case 'error-text':
    case 'error-json':
      return ['error', errorOutput(text())]
    case 'execution-denied':
      return ['cancelled', errorOutput(output.field('reason').textIfAny() ?? 'The execution was denied.')]
    case 'content':
      return ['ok', outputOfParts(value.items())]
    default:
      return ['ok', { type: 'json', value: output.json() }]
  }
}

/** A message of a user interface: calls and their results are one part. */
function readUiMessage(message: Foreign, said: Said): void {
  const role = message.field('role').word(roles)
  const head = { id: message.field('id').textIfAny() }
  const parts = message.field('parts').items()
  if (role === 'system') {
    said.system(parts.map((part) => part.field('text').textIfAny() ?? '').join('\n'), head)
    return
  }
  if (role === 'user') {
    said.user(
      parts.flatMap((part) => userPart(part, said)),
      head,
    )
    return
  }
  let step: Foreign[] = []
  const endStep = () => {
    if (step.length > 0) readStep(step, said, head)
    step = []
  }
  for (const part of parts) {
    if (part.field('type').text() === 'step-start') endStep()
    else step.push(part)
  }
  endStep()
}

function readStep(parts: readonly Foreign[], said: Said, head: { readonly id: string | undefined }): void {
  const isCall = (part: Foreign) => /^(tool-|dynamic-tool$)/.test(part.field('type').text()) && part.has('toolCallId')
  const blocks = parts.flatMap((part): AssistantBlock[] => {
    const type = part.field('type').text()
    if (!isCall(part)) {
      if (type === 'text' || type === 'reasoning') return replyPart(part, said)
      if (!/^(data-|source-)/.test(type)) said.leaveOut(part, `a part of type "${type}"`)
      return []
    }
    const name = type === 'dynamic-tool' ? part.field('toolName').text() : type.slice('tool-'.length)
    return [said.call(part.field('toolCallId').text(), name, { value: part.field('input').json() })]
  })
  if (blocks.length > 0) said.assistant(blocks, head)
  for (const part of parts.filter(isCall)) {
    const answers = { id: part.field('toolCallId').text() }
    const state = part.field('state').textIfAny()
    if (state === 'output-available') said.result(answers, 'ok', outputOf(part.field('output').json()))
    else if (state === 'output-error')
      said.result(answers, 'error', errorOutput(part.field('errorText').textIfAny() ?? ''))
  }
}

function writtenTurn(turn: Turn): Json {
  switch (turn.side) {
    case 'system':
      return { role: 'system', content: turn.text }
    case 'user':
      return { role: 'user', content: turn.blocks.map(writtenUserPart) }
    case 'assistant':
      return { role: 'assistant', content: turn.blocks.map(writtenReplyPart) }
    case 'results':
      return { role: 'tool', content: turn.results.map(writtenResult) }
  }
}

function writtenUserPart(block: UserBlock): Json {
  switch (block.type) {
    case 'text':
      return withoutNone({ type: 'text', text: block.text, providerOptions: block.providerOptions }) as Json
    case 'image':
      return { type: 'image', image: block.data ?? addressOf(block), mediaType: block.mediaType }
    case 'audio':
      return { type: 'file', data: block.data ?? addressOf(block), mediaType: block.mediaType }
    case 'file': {
      const data = dataOf(block.url)?.data ?? block.url
      return withoutNone({ type: 'file', data, mediaType: block.mediaType, filename: block.filename }) as Json
    }
  }
}

function writtenReplyPart(block: AssistantBlock): Json {
  const { providerOptions } = block
  if (block.type !== 'tool-call') return withoutNone({ type: block.type, text: block.text, providerOptions }) as Json
  const { toolCallId, toolName, input, inputText } = block
  return withoutNone({
    type: 'tool-call',
    toolCallId,
    toolName,
    input: inputText === undefined ? input : argumentsObject(block),
    providerOptions,
  }) as Json
}

function writtenResult(result: ToolResultMessage): Json {
  const { toolCallId, toolName, status, output } = result
  const value: Json = status === 'ok' ? writtenOutput(output) : { type: 'error-text', value: outputText(result) }
  return { type: 'tool-result', toolCallId, toolName, output: value }
}

function writtenOutput(output: ToolOutput): Json {
  if (output.type !== 'content') return { type: output.type === 'json' ? 'json' : 'text', value: output.value }
  const value = output.value.map((block): Json => {
    if (block.type === 'text') return { type: 'text', text: block.text }
    const bytes = heldBytes(block)
    if (bytes === null) return { type: 'text', text: `[${mediaLabel(block)}]` }
    return { type: 'file', mediaType: block.mediaType, data: { type: 'data', data: bytes.toString('base64') } }
  })
  return { type: 'content', value }
}
