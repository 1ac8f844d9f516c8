/**
 * Duty: the log of a session that the fifth design keeps, as JSON lines: a line about the session, then what happened.
 * CHAT-LOG-1 A conversation that was cleared or compacted in the log is read as it was then.
 */

import { isObject } from '../../core/check/is-object.ts'
import { type ChatMessage, type Json, type ToolCallBlock, toolCallsOf } from '../../core/history/chat/chat-message.ts'
import { handoffMark } from '../../core/history/prompt/prompt-fold.ts'
import type { Format } from '../format.ts'
import { argumentsText, parseArguments } from '../parts/arguments.ts'
import type { Foreign } from '../parts/foreign.ts'
import { modelOf, type Said, textBlocks, unknownModel } from '../parts/said.ts'
import { joined, summaryTurn } from '../parts/turns.ts'
import { oneText } from '../parts/wire-losses.ts'
import {
  commonLosses,
  isoOf,
  outcomeOf,
  readCall,
  readOutcome,
  readUserBlocks,
  writtenBlock,
  writtenCall,
} from './chat-message.ts'

export const chatMessageLog: Format = {
  name: 'chat-message-log',
  title: 'log of ChatMessage sessions',
  form: 'JSON lines: `{sessionId, cwd, model, createdAt}`, then `{kind, data}` for each event',
  losses: {
    ...commonLosses,
    ...oneText,
    system: 'left out: the log has none',
    laterSystem: 'left out: the log has none',
    severalSystem: 'left out: the log has none',
    signedReasoning: 'the text stays, the signature is left out',
    emptyMessages: 'replies are left out',
    errors: 'those before a summary are left out',
    summaries: `one that stands first stays what it is; others become the text of a user that begins with ${handoffMark}`,
    summaryCounts: 'left out',
    ids: 'those of replies with a text stay',
    times: 'left out',
    models: 'left out, where a reply has no text',
  },
  fits({ lines }) {
    const head: unknown = lines[0]?.value
    if (!isObject(head)) return false
    return (typeof head.sessionId === 'string' && typeof head.cwd === 'string') || isEvent(head)
  },
  read({ lines }, said) {
    const reader = new LogReader(said)
    for (const [index, line] of lines.entries()) {
      if (index === 0 && line.has('sessionId')) said.id = line.field('sessionId').text()
      else reader.read(line)
    }
    reader.end()
  },
  write(messages, { id = 'troupe', folder = '/' }) {
    const reply = messages.findLast((message) => message.type === 'assistant')
    const createdAt = isoOf(messages.find(({ at }) => at > 0)?.at ?? 0)
    const head = { sessionId: id, cwd: folder, model: reply?.model ?? unknownModel, selectedMode: null, createdAt }
    return { lines: [head, ...eventsOf(messages)] }
  },
}

function isEvent({ kind, data }: Readonly<Record<string, unknown>>): boolean {
  return (kind === 'user' && isObject(data)) || (kind === 'agent' && (isObject(data) || typeof data === 'string'))
}

/** A reply as far as it was read, and the results of its calls. */
class LogReader {
  readonly #said: Said
  #texts: string[] = []
  #thoughts: string[] = []
  #calls: ToolCallBlock[] = []
  #outcomes: (readonly [outcome: Foreign, isOk: boolean])[] = []
  #model: string | undefined
  #id: string | undefined

  constructor(said: Said) {
    this.#said = said
  }

  read(line: Foreign): void {
    const data = line.field('data')
    const kind = line.field('kind').word(['user', 'agent'])
    if (kind === 'user') this.#user(data)
    else if (data.isText) this.#word(data.text())
    else for (const [name, body] of data.entries()) this.#event(name, body)
  }

  #user(data: Foreign): void {
    this.end()
    const type = data.field('type').text()
    if (type === 'message') this.#said.user(readUserBlocks(data.field('content'), this.#said))
    else if (type === 'clearContext') this.#clear()
  }

  #word(word: string): void {
    if (word === 'Done') this.end()
    else if (word === 'ContextCleared') this.#clear()
  }

  #event(name: string, body: Foreign): void {
    switch (name) {
      case 'Text':
      case 'Thought':
        if (body.field('is_complete').value === false) return
        if (this.#calls.length > 0) this.end()
        this.#head(body)
        ;(name === 'Text' ? this.#texts : this.#thoughts).push(body.field('chunk').text())
        return
      case 'ToolCall':
        if (this.#outcomes.length > 0) this.end()
        this.#head(body)
        this.#addCall(readCall(body.field('request'), this.#said))
        return
      case 'ToolResult':
      case 'ToolError':
        this.#outcome(body.field(name === 'ToolResult' ? 'result' : 'error'), name === 'ToolResult')
        return
      case 'Error':
        this.end()
        this.#said.error(body.field('message').text())
        return
      case 'Cancelled':
        this.end()
        return
      case 'ContextCompactionResult':
        this.end()
        this.#compact(body)
    }
  }

  #head(body: Foreign): void {
    this.#model ??= modelOf('unknown', body.field('model_name').textIfAny())
    this.#id ??= body.field('message_id').textIfAny()
  }

  /** The same call comes again while its arguments grow. */
  #addCall(call: ToolCallBlock): void {
    const known = this.#calls.findIndex(({ toolCallId }) => toolCallId === call.toolCallId)
    if (known < 0) this.#calls.push(call)
    else this.#calls[known] = call
  }

  /** Results hold the whole arguments of their calls. */
  #outcome(outcome: Foreign, isOk: boolean): void {
    const id = outcome.field('id').text()
    const args = outcome.field('arguments').textIfAny()
    const known = this.#calls.findIndex(({ toolCallId }) => toolCallId === id)
    if (known < 0) this.#calls.push(this.#said.call(id, outcome.field('name').text(), args ?? ''))
    else if (args !== undefined)
      this.#calls[known] = { ...withoutText(this.#calls[known] as ToolCallBlock), ...parseArguments(args) }
    this.#outcomes.push([outcome, isOk])
  }

  end(): void {
    const [text, thought] = [this.#texts.join('\n'), this.#thoughts.join('\n')]
    const blocks = [
      ...textBlocks(thought).map((block) => ({ type: 'reasoning' as const, text: block.text })),
      ...textBlocks(text),
      ...this.#calls,
    ]
    if (blocks.length > 0) {
      const model = this.#model === unknownModel ? undefined : this.#model
      this.#said.assistant(blocks, { model, id: this.#id })
    }
    for (const [outcome, isOk] of this.#outcomes) readOutcome(outcome, isOk, this.#said)
    this.#texts = []
    this.#thoughts = []
    this.#calls = []
    this.#outcomes = []
    this.#model = undefined
    this.#id = undefined
  }

  #clear(): void {
    this.end()
    this.#keepSystem()
  }

  #compact(body: Foreign): void {
    const removed = this.#said.messages.filter(({ type }) => type !== 'system').length
    this.#keepSystem()
    this.#said.summary(body.field('summary').text(), removed || body.field('messages_removed').numberOr0())
  }

  #keepSystem(): void {
    const { messages } = this.#said
    messages.splice(0, messages.length, ...messages.filter(({ type }) => type === 'system'))
  }
}

function withoutText(call: ToolCallBlock): ToolCallBlock {
  const { inputText: _, ...rest } = call
  return rest
}

function eventsOf(messages: readonly ChatMessage[]): Json[] {
  const events: Json[] = []
  const agent = (data: Json) => events.push({ kind: 'agent', data })
  const first = messages.find(({ type }) => type !== 'system' && type !== 'error')
  if (first?.type === 'summary')
    agent({ ContextCompactionResult: { summary: first.text, messages_removed: first.messagesCompacted } })
  const said = summaryTurn(messages.filter((message) => message !== first || first.type !== 'summary'))
  let calls: readonly ToolCallBlock[] = []
  for (const [index, message] of said.entries()) {
    if (message.type === 'user')
      events.push({ kind: 'user', data: { type: 'message', content: message.content.map(writtenBlock) } })
    else if (message.type === 'error') agent({ Error: { message: message.message } })
    else if (message.type === 'assistant') {
      calls = toolCallsOf(message)
      for (const event of replyEvents(message)) agent(event)
    } else if (message.type === 'toolResult') {
      const call = calls.find(({ toolCallId }) => toolCallId === message.toolCallId)
      const { Ok, Err } = outcomeOf(message, call === undefined ? null : argumentsText(call))
      agent(
        Ok === undefined
          ? { ToolError: { error: Err ?? null, model_name: '' } }
          : { ToolResult: { result: Ok, result_meta: null, model_name: '' } },
      )
    }
    const endsReply = message.type === 'assistant' || message.type === 'toolResult'
    if (endsReply && said[index + 1]?.type !== 'toolResult') agent('Done')
  }
  return events
}

function replyEvents({ id, model, content }: Extract<ChatMessage, { readonly type: 'assistant' }>): Json[] {
  const head = { message_id: id, is_complete: true, model_name: model }
  const thought = content
    .flatMap((block) => (block.type === 'reasoning' && block.text !== '' ? [block.text] : []))
    .join('\n')
  const text = joined(content)
  const calls = content.filter((block) => block.type === 'tool-call')
  return [
    ...(thought === '' ? [] : [{ Thought: { ...head, chunk: thought } }]),
    ...(text.trim() === '' ? [] : [{ Text: { ...head, chunk: text } }]),
    ...calls.map((call) => ({ ToolCall: { request: writtenCall(call), model_name: model } })),
  ]
}
