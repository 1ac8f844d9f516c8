/**
 * Duty: the message maps of llm_core: calls as `{id, name, arguments}` with an object, results under the id of their call.
 * LLM-CORE-1 Ids of calls may be null. A result without an id is of the first call that has none.
 */
import type { Json } from '../../core/history/chat/chat-message.ts'
import type { Format } from '../format.ts'
import { argumentsObject } from '../parts/arguments.ts'
import type { Foreign } from '../parts/foreign.ts'
import { looked, messagesIn } from '../parts/role-list.ts'
import { type Said, textBlocks, textOutput } from '../parts/said.ts'
import { callsIn, joined, outputText, type Turn, turnsOf, withoutNone } from '../parts/turns.ts'
import {
  noAudio,
  noFiles,
  noImages,
  noReasoning,
  objectsOnly,
  ofRequests,
  oneText,
  textResults,
} from '../parts/wire-losses.ts'

const roles = ['system', 'user', 'assistant', 'tool'] as const

export const llmCore: Format = {
  name: 'llm-core',
  title: 'llm_core maps',
  form: 'a JSON list of messages',
  losses: {
    ...ofRequests,
    ...noAudio,
    ...noFiles,
    ...noImages,
    ...noReasoning,
    ...objectsOnly,
    ...oneText,
    ...textResults,
    models: 'left out',
    names: 'left out',
    signatures: 'left out',
    failedResults: 'only the text says so',
  },
  fits(source) {
    const items = looked(source)
    const isPlain = (call: unknown) => {
      const { name, arguments: args } = Object(call) as { name?: unknown; arguments?: unknown }
      return typeof name === 'string' && args !== undefined
    }
    return items.some(
      ({ tool_calls }) => Array.isArray(tool_calls) && tool_calls.length > 0 && tool_calls.every(isPlain),
    )
  },
  read(source, said) {
    for (const message of messagesIn(source)) readMessage(message, said)
  },
  write: (messages) => ({ json: turnsOf(messages).flatMap(writtenTurn) }),
}

function readMessage(message: Foreign, said: Said): void {
  const role = message.field('role').word(roles)
  const text = textOf(message.field('content'))
  if (role === 'system') said.system(text)
  else if (role === 'user') said.user(textBlocks(text))
  else if (role === 'tool')
    said.result(
      { id: message.field('tool_call_id').textIfAny(), name: message.field('name').textIfAny() },
      'ok',
      textOutput(text),
    )
  else {
    const calls = message
      .field('tool_calls')
      .itemsIfAny()
      .map((call) => {
        const args = call.field('arguments')
        return said.call(
          call.field('id').textIfAny(),
          call.field('name').text(),
          args.isText ? args.text() : { value: args.isNone ? {} : args.json() },
        )
      })
    said.assistant([...textBlocks(text), ...calls])
  }
}

/** The content as a text: content of another type becomes its JSON. */
function textOf(content: Foreign): string {
  if (content.isNone) return ''
  return content.isText ? content.text() : JSON.stringify(content.value)
}

function writtenTurn(turn: Turn): readonly Readonly<Record<string, unknown>>[] {
  switch (turn.side) {
    case 'system':
      return [{ role: 'system', content: turn.text }]
    case 'user':
      return [{ role: 'user', content: joined(turn.blocks) }]
    case 'assistant': {
      const calls = callsIn(turn.blocks)
      const text = joined(turn.blocks)
      const written = calls.map(
        (call): Json => ({ id: call.toolCallId, name: call.toolName, arguments: argumentsObject(call) as Json }),
      )
      return [
        withoutNone({
          role: 'assistant',
          content: text === '' ? null : text,
          tool_calls: calls.length === 0 ? undefined : written,
        }),
      ]
    }
    case 'results':
      return turn.results.map((result) => ({
        role: 'tool',
        tool_call_id: result.toolCallId,
        content: outputText(result),
      }))
  }
}
