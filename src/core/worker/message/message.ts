/**
 * Duty: the messages that a worker receives, and their form in the mailbox.
 * A mail is one string: a letter for its sort, a head of tab-separated fields that scripts may match, then the value as JSON, which no script
 * ever decodes.
 * MAIL-1 No field of a head contains a tab: heads have ids, words, numbers and permissions only.
 * MAIL-2 The lane of signals takes every sort of `SignalMessage`. A new sort gets a letter in `signalLetters` and in lua/shared/mail/mail.lua, and a
 *        reader here; the compiler names whoever must handle it.
 */

import { InvariantError } from '../../errors.ts'
import type { Json } from '../../history/chat/chat-message.ts'
import { decodeAnswer } from '../ask/ask.ts'
import type { Failure } from '../run/failure.ts'
import { decodeOrder, type Order, orderLetter } from './order.ts'
import type { Steering } from './steer.ts'

/** A worker receives signals first, then results of children, then inputs. Messages of one sender keep their order. */
export type Lane = 'signals' | 'results' | 'inbox'
/** In the order in which a worker receives them. */
export const lanes: readonly Lane[] = ['signals', 'results', 'inbox']

export interface InputMessage<Value = unknown> {
  readonly kind: 'input'
  /** The id of the message, unique in the worker's mailbox. */
  readonly id: string
  /** The worker that sent it; the runtime sets it. Null for a message from outside (submit, send). */
  readonly from: string | null
  /** It steers the run in progress, which receives it before its turn. Absent: it began the run. */
  readonly when?: Steering
  readonly value: Value
  /** Facts that tools of the sending agent set and that the agent passed on, by name. */
  readonly facts?: Readonly<Record<string, Json>>
}

export interface ReportedChild {
  readonly kind: 'result'
  readonly id: string
  /** The id of the child. */
  readonly from: string
  readonly name: string
  readonly workerKind: string
  /** The number of the spawning call within the run, counted from 1. A run receives results in this order. */
  readonly call: number
}

export type ResultMessage<Value = unknown> = ReportedChild &
  (
    | {
        readonly status: 'completed'
        /** What the child replied. */
        readonly value: Value
        readonly failure: null
      }
    | { readonly status: 'failed' | 'cancelled'; readonly value: null; readonly failure: Failure }
  )

export interface TimerMessage<Value = unknown> {
  readonly kind: 'timer'
  readonly id: string
  readonly from: null
  readonly value: Value
}

/** How an ask of this worker ended (`self.ask`). */
export interface AnswerMessage<Value = unknown> {
  readonly kind: 'answer'
  /** The id of the ask. */
  readonly id: string
  readonly from: null
  /** expired: nobody answered in time. */
  readonly status: 'answered' | 'expired'
  /** The answer; of an expired ask its `onExpiry`, or null. */
  readonly value: Value
  /** Who answered, in their own words; null if they did not say. */
  readonly by: string | null
  /** Why they answered so; null if they did not say. */
  readonly reason: string | null
  /** Only in a history: the ask had `onExpiry: 'fail'`, and this message failed the run. `receive` was not called. */
  readonly fails?: string
}

/** A message of troupe itself to the open run of a worker. */
export type SignalMessage<Value = unknown> = TimerMessage<Value> | AnswerMessage<Value>

/** Each sort of signal, and the letter of its mails. */
export const signalLetters = { timer: 't', answer: 'o' } as const satisfies Readonly<
  Record<SignalMessage['kind'], string>
>

/** An input fits the schema of the kind, if the kind has one. */
export type Message<Input = unknown> = InputMessage<Input> | ResultMessage | SignalMessage

/** A message at its position in a lane. */
export interface Mail {
  /** Why the stored text cannot be read. Such a mail fails the run that receives it, and nothing else. */
  readonly malformed?: string
  /** Set if the mail asks something of the worker itself, and is no message for its run: an agent obeys it, anybody else cannot read it. */
  readonly order?: Order
  readonly lane: Lane
  /** The position in the lane, counted from 0 over the life of the worker. */
  readonly position: number
  readonly message: Message
}

/** The JSON value of a result. */
interface ResultBody {
  readonly name: string
  readonly kind: string
  readonly value: unknown
  readonly failure?: Failure
}

/** Writes an input as `i <from or -> <json>`. The id of the input follows from its position in the lane, which it gets when it is accepted. */
export function encodeInput(from: string | null, valueJson: string): string {
  return `i\t${from ?? '-'}\t${valueJson}`
}

/** `g <from> <json of value and facts>`: an input with facts. */
export function encodeGivenInput(from: string, valueJson: string, factsJson: string): string {
  return `g\t${from}\t{"value":${valueJson},"facts":${factsJson}}`
}

/**
 * `p <from> <permissions> <json of value>`: an input of a worker whose permissions are restricted. Scripts read them when a run begins
 * with it. Permissions have lines and words, but no tabs.
 */
export function encodeLimitedInput(from: string, permissions: string, valueJson: string): string {
  return permissions === '' ? encodeInput(from, valueJson) : `p\t${from}\t${permissions}\t{"value":${valueJson}}`
}

/** `r <child id> <call> <status> <json of name, kind, value, failure>`. Waits match the child in the head. */
export function encodeResult(
  child: { id: string; name: string; kind: string },
  call: number,
  outcome: Outcome,
): string {
  const body = resultBodyJson(child, outcome)
  return `r\t${child.id}\t${call}\t${outcome.status}\t${body}`
}

/** How a run ended. `valueJson` is the reply as JSON already, so that it is serialised only once. */
export type Outcome =
  | { readonly status: 'completed'; readonly valueJson: string }
  | { readonly status: 'failed'; readonly failure: Failure }
  | { readonly status: 'cancelled'; readonly failure: Failure }

function resultBodyJson(child: { name: string; kind: string }, outcome: Outcome): string {
  const head = `{"name":${JSON.stringify(child.name)},"kind":${JSON.stringify(child.kind)},"value":`
  if (outcome.status === 'completed') return `${head}${outcome.valueJson}}`
  return `${head}null,"failure":${JSON.stringify(outcome.failure)}}`
}

/**
 * `b <message id> <json of the message>`: a message whose receive failed and that its run receives again. It comes in the lane of signals,
 * because the message has left its own lane.
 */
export function encodeRepeated(message: Message): string {
  return `${repeatedLetter}\t${message.id}\t${JSON.stringify(message)}`
}

const repeatedLetter = 'b'

/** What the head of a mail says. */
export type MailHead =
  | { readonly kind: 'input'; readonly from: string | null }
  | { readonly kind: 'result'; readonly child: string; readonly call: number }
  | { readonly kind: SignalMessage['kind'] | 'repeated'; readonly id: string }

/** Reads the head of a mail; the value behind it may be cut off. Null for a mail that was consumed, and for a text that is no mail. */
export function decodeHead(text: string): MailHead | null {
  const [sort, first = '', second] = text.split('\t', 3)
  switch (sort) {
    case 'i':
    case 'g':
    case 'p':
    case orderLetter:
      return { kind: 'input', from: first === '-' ? null : first }
    case 'r':
      return { kind: 'result', child: first, call: Number(second) }
    case repeatedLetter:
      return { kind: 'repeated', id: first }
    default: {
      const kind = signalKindOf(sort)
      return kind === undefined ? null : { kind, id: first }
    }
  }
}

/** True for the head of a large result, which stands in the lane for it. Nothing else there ends with a tab. */
export function isHeadAlone(lane: Lane, text: string): boolean {
  return lane === 'results' && text.endsWith('\t')
}

/** The number of the call whose large result stands elsewhere; undefined for any other mail. */
export function callOfHeadAlone(lane: Lane, text: string): number | undefined {
  const head = isHeadAlone(lane, text) ? decodeHead(text) : null
  return head?.kind === 'result' ? head.call : undefined
}

/** The child whose result the mail is; undefined for any other mail. */
export function resultChildOf(text: string): string | undefined {
  const head = decodeHead(text)
  return head?.kind === 'result' ? head.child : undefined
}

/** Never throws: one unreadable mail must not stop its worker, or a slot. */
export function decodeMail(lane: Lane, position: number, text: string): Mail {
  const place = placeOf(lane, position)
  try {
    if (text[0] === orderLetter) return orderMail(lane, position, text)
    return { lane, position, message: decodeMessage(text, place) }
  } catch (error) {
    const malformed = error instanceof Error ? error.message : String(error)
    return { lane, position, message: unreadable(text, place, malformed), malformed }
  }
}

function orderMail(lane: Lane, position: number, text: string): Mail {
  const [, , json] = splitHead(text, 2)
  const order = decodeOrder(json as string)
  const message = { kind: 'input', id: placeOf(lane, position), from: null, value: order } as const
  return { lane, position, message, order, malformed: `it is an order to ${order.do}, and the worker is no agent.` }
}

/** The message that stands for an unreadable text. A result keeps its head, so that the parent that waits for it gets an answer. */
function unreadable(text: string, place: string, why: string): Message {
  if (text[0] !== 'r') return { kind: 'input', id: place, from: null, value: text.slice(0, 1_000) }
  const [, from = '', call = ''] = splitHead(text, 4)
  const message = `the result of worker ${from} cannot be read: ${why}`
  const failure: Failure = { code: 'input_invalid', message, origin: 'runtime', at: 0, attempt: 1, retryable: false }
  const name = from
  return {
    kind: 'result',
    id: `${from}:${call}`,
    from,
    name,
    workerKind: '',
    call: Number(call),
    status: 'failed',
    value: null,
    failure,
  }
}

/** `mailId` becomes the id of an input: unique in its mailbox, and the same at every attempt. */
export function decodeMessage(text: string, mailId: string): Message {
  switch (text[0]) {
    case 'i': {
      const [, from, value] = splitHead(text, 2)
      return {
        kind: 'input',
        id: mailId,
        from: from === '-' ? null : (from as string),
        value: JSON.parse(value as string),
      }
    }
    case 'g': {
      const [, from, body] = splitHead(text, 2)
      const { value, facts } = JSON.parse(body as string) as { value: unknown; facts: Record<string, Json> }
      return { kind: 'input', id: mailId, from: from as string, value, facts }
    }
    case 'p': {
      const [, from, , body] = splitHead(text, 3)
      const { value } = JSON.parse(body as string) as { value: unknown }
      return { kind: 'input', id: mailId, from: from as string, value }
    }
    case 'r': {
      const [, from, call, status, value] = splitHead(text, 4)
      const body = JSON.parse(value as string) as ResultBody
      return {
        kind: 'result',
        id: `${from}:${call}`,
        from: from as string,
        name: body.name,
        workerKind: body.kind,
        call: Number(call),
        status,
        value: body.value,
        failure: body.failure ?? null,
      } as ResultMessage
    }
    case repeatedLetter: {
      const [, , message] = splitHead(text, 2)
      return JSON.parse(message as string) as Message
    }
    default:
      return decodeSignal(text)
  }
}

/** `<letter> <id> <json>`; scripts write it. */
function decodeSignal(text: string): SignalMessage {
  const [letter, id, value] = splitHead(text, 2) as [string, string, string]
  const kind = signalKindOf(letter)
  switch (kind) {
    case 'timer':
      return { kind, id, from: null, value: JSON.parse(value) }
    case 'answer':
      return { kind, id, from: null, ...decodeAnswer(value) }
    case undefined:
      throw new InvariantError(`a mail of unknown sort ${JSON.stringify(text.slice(0, 20))} was read`)
  }
}

const signalKinds = Object.keys(signalLetters) as readonly SignalMessage['kind'][]

function signalKindOf(letter: string | undefined): SignalMessage['kind'] | undefined {
  return signalKinds.find((kind) => signalLetters[kind] === letter)
}

/** The id of the input at this position. */
export function inputIdOf(position: number): string {
  return placeOf('inbox', position)
}

/** The position of the input with this id; null if no input can have the id. */
export function inputPositionOf(id: string): number | null {
  const [, position] = /^inbox-(\d+)$/.exec(id) ?? []
  return position === undefined ? null : Number(position)
}

function placeOf(lane: Lane, position: number): string {
  return `${lane}-${position}`
}

/** The first `fields` + 1 fields, and the rest as the last one, tabs and all. */
function splitHead(text: string, fields: number): string[] {
  const parts: string[] = []
  let start = 0
  for (let field = 0; field <= fields; field++) {
    const end = field === fields ? -1 : text.indexOf('\t', start)
    parts.push(end < 0 ? text.slice(start) : text.slice(start, end))
    start = end + 1
  }
  return parts
}
