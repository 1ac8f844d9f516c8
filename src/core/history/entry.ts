/**
 * Duty: what a history entry holds. Entries are appended and never changed; readers pass over types they do not know.
 * `v` is the schema version of the entry. Every entry names the run and the epoch (how often the worker had been claimed) that
 * wrote it, so that an audit can see that epochs never decrease (I5). Most workers have one run and are claimed once: what is 1 is not
 * written, but for `cancelled`, of which a missing one is not known.
 */

import { isObject } from '../check/is-object.ts'
import type { Failure } from '../worker/failure.ts'
import type { Message } from '../worker/message.ts'
import type { ChatMessage, FinishReason, Json, TextBlock, Usage } from './chat-message.ts'

export const entryVersion = 1

export interface EntryHead {
  readonly v: number
  /** Milliseconds since the epoch, by the node's clock; for people, never for decisions. */
  readonly at: number
  readonly run: number
  readonly epoch: number
}

export interface SpawnNote {
  readonly call: number
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly detached?: true
}

/** A message was received; with it, what the handler asked for. */
export interface ReceivedEntry extends EntryHead {
  readonly type: 'received'
  readonly message: Message
  readonly spawned?: readonly SpawnNote[]
  /** Workers that were sent to, in order. */
  readonly sent?: readonly string[]
  readonly timers?: readonly { readonly id: string; readonly ms: number }[]
}

/** The run ended with a result. */
export interface CompletedEntry extends EntryHead {
  readonly type: 'completed'
  readonly value: unknown
}

export interface FailedEntry extends EntryHead {
  readonly type: 'failed'
  readonly failure: Failure
}

/** One try of a message failed; another follows after `retryMs`. */
export interface AttemptFailedEntry extends EntryHead {
  readonly type: 'attemptFailed'
  readonly failure: Failure
  readonly retryMs: number
  /** Calls of `once` tools that said themselves that nothing took effect: they may run again. */
  readonly toolCallIds?: readonly string[]
}

export interface CancelledEntry extends Partial<EntryHead> {
  readonly type: 'cancelled'
  readonly v: number
  readonly at: number
}

/** Something was said in an agent's conversation. */
export type ChatEntry = EntryHead & ChatMessage

/** A `once` tool is about to run: after a crash without its result, nobody knows whether it took effect. */
export interface ToolStartedEntry extends EntryHead {
  readonly type: 'toolStarted'
  readonly toolCallId: string
  readonly toolName: string
}

/** A tool call became children: its result follows when all that are not detached have reported. */
export interface DelegatedEntry extends EntryHead {
  readonly type: 'delegated'
  readonly toolCallId: string
  /** With the names of facts that were given along. */
  readonly spawned: readonly (SpawnNote & { readonly facts?: readonly string[] })[]
}

/** A reply that said nothing and asked for nothing. */
export interface BlankEntry extends EntryHead {
  readonly type: 'blank'
  readonly model: string
  readonly finishReason: FinishReason
  readonly usage: Usage
}

export type Entry =
  | ReceivedEntry
  | CompletedEntry
  | FailedEntry
  | AttemptFailedEntry
  | CancelledEntry
  | ChatEntry
  | ToolStartedEntry
  | DelegatedEntry
  | BlankEntry

/** What an agent's run replies with. */
export interface AgentResult {
  /** The model's last words. */
  readonly text: string
  /** What its tools established, by name. */
  readonly facts?: Readonly<Record<string, Json>>
}

/** Its words, and perhaps facts; nothing else: a handler may well reply with a text and more, and all of that is told. */
export function isAgentResult(value: unknown): value is AgentResult {
  if (!isObject(value) || typeof value.text !== 'string') return false
  return Object.keys(value).every((name) => name === 'text' || name === 'facts')
}

export type ResultStatus = 'completed' | 'failed' | 'cancelled'

/** How a run ended, as a program sees it. */
export type RunResult =
  | { readonly status: 'completed'; readonly run: number; readonly value: unknown }
  | { readonly status: 'failed'; readonly run: number; readonly failure: Failure }
  | { readonly status: 'cancelled'; readonly run: number }

function entryHead(type: Entry['type'], run: number, epoch: number, at: number): string {
  let head = `"type":"${type}","v":${entryVersion},"at":${at}`
  if (run !== 1 || type === 'cancelled') head += `,"run":${run}`
  if (epoch !== 1 || type === 'cancelled') head += `,"epoch":${epoch}`
  return head
}

function withHead(head: string, more: string): string {
  return more === '{}' ? `{${head}}` : `{${head},${more.slice(1)}`
}

/** The entry of a completed run from a value that is JSON already: large replies are serialised once. */
export function completedEntry(run: number, epoch: number, at: number, valueJson: string): string {
  return `{${entryHead('completed', run, epoch, at)},"value":${valueJson}}`
}

/** The entry of a message that was received, as the JSON it was before anybody was handed it; with what was asked for. */
export function receivedEntry(
  run: number,
  epoch: number,
  at: number,
  messageJson: string,
  asked: Pick<ReceivedEntry, 'spawned' | 'sent' | 'timers'>,
): string {
  return withHead(`${entryHead('received', run, epoch, at)},"message":${messageJson}`, JSON.stringify(asked))
}

export function entryJson(
  type: Entry['type'],
  run: number,
  epoch: number,
  at: number,
  facts: Record<string, unknown>,
): string {
  return withHead(entryHead(type, run, epoch, at), JSON.stringify(withPlainText(facts)))
}

/** What is said in one text and nothing more, as most is, is written as that text; `toEntry` makes a block of it. */
function withPlainText(facts: Record<string, unknown>): Record<string, unknown> {
  const { content } = facts
  if (!Array.isArray(content) || content.length !== 1) return facts
  const block = content[0] as TextBlock
  return block.type === 'text' && Object.keys(block).length === 2 ? { ...facts, content: block.text } : facts
}

/** What is no JSON object, or lacks what its type must have, comes as an entry of an unknown type, which readers pass over. */
export function decodeEntry(json: string): Entry {
  try {
    return toEntry(JSON.parse(json))
  } catch {
    return unreadable
  }
}

/** The same of what was JSON; what is not written is added to it. */
function toEntry(entry: unknown): Entry {
  if (!isObject(entry) || !hasItsParts(entry)) return unreadable
  if (entry.type === 'cancelled') return entry as unknown as Entry
  const whole = entry as Record<string, unknown>
  whole.run ??= 1
  whole.epoch ??= 1
  if (typeof whole.content === 'string') whole.content = [{ type: 'text', text: whole.content }]
  return whole as unknown as Entry
}

const unreadable = { type: 'unreadable' } as unknown as Entry

/** When an entry was written; null without one, and of one over which somebody wrote. */
export function writtenAt(json: string | null): number | null {
  const at: unknown = json === null ? null : decodeEntry(json).at
  return typeof at === 'number' ? at : null
}

type Fields = Readonly<Record<string, unknown>>

/** What readers rely on. What is said in a conversation is checked where it is read (core/history/chat-codec.ts). */
function hasItsParts(entry: Fields): boolean {
  switch (entry.type) {
    case 'received':
      return isObject(entry.message) && typeof entry.message.kind === 'string'
    case 'failed':
      return isObject(entry.failure) && typeof entry.failure.code === 'string'
    case 'attemptFailed':
      return entry.toolCallIds === undefined || Array.isArray(entry.toolCallIds)
    case 'toolStarted':
      return typeof entry.toolCallId === 'string'
    case 'delegated':
      return typeof entry.toolCallId === 'string' && Array.isArray(entry.spawned) && entry.spawned.every(isObject)
    case 'blank':
      return isObject(entry.usage)
    default:
      return true
  }
}
