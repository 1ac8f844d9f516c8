/** What a provider says, on each surface that agents can be given: as the events of its protocol. */
import { Buffer } from 'node:buffer'
import type { ServerResponse } from 'node:http'

export interface SaidCall {
  readonly id: string
  readonly name: string
  /** The arguments as they are sent, JSON or not. */
  readonly args: string
}

export interface Said {
  readonly text?: string
  readonly calls?: readonly SaidCall[]
  /** The provider's word for the end of the reply; default: its usual one. */
  readonly ends?: string
}

/** The parts of a conversation that a request shows, whatever its protocol. */
export interface Shown {
  /** Texts of results by the id of their call. */
  readonly results: readonly { readonly id: string; readonly text: string }[]
  readonly callIds: readonly string[]
  readonly lastUser: string
}

export interface FakeSurface {
  readonly model: string
  readonly events: (said: Said) => string[]
  readonly preview: (body: string) => Shown
}

type Parts = string | readonly { readonly type: string; readonly text?: string }[] | null | undefined

function textOf(content: Parts): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text }) => text ?? '').join('')
}

function pieces(text: string): string[] {
  return text.length > 1_000_000 ? (text.match(/.{1,100000}/gsu) ?? []) : [text]
}

const event = (data: object & { type?: string }) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

const chat: FakeSurface = {
  model: 'openai-chat/fake',
  events({ text, calls = [], ends }) {
    const chunk = (delta: object, reason: string | null = null) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'fake', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
    return [
      chunk({ role: 'assistant', content: '' }),
      ...pieces(text ?? '').map((content) => chunk({ content })),
      ...calls.map(({ id, name, args }, index) =>
        chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }] }),
      ),
      chunk({}, ends ?? (calls.length > 0 ? 'tool_calls' : 'stop')),
      'data: [DONE]\n\n',
    ]
  },
  preview(body) {
    type Message = { role: string; content: Parts; tool_call_id?: string; tool_calls?: { id: string }[] }
    const { messages } = JSON.parse(body) as { messages: Message[] }
    return {
      results: messages.flatMap((message) =>
        message.role === 'tool' ? [{ id: message.tool_call_id ?? '', text: textOf(message.content) }] : [],
      ),
      callIds: messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map(({ id }) => id)),
      lastUser: textOf(messages.findLast(({ role }) => role === 'user')?.content),
    }
  },
}

const responses: FakeSurface = {
  model: 'openai/fake',
  events({ text, calls = [], ends }) {
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
    const response = { id: 'r', object: 'response', created_at: 1, model: 'fake', output: [] }
    const message = { type: 'message', id: 'm', role: 'assistant' }
    const said =
      text === undefined
        ? []
        : [
            { type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } },
            ...pieces(text).map((delta) => ({
              type: 'response.output_text.delta',
              item_id: 'm',
              output_index: 0,
              content_index: 0,
              delta,
            })),
            { type: 'response.output_item.done', output_index: 0, item: { ...message, content: [] } },
          ]
    const called = calls.flatMap(({ id, name, args }, index) => {
      const item = { type: 'function_call', id: `f${index}`, call_id: id, name }
      const at = { output_index: index + 1 }
      return [
        { type: 'response.output_item.added', ...at, item: { ...item, arguments: '' } },
        { type: 'response.function_call_arguments.delta', ...at, item_id: item.id, delta: args },
        { type: 'response.output_item.done', ...at, item: { ...item, arguments: args, status: 'completed' } },
      ]
    })
    return [
      { type: 'response.created', response },
      ...said,
      ...called,
      ends === undefined
        ? { type: 'response.completed', response: { ...response, usage } }
        : { type: 'response.incomplete', response: { ...response, usage, incomplete_details: { reason: ends } } },
    ].map(event)
  },
  preview(body) {
    type Item = { type?: string; role?: string; content?: Parts; call_id?: string; output?: Parts }
    const { input } = JSON.parse(body) as { input: Item[] }
    return {
      results: input.flatMap((item) =>
        item.type === 'function_call_output' ? [{ id: item.call_id ?? '', text: textOf(item.output) }] : [],
      ),
      callIds: input.flatMap((item) => (item.type === 'function_call' ? [item.call_id ?? ''] : [])),
      lastUser: textOf(input.findLast(({ role }) => role === 'user')?.content),
    }
  },
}

const anthropic: FakeSurface = {
  model: 'anthropic/fake',
  events({ text, calls = [], ends }) {
    const usage = { input_tokens: 1, output_tokens: 1 }
    const start = { id: 'm', type: 'message', role: 'assistant', content: [], model: 'fake', usage }
    const said =
      text === undefined
        ? []
        : [
            {
              block: { type: 'text', text: '' },
              deltas: pieces(text).map((piece) => ({ type: 'text_delta', text: piece })),
            },
          ]
    const called = calls.map(({ id, name, args }) => ({
      block: { type: 'tool_use', id, name, input: {} },
      deltas: [{ type: 'input_json_delta', partial_json: args }],
    }))
    const blocks = [...said, ...called].flatMap(({ block, deltas }, index) => [
      { type: 'content_block_start', index, content_block: block },
      ...(deltas as object[]).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ])
    const reason = ends ?? (calls.length > 0 ? 'tool_use' : 'end_turn')
    return [
      { type: 'message_start', message: start },
      ...blocks,
      { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ].map(event)
  },
  preview(body) {
    type Block = { type: string; text?: string; id?: string; tool_use_id?: string; content?: Parts }
    const { messages } = JSON.parse(body) as { messages: { role: string; content: string | Block[] }[] }
    const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    const last = messages.findLast(
      ({ content }) => typeof content === 'string' || content.some(({ type }) => type === 'text'),
    )
    return {
      results: blocks.flatMap((block) =>
        block.type === 'tool_result' ? [{ id: block.tool_use_id ?? '', text: textOf(block.content) }] : [],
      ),
      callIds: blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id ?? ''] : [])),
      lastUser: textOf(last?.content),
    }
  },
}

export const fakeSurfaces: readonly FakeSurface[] = [chat, responses, anthropic]

export function sendEvents(response: ServerResponse, events: readonly string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(Buffer.concat(events.map((text) => Buffer.from(text))))
}
