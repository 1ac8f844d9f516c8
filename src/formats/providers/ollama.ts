/**
 * Duty: messages of Ollama's chat.
 * OLLAMA-1 Calls have no ids here. A result names its tool, and stands behind its reply in the order of the calls.
 */
import type { FinishReason, Json, UserBlock } from '../../core/history/chat/chat-message.ts'
import type { Format } from '../format.ts'
import { argumentsObject } from '../parts/arguments.ts'
import { imageTypeOf } from '../parts/data-uri.ts'
import type { Foreign } from '../parts/foreign.ts'
import { toolNameFor } from '../parts/portable.ts'
import { looked, messagesIn, wholeOf } from '../parts/role-list.ts'
import { meaningOf, modelOf, type Reply, type Said, textBlocks, textOutput } from '../parts/said.ts'
import { callsIn, joined, lastModel, outputText, type Turn, turnsOf, withoutNone } from '../parts/turns.ts'
import { noAudio, noFiles, objectsOnly, ofRequests, oneText, textResults } from '../parts/wire-losses.ts'

const roles = ['system', 'user', 'assistant', 'tool'] as const
const finishReasons = { stop: 'stop', length: 'length' } as const

export const ollama: Format = {
  name: 'ollama',
  title: 'Ollama chat',
  form: 'a JSON object `{messages, model?}`, the body of a request',
  losses: {
    ...ofRequests,
    ...noAudio,
    ...noFiles,
    ...objectsOnly,
    ...oneText,
    ...textResults,
    names: 'left out',
    callIds: 'left out: the order tells which result belongs to which call',
    oddCallIds: 'left out: the order tells which result belongs to which call',
    oddToolNames: 'replaced by others',
    imageLinks: 'become a note in the text',
    signedReasoning: 'the text stays, the signature is left out',
    signatures: 'left out',
    failedResults: 'only the text says so',
  },
  fits(source) {
    const whole = wholeOf(source)
    if (typeof whole.done === 'boolean' && whole.message !== undefined) return true
    const isRequest = 'keep_alive' in whole || 'options' in whole || 'think' in whole
    if (isRequest && Array.isArray(whole.messages)) return true
    const items = looked(source)
    const isUntyped = (call: unknown) => {
      const { function: made, id } = Object(call) as { function?: { arguments?: unknown }; id?: unknown }
      return id === undefined && made !== undefined && typeof made.arguments === 'object'
    }
    return items.some(
      ({ tool_calls, tool_name, images, thinking }) =>
        typeof tool_name === 'string' ||
        Array.isArray(images) ||
        typeof thinking === 'string' ||
        (Array.isArray(tool_calls) && tool_calls.some(isUntyped)),
    )
  },
  read(source, said) {
    const { whole } = source
    const model = whole?.isObject ? modelOf('ollama', whole.field('model').textIfAny()) : undefined
    if (!whole?.has('message')) {
      for (const message of messagesIn(source)) readMessage(message, said, { model })
      return
    }
    readMessage(whole.field('message'), said, {
      model,
      at: whole.field('created_at').time(),
      finishReason: meaningOf<FinishReason>(finishReasons, whole.field('done_reason').value),
      usage: {
        inputTokens: whole.field('prompt_eval_count').numberOr0(),
        outputTokens: whole.field('eval_count').numberOr0(),
      },
    })
  },
  write: (messages) => ({
    json: { ...lastModel(messages, 'ollama'), messages: turnsOf(messages).flatMap(writtenTurn) },
  }),
}

function readMessage(message: Foreign, said: Said, reply: Reply): void {
  const role = message.field('role').word(roles)
  const text = message.field('content').textIfAny() ?? ''
  switch (role) {
    case 'system':
      said.system(text)
      return
    case 'user':
      said.user([...textBlocks(text), ...message.field('images').itemsIfAny().map(imageOf)])
      return
    case 'tool':
      said.result(
        { name: message.field('tool_name', 'name').textIfAny(), id: message.field('tool_call_id').textIfAny() },
        'ok',
        textOutput(text),
      )
      return
    case 'assistant':
      said.assistant(
        [
          ...textBlocks(message.field('thinking').textIfAny()).map((block) => ({
            type: 'reasoning' as const,
            text: block.text,
          })),
          ...textBlocks(text),
          ...message
            .field('tool_calls')
            .itemsIfAny()
            .map((call) => callOf(call, said)),
        ],
        reply,
      )
  }
}

function callOf(call: Foreign, said: Said) {
  const made = call.field('function')
  const args = made.field('arguments')
  return said.call(
    call.field('id').textIfAny(),
    made.field('name').text(),
    args.isText ? args.text() : { value: args.isNone ? {} : args.json() },
  )
}

function imageOf(image: Foreign): UserBlock {
  const data = image.text()
  return { type: 'image', mediaType: imageTypeOf(data), data }
}

function writtenTurn(turn: Turn): readonly Readonly<Record<string, unknown>>[] {
  switch (turn.side) {
    case 'system':
      return [{ role: 'system', content: turn.text }]
    case 'user': {
      const images = turn.blocks.flatMap((block) =>
        block.type === 'image' && block.data !== undefined ? [block.data] : [],
      )
      const others = turn.blocks.filter((block) => block.type !== 'image' || block.data === undefined)
      return [withoutNone({ role: 'user', content: joined(others), images: images.length === 0 ? undefined : images })]
    }
    case 'assistant': {
      const calls = callsIn(turn.blocks)
      const thinking = turn.blocks.flatMap((block) => (block.type === 'reasoning' ? [block.text] : [])).join('\n')
      return [
        withoutNone({
          role: 'assistant',
          content: joined(turn.blocks),
          thinking: thinking === '' ? undefined : thinking,
          tool_calls:
            calls.length === 0
              ? undefined
              : calls.map(
                  (call): Json => ({
                    function: { name: toolNameFor(call.toolName), arguments: argumentsObject(call) as Json },
                  }),
                ),
        }),
      ]
    }
    case 'results':
      return turn.results.map((result) => ({
        role: 'tool',
        tool_name: toolNameFor(result.toolName),
        content: outputText(result),
      }))
  }
}
