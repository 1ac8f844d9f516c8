/**
 * Duty: contents of Gemini.
 * GEMINI-1 User and model alternate, and a user begins. Behind a content with calls stand as many results, in the order of the calls, before
 *          anything that the user says.
 */

import { isObject } from '../../core/check/is-object.ts'
import type {
  AssistantBlock,
  FinishReason,
  Json,
  ToolResultMessage,
  UserBlock,
} from '../../core/history/chat/chat-message.ts'
import { outputTextOf, plainOutputOf } from '../../core/history/chat/media.ts'
import type { Format } from '../format.ts'
import { argumentsObject } from '../parts/arguments.ts'
import { dataOf, mediaAt } from '../parts/data-uri.ts'
import type { Foreign } from '../parts/foreign.ts'
import { callIdFor, toolNameFor } from '../parts/portable.ts'
import { blocksOf, looked, messagesIn, wholeOf } from '../parts/role-list.ts'
import {
  errorOutput,
  meaningOf,
  modelOf,
  optionOf,
  optionsOf,
  outputOf,
  type Reply,
  type Said,
  textBlocks,
} from '../parts/said.ts'
import { alternating, turnsOf, twoSided, withoutNone } from '../parts/turns.ts'
import { objectsOnly, ofRequests, strictNames } from '../parts/wire-losses.ts'

const roles = ['user', 'model', 'function'] as const
const finishReasons = { STOP: 'stop', MAX_TOKENS: 'length', SAFETY: 'content-filter' } as const

export const gemini: Format = {
  name: 'gemini',
  title: 'Gemini contents',
  form: 'a JSON object `{systemInstruction?, contents}`, the body of a request',
  losses: {
    ...ofRequests,
    ...objectsOnly,
    ...strictNames,
    models: 'left out',
    neighbours: 'become one content',
    laterSystem: 'are said at the beginning',
    names: 'left out',
    signedReasoning: 'the text stays; the signature stays if it is of Gemini',
    signatures: 'those of Gemini stay, others are left out',
    files: 'the name of the file is left out',
    cancelledResults: 'become failures',
    unknownResults: 'become failures',
  },
  fits(source) {
    const { candidates, contents } = wholeOf(source)
    if (Array.isArray(candidates) || (Array.isArray(contents) && contents.length === 0)) return true
    const items = looked(source, 'contents')
    return (
      items.length > 0 &&
      items.every(({ parts, role }) => (Array.isArray(parts) || isObject(parts)) && role !== 'assistant') &&
      blocksOf(items, 'parts').every((part) => !('type' in part))
    )
  },
  read(source, said) {
    const { whole } = source
    if (whole?.has('systemInstruction', 'system_instruction')) {
      const system = whole.field('systemInstruction', 'system_instruction')
      const parts = system.isText ? [] : system.field('parts').itemsOrOne()
      for (const text of system.isText ? [system.text()] : parts.map((part) => part.field('text').text()))
        said.system(text)
    }
    if (!whole?.has('candidates')) {
      for (const content of messagesIn(source, 'contents')) readContent(content, said, {})
      return
    }
    const [candidate, ...others] = whole.field('candidates').items()
    if (others.length > 0) said.warn(`the first of ${others.length + 1} candidates was read.`)
    if (candidate === undefined) throw whole.field('candidates').wrong('must hold a candidate.')
    const usage = whole.field('usageMetadata')
    readContent(candidate.field('content'), said, {
      model: modelOf('google', whole.field('modelVersion').textIfAny()),
      finishReason: meaningOf<FinishReason>(finishReasons, candidate.field('finishReason').value),
      usage: usage.isObject
        ? {
            inputTokens: usage.field('promptTokenCount').numberOr0(),
            outputTokens: usage.field('candidatesTokenCount').numberOr0(),
          }
        : undefined,
    })
  },
  write(messages) {
    const { system, turns } = alternating(turnsOf(messages))
    const reply = (block: AssistantBlock) => [writtenReplyPart(block)]
    const sides = twoSided(turns, { result: writtenResult, user: writtenUserPart, reply })
    const contents = sides.map(({ isReply, parts }) => ({ role: isReply ? 'model' : 'user', parts }))
    const systemInstruction = system.length === 0 ? undefined : { parts: system.map((text) => ({ text })) }
    return { json: withoutNone({ systemInstruction, contents }) }
  },
}

function readContent(content: Foreign, said: Said, reply: Reply): void {
  const role = content.has('role') && !content.field('role').isNone ? content.field('role').word(roles) : 'user'
  const parts = content.field('parts').itemsOrOne()
  if (role === 'model') {
    said.assistant(
      parts.flatMap((part) => replyPart(part, said)),
      reply,
    )
    return
  }
  const more = parts.flatMap((part) => userPart(part, said))
  if (more.length > 0 || parts.length === 0) said.user(more)
}

function userPart(part: Foreign, said: Said): UserBlock[] {
  if (part.has('functionResponse', 'function_response')) {
    readResult(part.field('functionResponse', 'function_response'), said)
    return []
  }
  if (part.has('text')) return textBlocks(part.field('text').text())
  const isInline = part.has('inlineData', 'inline_data')
  if (isInline || part.has('fileData', 'file_data')) {
    const media = isInline ? part.field('inlineData', 'inline_data') : part.field('fileData', 'file_data')
    const mediaType = media.field('mimeType', 'mime_type').textIfAny() ?? 'application/octet-stream'
    const url = isInline
      ? `data:${mediaType};base64,${media.field('data').text()}`
      : media.field('fileUri', 'file_uri').text()
    const [sort] = mediaType.split('/')
    return [sort === 'image' || sort === 'audio' ? mediaAt(sort, url, mediaType) : { type: 'file', mediaType, url }]
  }
  said.leaveOut(part, `a part with ${Object.keys(Object(part.value) as object).join(', ') || 'nothing in it'}`)
  return []
}

function readResult(response: Foreign, said: Said): void {
  const body = response.field('response')
  const answers = { id: response.field('id').textIfAny(), name: response.field('name').textIfAny() }
  const value = body.value
  const only = isObject(value) && Object.keys(value).length === 1
  if (only && typeof value.error === 'string') said.result(answers, 'error', errorOutput(value.error))
  else if (only && ('output' in value || 'result' in value))
    said.result(answers, 'ok', outputOf(body.field('output', 'result').json()))
  else said.result(answers, 'ok', outputOf(body.json()))
}

function replyPart(part: Foreign, said: Said): AssistantBlock[] {
  const options = optionsOf('google', {
    thoughtSignature: part.field('thoughtSignature', 'thought_signature').textIfAny(),
  })
  if (part.has('functionCall', 'function_call')) {
    const call = part.field('functionCall', 'function_call')
    const args = call.field('args')
    return [
      {
        ...said.call(call.field('id').textIfAny(), call.field('name').text(), {
          value: args.isNone ? {} : args.json(),
        }),
        ...options,
      },
    ]
  }
  if (part.has('text')) {
    const text = part.field('text').text()
    if (part.field('thought').value === true) return [{ type: 'reasoning', text, ...options }]
    return textBlocks(text).map((block) => ({ ...block, ...options }))
  }
  said.leaveOut(part, `a part with ${Object.keys(Object(part.value) as object).join(', ') || 'nothing in it'}`)
  return []
}

function writtenResult({ toolCallId, toolName, status, output }: ToolResultMessage): Json {
  const response = status === 'ok' ? { output: plainOutputOf(output) } : { error: outputTextOf(output) }
  return { functionResponse: { id: callIdFor(toolCallId), name: toolNameFor(toolName), response } }
}

function writtenUserPart(block: UserBlock): Json {
  if (block.type === 'text') return { text: block.text }
  const inline = block.type === 'file' ? dataOf(block.url)?.data : block.data
  if (inline !== undefined) return { inlineData: { mimeType: block.mediaType, data: inline } }
  return { fileData: { mimeType: block.mediaType, fileUri: block.url ?? '' } }
}

function writtenReplyPart(block: AssistantBlock): Json {
  const signature = optionOf(block.providerOptions, 'google', 'thoughtSignature')
  const signed = signature === undefined ? {} : { thoughtSignature: signature }
  switch (block.type) {
    case 'text':
      return { text: block.text, ...signed }
    case 'reasoning':
      return { text: block.text, thought: true, ...signed }
    case 'tool-call': {
      const { toolCallId, toolName } = block
      return {
        functionCall: { id: callIdFor(toolCallId), name: toolNameFor(toolName), args: argumentsObject(block) as Json },
        ...signed,
      }
    }
  }
}
