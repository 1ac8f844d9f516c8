/**
 * Duty: define the entries of a worker's history, and how they are written and read. An entry is appended once and never changed.
 * `v` is the schema version of the entry. Each entry names the run and the epoch (how often the worker had been claimed) in which it was
 * written. An audit checks by them that epochs never decrease (I5).
 * ENTRY-1 A run or an epoch of 1 is not written, because most workers have one run and are claimed once. The type `cancelled` is the
 *         exception: scripts write it too, and there a missing run means that the run is unknown.
 * ENTRY-2 Readers pass over entries of a type that they do not know.
 * ENTRY-3 Run 0 and epoch 0 mark the entries with which a session began. They stand before all others.
 */

import { isObject } from '../check/is-object.ts'
import type { AskSort } from '../worker/ask/ask.ts'
import type { Configuration } from '../worker/message/configuration.ts'
import type { Message } from '../worker/message/message.ts'
import type { Order } from '../worker/message/order.ts'
import type { Failure } from '../worker/run/failure.ts'
import type { ChatMessage, FinishReason, TextBlock, Usage } from './chat/chat-message.ts'
import { hasItsParts } from './entry-form.ts'
import type { CallsDecided, Hooked, SubCall, SubCallStarted } from './kind-entry.ts'

export const entryVersion = 1

export interface EntryHead {
  readonly v: number
  /** Milliseconds since 1970, by the node's clock. For people to read; nothing is decided by it. */
  readonly at: number
  readonly run: number
  readonly epoch: number
  /** The first entry of a turn whose worker was interrupted before: an earlier turn recorded nothing, because its node died or lost its lease. */
  readonly takenOver?: TakenOver
}

export interface TakenOver {
  /** How many starts since the last commit count, this one included. */
  readonly start: number
  /** The node that goes on. */
  readonly node: string
  /** What the other node said before it died. */
  readonly lastWords?: string
}

export interface SpawnNote {
  readonly call: number
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly detached?: true
}

/** A type, so that it may be the details of an event. */
export type AskNote = {
  readonly id: string
  readonly sort: AskSort
  readonly question: string
  readonly expiresMs?: number
}

/** A message was received. The entry also holds what the handler asked for while it received it. */
export interface ReceivedEntry extends EntryHead {
  readonly type: 'received'
  readonly message: Message
  readonly spawned?: readonly SpawnNote[]
  /** Ids of the workers to which the handler sent messages, in order. */
  readonly sent?: readonly string[]
  readonly timers?: readonly { readonly id: string; readonly ms: number }[]
  readonly asks?: readonly AskNote[]
  readonly interrupted?: true /** A message interrupted `receive`. Nothing else of that `receive` is recorded. */
}

/** What a step of a handler returned (`self.step`). It stands before the entry of the message that was being received. */
export interface StepEntry extends EntryHead {
  readonly type: 'step'
  readonly name: string
  readonly value: unknown
}

/** The run ended with a result. */
export interface CompletedEntry extends EntryHead {
  readonly type: 'completed'
  readonly value: unknown
}

export interface FailedEntry extends EntryHead {
  readonly type: 'failed'
  readonly failure: Failure
  /** The model refused the prompt. Later prompts hold a note in place of what this run had added since the last reply. */
  readonly leftOut?: true
}

/** One attempt failed; the next one follows after `retryMs`. */
export interface AttemptFailedEntry extends EntryHead {
  readonly type: 'attemptFailed'
  readonly failure: Failure
  readonly retryMs: number
  /** Calls of `once` tools that reported that nothing took effect. These calls may run again. */
  readonly toolCallIds?: readonly string[]
}

export interface CancelledEntry extends Partial<EntryHead> {
  readonly type: 'cancelled'
  readonly v: number
  readonly at: number
  /** The message that the run was to begin with, if it had not received it: its id and, as it stood in the mailbox, its text. */
  readonly dropped?: { readonly id: string; readonly mail: string }
  /** `onCancel` of its kind was called: why, to whom it sent, and how it failed, if it did. */
  readonly onCancel?: { readonly reason: string; readonly sent?: readonly string[]; readonly failure?: Failure }
}

/** A message of an agent's conversation. `pushed`: somebody added it from outside while the worker rested, and it came through no mailbox. */
export type ChatEntry = EntryHead & ChatMessage & { readonly pushed?: true }

/** A `once` tool is about to run. If no result follows because of a crash, nobody knows whether the tool took effect. */
export interface ToolStartedEntry extends EntryHead {
  readonly type: 'toolStarted'
  readonly toolCallId: string
  readonly toolName: string
}

/** A tool call started children. The result of the call follows when all children that are not detached have reported. */
export interface DelegatedEntry extends EntryHead {
  readonly type: 'delegated'
  readonly toolCallId: string
  /** Each with the names of the facts that the child received. */
  readonly spawned: readonly (SpawnNote & { readonly facts?: readonly string[] })[]
}

/** A tool call opened these asks. The result of the call follows when they have ended. */
export interface AskedEntry extends EntryHead {
  readonly type: 'asked'
  readonly toolCallId: string
  readonly asks: readonly AskNote[]
}

/** An ask about a call needs no answer any more: its tool was trusted, the policy of its session changed, or the call is no longer valid. */
export interface AskWithdrawnEntry extends EntryHead {
  readonly type: 'askWithdrawn'
  readonly toolCallId: string
  readonly ask: string
}

// What code of the kind decided and did (kind-entry.ts).
export type CallsDecidedEntry = EntryHead & CallsDecided
export type HookedEntry = EntryHead & Hooked
export type SubCallStartedEntry = EntryHead & SubCallStarted
export type SubCallEntry = EntryHead & SubCall

/** A model's reply without text and without tool calls. */
export interface BlankEntry extends EntryHead {
  readonly type: 'blank'
  readonly model: string
  readonly finishReason: FinishReason
  readonly usage: Usage
}

/** Somebody let a failed run go on. The failure before this entry is no longer the end of the run. */
export interface RetriedEntry extends EntryHead {
  readonly type: 'retried'
  /** Calls of an agent whose results no longer count: they run again, or the entries after this one answer them. */
  readonly reopened?: readonly string[]
  /** The message that a handler receives again. */
  readonly messageId?: string
}

/** In later prompts a summary stands for what came before a message. The entries of what it stands for stay. */
export interface CompactedEntry extends EntryHead {
  readonly type: 'compacted'
  /** The summary, as the model wrote it. */
  readonly text: string
  /** Open work that must not be forgotten, as troupe knows it: it stands in prompts beside the summary. */
  readonly owed?: string
  /** The id of the first message that stays. */
  readonly firstKept: string
  /** The `provider/model` that wrote the summary. */
  readonly model: string
  readonly usage: Usage
  /** For how many messages it stands, and the tokens of the prompt before and after, by count and estimate. */
  readonly messages?: number
  readonly tokensBefore?: number
  readonly tokensAfter?: number
  /** The id of the order that asked for the summary. Absent: the conversation had filled the window of its model. */
  readonly order?: string
}

/** An order was received (core/worker/message/order.ts). `message`: the id of its mail. */
export interface OrderedEntry extends EntryHead {
  readonly type: 'ordered'
  readonly message: string
  readonly order: Order
}

/** An order to compact came to nothing, and nothing has changed. */
export interface OrderRefusedEntry extends EntryHead {
  readonly type: 'orderRefused'
  readonly message: string
  readonly reason: string
}

/** From now on the agent is as this says, and as its kind says of the rest. `message`: the id of the order; empty: its session began so. */
export interface ConfiguredEntry extends EntryHead, Configuration {
  readonly type: 'configured'
  readonly message: string
}

/** In later prompts notes stand for long results before a message. The entries of these results stay. */
export interface ClearedEntry extends EntryHead {
  readonly type: 'cleared'
  /** The id of the first message that stays as it is. */
  readonly firstKept: string
  readonly results: number
}

/** The last summary no longer stands for anything, or what was cleared last is back: prompts are as they would be without it. */
export interface ExpandedEntry extends EntryHead {
  readonly type: 'expanded'
}

/** What somebody outside changed of the prompts of a worker that rests. */
export type ContextChange = 'expanded' | 'undone' | 'redone' | 'pushed'

/** The last turn was taken back: what stands from this position on, up to this entry, is in no prompt (core/history/undone.ts). */
export interface UndoneEntry extends EntryHead {
  readonly type: 'undone'
  readonly from: number
  /** The whole conversation was taken back. System messages stay in it. */
  readonly all?: boolean | undefined
}

/** The last entry `undone` no longer holds. */
export interface RedoneEntry extends EntryHead {
  readonly type: 'redone'
}

export type Entry =
  | ReceivedEntry
  | StepEntry
  | CompletedEntry
  | FailedEntry
  | AttemptFailedEntry
  | CancelledEntry
  | ChatEntry
  | ToolStartedEntry
  | DelegatedEntry
  | AskedEntry
  | AskWithdrawnEntry
  | CallsDecidedEntry
  | HookedEntry
  | SubCallStartedEntry
  | SubCallEntry
  | BlankEntry
  | RetriedEntry
  | CompactedEntry
  | ClearedEntry
  | ExpandedEntry
  | OrderedEntry
  | OrderRefusedEntry
  | ConfiguredEntry
  | UndoneEntry
  | RedoneEntry

export type ResultStatus = 'completed' | 'failed' | 'cancelled'

/** How a run ended. */
export type RunResult<Value = unknown> =
  | { readonly status: 'completed'; readonly run: number; readonly value: Value }
  | { readonly status: 'failed'; readonly run: number; readonly failure: Failure }
  | { readonly status: 'cancelled'; readonly run: number }

/** The fields of an entry of this type, without its head. */
export type EntryParts<Type extends Entry['type']> = Omit<Extract<Entry, { type: Type }>, keyof EntryHead | 'type'>

function entryHead(type: Entry['type'], run: number, epoch: number, at: number, v = entryVersion): string {
  let head = `"type":"${type}","v":${v},"at":${at}`
  if (run !== 1 || type === 'cancelled') head += `,"run":${run}`
  if (epoch !== 1 || type === 'cancelled') head += `,"epoch":${epoch}`
  return head
}

function withHead(head: string, more: string): string {
  return more === '{}' ? `{${head}}` : `{${head},${more.slice(1)}`
}

/** A stored entry with the note that its turn took the worker over. */
export function withTakenOver(entryJson: string, takenOver: TakenOver): string {
  return `{"takenOver":${JSON.stringify(takenOver)},${entryJson.slice(1)}`
}

/** The entry of a completed run. The value is JSON already, so that a large value is serialised only once. */
export function completedEntry(run: number, epoch: number, at: number, valueJson: string): string {
  return `{${entryHead('completed', run, epoch, at)},"value":${valueJson}}`
}

/** The value is JSON already. */
export function stepEntry(run: number, epoch: number, at: number, name: string, valueJson: string): string {
  return `{${entryHead('step', run, epoch, at)},"name":${JSON.stringify(name)},"value":${valueJson}}`
}

/** The entry of a received message. `messageJson` was made before the handler got the message, because a handler may change it. */
export function receivedEntry(
  run: number,
  epoch: number,
  at: number,
  messageJson: string,
  asked: Pick<ReceivedEntry, 'spawned' | 'sent' | 'timers' | 'asks' | 'interrupted'>,
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

/** An entry as it is stored. */
export function encodeEntry({ type, v, at, run = 1, epoch = 1, ...parts }: Entry): string {
  return withHead(entryHead(type, run, epoch, at, v), JSON.stringify(withPlainText(parts)))
}

/** Content of a single text block, the most frequent content, is stored as that text. `toEntry` turns it into a block again. */
function withPlainText(facts: Record<string, unknown>): Record<string, unknown> {
  const { content } = facts
  if (!Array.isArray(content) || content.length !== 1) return facts
  const block = content[0] as TextBlock
  return block.type === 'text' && Object.keys(block).length === 2 ? { ...facts, content: block.text } : facts
}

/** Text that is no JSON object, or that lacks a required field, is read as an entry of an unknown type, which readers pass over. */
export function decodeEntry(json: string): Entry {
  try {
    return toEntry(JSON.parse(json))
  } catch {
    return unreadable
  }
}

/** Adds the fields that were left out when the entry was written. */
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

/** True for an entry that a session got when it was created (ENTRY-3). */
export function isGiven({ run }: Partial<EntryHead>): boolean {
  return run === 0
}

/** When an entry was written. Null if there is no entry, or if it is damaged. */
export function writtenAt(json: string | null): number | null {
  const at: unknown = json === null ? null : decodeEntry(json).at
  return typeof at === 'number' ? at : null
}
