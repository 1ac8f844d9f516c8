/**
 * Duty: say of each event of a reply, by the protocol of its provider, whether it can be used and whether it ends the reply.
 * PROTOCOL-1 The packages of the AI SDK call a whole reply unreadable for one event that they do not know. Such events stop here.
 * PROTOCOL-2 Counts of tokens become whole numbers from 0, whatever a server writes for them.
 */
import { isObject } from '../../core/check/is-object.ts'
import type { Usage } from '../../core/history/chat/chat-message.ts'
import { countOf } from '../../core/worker/run/usage.ts'

/** What is done with one event. */
export type EventVerdict =
  /** `text`: the data to pass on. `isFinish`: the reply is complete, but one more event may follow. `usage`: what it says that the call has used so far. */
  | {
      readonly kind: 'passed'
      readonly text: string
      readonly isEnd?: boolean
      readonly isFinish?: boolean
      readonly usage?: Usage
    }
  /** It is no part of the reply: a ping, for example. */
  | { readonly kind: 'ignored' }
  | { readonly kind: 'skipped'; readonly why: string; readonly mayBeArguments: boolean }

/** Reads the events of one reply in their order. */
export interface ReplyReader {
  take(text: string): EventVerdict
}

export type ReplyProtocol = () => ReplyReader

type Fields = Readonly<Record<string, unknown>>

const ignored: EventVerdict = { kind: 'ignored' }

function skipped(why: string, mayBeArguments = false): EventVerdict {
  return { kind: 'skipped', why, mayBeArguments }
}

/** Parses each event. Data that begins like an object, but is none, is an event that was damaged on its way. */
abstract class JsonReader implements ReplyReader {
  /** True while the arguments of a call are being written. */
  protected abstract readonly isWritingCall: boolean

  protected abstract takeObject(event: Fields, text: string): EventVerdict

  take(text: string): EventVerdict {
    let event: unknown
    try {
      event = JSON.parse(text)
    } catch {
      return skipped('an event that is no JSON', this.isWritingCall && /^\s*[{[]/.test(text))
    }
    if (!isObject(event)) return skipped('an event that is no object')
    return isPing(event) ? ignored : this.takeObject(event, text)
  }
}

/** The chat protocol of OpenAI, which many servers speak. */
class ChatReader extends JsonReader {
  protected isWritingCall = false
  #hasFinished = false

  override take(text: string): EventVerdict {
    return text.trim() === '[DONE]' ? { kind: 'passed', text, isEnd: true } : super.take(text)
  }

  protected override takeObject(event: Fields, text: string): EventVerdict {
    // Some servers send `error: null` with each event; the packages take the name alone for an error.
    if (event.error !== undefined && event.error !== null) return { kind: 'passed', text }
    const { error: _none, ...plain } = event
    const usage = isObject(event.usage) ? withCounts(event.usage) : undefined
    if (!Array.isArray(event.choices) && usage === undefined) return skipped('an event without choices')
    const choices = (Array.isArray(event.choices) ? event.choices : []).filter(isObject)
    const cleaned = choices.map((choice, index) => this.#choice(choice, index))
    const isLast = this.#hasFinished && choices.length === 0 && usage !== undefined
    return {
      kind: 'passed',
      text: JSON.stringify({ ...plain, choices: cleaned, usage }),
      isEnd: isLast,
      isFinish: this.#hasFinished,
    }
  }

  /** Keeps only the fields that a reply consists of. Other fields, like probabilities, have many forms, and nobody reads them. */
  #choice(choice: Fields, place: number): Fields {
    const { index, delta, finish_reason: reason } = choice
    if (typeof reason === 'string' && reason !== '') this.#hasFinished = true
    const finish = typeof reason === 'string' && reason !== '' ? { finish_reason: reason } : {}
    const plain = { index: typeof index === 'number' ? index : place, ...finish }
    if (!isObject(delta)) return plain
    if (Array.isArray(delta.tool_calls) && delta.tool_calls.length > 0) this.isWritingCall = true
    const { annotations: _annotations, role: _role, ...said } = delta
    return { ...plain, delta: said }
  }
}

/** The events of the Responses protocol after which nothing comes. */
const responseEnds = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error'])

class ResponsesReader extends JsonReader {
  readonly #openCalls = new Set<unknown>()

  protected override get isWritingCall(): boolean {
    return this.#openCalls.size > 0
  }

  override take(text: string): EventVerdict {
    return text.trim() === '[DONE]' ? { kind: 'passed', text: '', isEnd: true } : super.take(text)
  }

  protected override takeObject(event: Fields, text: string): EventVerdict {
    const { type, item, output_index: index, response } = event
    if (typeof type !== 'string') return event.error === undefined ? skipped('an event without a type') : passed(text)
    if (isObject(item) && item.type === 'function_call') {
      if (type === 'response.output_item.added') this.#openCalls.add(index)
      if (type === 'response.output_item.done') this.#openCalls.delete(index)
    }
    const isEnd = responseEnds.has(type)
    if (!isEnd) return passed(text)
    const { sequence_number: number } = event
    const numbered = { ...event, sequence_number: typeof number === 'number' ? number : 0 }
    if (!isObject(response)) return { kind: 'passed', text: JSON.stringify(numbered), isEnd }
    const usage = countsOf(response.usage, ['input_tokens', 'output_tokens'])
    return { kind: 'passed', text: JSON.stringify({ ...numbered, response: { ...response, usage } }), isEnd }
  }
}

const anthropicBlocks = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use', 'compaction', 'fallback'])
const anthropicDeltas: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
  input_json_delta: 'partial_json',
}

class AnthropicReader extends JsonReader {
  /** The indexes of blocks that nobody can read, and of calls that are being written. */
  readonly #unread = new Set<unknown>()
  readonly #calls = new Set<unknown>()

  protected override get isWritingCall(): boolean {
    return this.#calls.size > 0
  }

  protected override takeObject(event: Fields, text: string): EventVerdict {
    switch (event.type) {
      case 'message_start':
        return this.#messageStart(event)
      case 'message_delta':
        return isObject(event.delta)
          ? passed(JSON.stringify({ ...event, usage: countsOf(event.usage, ['output_tokens']) }))
          : skipped('an event without a delta')
      case 'message_stop':
      case 'error':
        return { kind: 'passed', text, isEnd: true }
      case 'content_block_start':
        return this.#blockStart(event, text)
      case 'content_block_delta':
        return this.#blockDelta(event, text)
      case 'content_block_stop':
        this.#calls.delete(event.index)
        return this.#unread.delete(event.index) ? ignored : passed(text)
      default:
        return skipped('an event of an unknown type')
    }
  }

  #messageStart(event: Fields): EventVerdict {
    const { message } = event
    if (!isObject(message)) return skipped('an event without a message')
    const usage = countsOf(message.usage, ['input_tokens'])
    return {
      kind: 'passed',
      text: JSON.stringify({ ...event, message: { ...message, usage } }),
      usage: anthropicUsage(usage),
    }
  }

  #blockStart({ index, content_block: block }: Fields, text: string): EventVerdict {
    if (!isObject(block)) return skipped('an event without a block')
    if (!anthropicBlocks.has(String(block.type))) {
      this.#unread.add(index)
      return skipped('a block of an unknown type')
    }
    if (block.type === 'tool_use') this.#calls.add(index)
    return passed(text)
  }

  #blockDelta({ index, delta }: Fields, text: string): EventVerdict {
    if (this.#unread.has(index)) return ignored
    if (!isObject(delta)) return skipped('an event without a delta', this.#calls.has(index))
    const field = anthropicDeltas[String(delta.type)]
    // A citation belongs to a text that the next events repeat in no other way; nobody reads it.
    if (delta.type === 'citations_delta') return ignored
    if (delta.type === 'compaction_delta') return passed(text)
    if (field !== undefined && typeof delta[field] === 'string') return passed(text)
    return skipped('a delta that cannot be read', this.#calls.has(index))
  }
}

/** What the prompt has used, known from the first event on. The other protocols say it in their last one. */
function anthropicUsage(counts: Fields): Usage {
  const [read, written] = [countOf(counts.cache_read_input_tokens), countOf(counts.cache_creation_input_tokens)]
  const inputTokens = countOf(counts.input_tokens) + read + written
  return { inputTokens, outputTokens: 0, cacheReadTokens: read, cacheWriteTokens: written }
}

export const chatProtocol: ReplyProtocol = () => new ChatReader()
export const responsesProtocol: ReplyProtocol = () => new ResponsesReader()
export const anthropicProtocol: ReplyProtocol = () => new AnthropicReader()

function passed(text: string): EventVerdict {
  return { kind: 'passed', text }
}

function countsOf(usage: unknown, needed: readonly string[]): Fields {
  return withCounts(isObject(usage) ? usage : {}, needed)
}

/** The usage with counts that can be added up. `needed`: counts without which the packages refuse the event. */
function withCounts(usage: Fields, needed: readonly string[] = []): Fields {
  const counted: Record<string, unknown> = {}
  for (const name of needed) counted[name] = 0
  for (const [name, value] of Object.entries(usage)) {
    if (name === 'iterations' || value === null || value === undefined) continue
    if (name.endsWith('tokens')) counted[name] = countOf(value)
    else if (isObject(value)) counted[name] = withCounts(value)
    else if (!name.endsWith('_details')) counted[name] = value
  }
  return counted
}

function isPing({ type }: Fields): boolean {
  return type === 'ping' || type === 'keepalive'
}
