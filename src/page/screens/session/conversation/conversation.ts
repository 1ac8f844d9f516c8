/**
 * Duty: fold the entries of a history into what a reader follows: inputs, replies with their calls, and notes between them.
 * CONVERSATION-1 A call stands in the reply that made it, with all that became of it: approval, children, steps, result. If its reply was not read, what
 *                became of it stands by itself.
 * CONVERSATION-2 An entry of a type that this page does not know is a note that says so; nothing is left out silently.
 */
import type { HistoryItem } from '../../../../client/worker.ts'
import {
  type AssistantMessage,
  type ToolCallBlock,
  type ToolResultMessage,
  textOf,
  type UserMessage,
} from '../../../../core/history/chat/chat-message.ts'
import type { AskNote, Entry, SpawnNote, UndoneEntry } from '../../../../core/history/entry.ts'
import type { SubCall } from '../../../../core/history/kind-entry.ts'
import type { CallDecision } from '../../../../core/history/run/call-decision.ts'
import { type Note, noteOf } from './note.ts'

/** A tool call with all that became of it. */
export interface CallItem {
  readonly id: string
  readonly toolName: string
  /** Null: its reply was not read. */
  readonly block: ToolCallBlock | null
  readonly asks: readonly AskNote[]
  readonly spawned: readonly SpawnNote[]
  readonly steps: readonly SubCall[]
  readonly decision: CallDecision | null
  readonly startedAt: number | null
  readonly result: ToolResultMessage | null
}

interface ItemHead {
  readonly position: number
  readonly at: number
  readonly run: number
  /** True if it was taken back: no prompt holds it. */
  readonly isUndone: boolean
}

export type ConversationItem = ItemHead &
  (
    | { readonly type: 'input'; readonly message: UserMessage; readonly isPushed: boolean }
    | { readonly type: 'reply'; readonly message: AssistantMessage; readonly calls: readonly CallItem[] }
    | { readonly type: 'call'; readonly call: CallItem }
    | ({ readonly type: 'note' } & Note)
  )

type Draft<Part> = { -readonly [Name in keyof Part]: Part[Name] }

export function conversationOf(items: readonly HistoryItem[]): ConversationItem[] {
  const fold = new ConversationFold()
  for (const item of items) fold.add(item)
  return fold.items
}

class ConversationFold {
  readonly items: ConversationItem[] = []
  readonly #calls = new Map<string, Draft<CallItem>>()
  /** Where messages of the system stand: they stay if the whole conversation is taken back. */
  readonly #systems = new Set<number>()
  readonly #undone: { readonly from: number; readonly items: Draft<ItemHead>[] }[] = []

  add({ position, entry }: HistoryItem): void {
    const head = { position, at: entry.at, run: entry.run ?? 0, isUndone: false }
    switch (entry.type) {
      case 'user':
        this.items.push({ ...head, type: 'input', message: entry, isPushed: entry.pushed === true })
        return
      case 'assistant':
        this.#addReply(head, entry)
        return
      case 'toolResult':
        this.#call(head, entry).result = entry
        return
      case 'toolStarted':
        this.#call(head, entry).startedAt = entry.at
        return
      case 'delegated':
        this.#extend(head, entry, { spawned: entry.spawned })
        return
      case 'asked':
        this.#extend(head, entry, { asks: entry.asks })
        return
      case 'subCall':
        this.#extend(head, entry, { steps: [entry] })
        return
      case 'subCallStarted':
      case 'askWithdrawn':
        return
      case 'callsDecided':
        for (const decision of entry.calls) this.#call(head, { toolCallId: decision.toolCallId }).decision = decision
        return
      default:
        this.#addNote(head, entry)
    }
  }

  #addReply(head: ItemHead, message: AssistantMessage): void {
    const calls = message.content.flatMap((block) => (block.type === 'tool-call' ? [newCall(block)] : []))
    for (const call of calls) this.#calls.set(call.id, call)
    this.items.push({ ...head, type: 'reply', message, calls })
  }

  #addNote(head: ItemHead, entry: Entry): void {
    if (entry.type === 'system') this.#systems.add(head.position)
    if (entry.type === 'undone') this.#undo(entry)
    if (entry.type === 'redone') for (const item of this.#undone.pop()?.items ?? []) item.isUndone = false
    const said = entry.type === 'completed' ? this.#lastSaid(head.run) : undefined
    this.items.push({ ...head, type: 'note', ...noteOf(entry, said) })
  }

  /** The text of the last reply, if it is of this run. */
  #lastSaid(run: number): string | undefined {
    const reply = this.items.findLast(({ type }) => type === 'reply')
    return reply?.type === 'reply' && reply.run === run ? textOf(reply.message.content) : undefined
  }

  #undo({ from, all = false }: UndoneEntry): void {
    const stays = (position: number) => position < from || (all && this.#systems.has(position))
    const items = this.items.filter(({ position, isUndone }) => !stays(position) && !isUndone)
    for (const item of items) (item as Draft<ItemHead>).isUndone = true
    this.#undone.push({ from, items })
  }

  /** Puts what became of a call into the reply that made it (CONVERSATION-1). */
  #call(
    head: ItemHead,
    { toolCallId, toolName = '' }: { readonly toolCallId: string; readonly toolName?: string },
  ): Draft<CallItem> {
    const known = this.#calls.get(toolCallId)
    if (known !== undefined) return known
    const call: Draft<CallItem> = { ...newCall(null), id: toolCallId, toolName }
    this.#calls.set(toolCallId, call)
    this.items.push({ ...head, type: 'call', call })
    return call
  }

  #extend(
    head: ItemHead,
    named: { readonly toolCallId: string; readonly toolName?: string },
    more: Partial<Pick<CallItem, 'asks' | 'spawned' | 'steps'>>,
  ): void {
    const call = this.#call(head, named)
    call.asks = [...call.asks, ...(more.asks ?? [])]
    call.spawned = [...call.spawned, ...(more.spawned ?? [])]
    call.steps = [...call.steps, ...(more.steps ?? [])]
  }
}

function newCall(block: ToolCallBlock | null): Draft<CallItem> {
  const { toolCallId: id = '', toolName = '' } = block ?? {}
  return { id, toolName, block, asks: [], spawned: [], steps: [], decision: null, startedAt: null, result: null }
}
