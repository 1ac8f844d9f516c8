/**
 * Duty: build the prompt of a conversation while messages are added, so that a long history is not converted again for each prompt.
 * PROMPT-1 A prompt begins with a user message. An assistant message with calls is followed by one tool message with one result for each call,
 *          in call order. Neighbours with the same role are merged.
 * PROMPT-2 Only a result that comes before any other message answers its call. A call without one is shown as cancelled, in this and every
 *          later prompt. A result that comes later, twice, or for an unknown call is left out.
 * PROMPT-3 A part to which nothing was added is the same object in each prompt, because adapters keep what they built from it.
 * PROMPT-4 A note stands in place of what a provider refused: of the input if the run had no reply, else of the newest results.
 * PROMPT-5 System messages, errors, facts, and blocks of unknown types are not part of a prompt.
 * PROMPT-6 A summary stands in place of the parts before a boundary, which lies before a message and never between calls and their results.
 *          The messages that it replaces are kept, so that the prompt can become as before.
 * PROMPT-7 Before a boundary, notes may stand in place of long results. They too are kept, and can be put back.
 */

import type { PromptMessage, PromptResult } from '../../definition/model.ts'
import {
  type AssistantBlock,
  type AssistantMessage,
  askedModel,
  type ChatMessage,
  type SummaryMessage,
  type TextBlock,
  type ToolCallBlock,
  type ToolOutput,
  type ToolResultMessage,
  toolCallsOf,
  type UserBlock,
} from '../chat/chat-message.ts'
import { isBlob } from '../chat/media.ts'
import { cancelledText } from '../run/open-calls.ts'
import { clearedPart } from './cleared.ts'
import { assistantBlocks, withoutSignatures } from './reply-blocks.ts'
import { userBlocks, withoutSenderLines } from './user-blocks.ts'

/** The text that stands where a user has to begin, and none did. */
export const beginningText = '(conversation begins with the assistant)'
/** The line with which a summary begins. */
export const handoffMark = '[Previous conversation handoff]'

const beginning: PromptMessage = { role: 'user', content: [{ type: 'text', text: beginningText }] }
const cancelledOutput: ToolOutput = { type: 'error-text', value: cancelledText }

/** The part that may still grow. */
type Tail =
  | { readonly role: 'user'; readonly first: string; readonly blocks: UserBlock[]; part: PromptMessage | null }
  | {
      readonly role: 'assistant'
      readonly first: string
      model: string
      blocks: AssistantBlock[]
      part: PromptMessage | null
    }

/** From a part on, a prompt begins with a summary of what came before. */
interface Compaction {
  /** The number of parts that the summary stands for. */
  readonly at: number
  readonly summary: PromptMessage & { readonly role: 'user' }
}

/** Where a prompt may be cut: before which message, and what stands before it. */
export interface Boundary {
  /** The id of the first message that stays. */
  readonly firstKept: string
  /** What a summary would stand for: parts, with an earlier summary. */
  readonly before: readonly PromptMessage[]
}

/** A call of the newest assistant message, and its output. */
interface Slot {
  readonly call: ToolCallBlock
  output: ToolOutput | null
}

/** Where an input stands among the blocks of a user message, who sent it, and what goes with it and nobody said. */
export interface InputBlocks {
  readonly from: number
  readonly to: number
  readonly sender: string | undefined
  readonly context: string | undefined
}

export class PromptFold {
  /** Parts that never change again. */
  #parts: PromptMessage[] = []
  /** For each part the id of its first message. Empty where a prompt cannot be cut: before results, and before a part of our own. */
  #firsts: string[] = []
  #compactions: readonly Compaction[] = []
  /** Long results of the parts before the last of these numbers are cleared. */
  #cleared: readonly number[] = []
  /** The first part that stays, with the summary before its own content. */
  #merged: { readonly of: PromptMessage; readonly part: PromptMessage } | null = null
  #tail: Tail | null = null
  /** The calls of the newest assistant message. Empty after any other message. */
  #slots: Slot[] = []
  /** The slots without an output, by the id of the call. */
  #open = new Map<string, Slot[]>()
  #results: PromptMessage | null = null
  #namesBlobs = false

  /** Some media of the prompt are blobs, or were: their bytes are read before it is sent. */
  get namesBlobs(): boolean {
    return this.#namesBlobs
  }

  clone(): PromptFold {
    const copy = new PromptFold()
    copy.#parts = [...this.#parts]
    copy.#firsts = [...this.#firsts]
    copy.#compactions = this.#compactions
    copy.#cleared = this.#cleared
    copy.#tail = this.#tail && { ...this.#tail, blocks: [...this.#tail.blocks] as never[] }
    copy.#setSlots(this.#slots.map((slot) => ({ ...slot })))
    copy.#results = this.#results
    copy.#namesBlobs = this.#namesBlobs
    return copy
  }

  add(message: ChatMessage): void {
    switch (message.type) {
      case 'user':
        this.#addUser(message.id, userBlocks(message))
        break
      case 'summary':
        this.#addUser(message.id, [summaryBlock(message)])
        break
      case 'assistant':
        this.#addAssistant(message)
        break
      case 'toolResult':
        this.#addResult(message)
        break
      case 'system':
      case 'error':
        break
    }
  }

  /** Calls that may still be answered, in call order. */
  openCalls(): ToolCallBlock[] {
    return this.#slots.filter(({ output }) => output === null).map(({ call }) => call)
  }

  get openCount(): number {
    let count = 0
    for (const { output } of this.#slots) if (output === null) count++
    return count
  }

  /** Answers the open calls. Results that come later are left out. */
  closeCalls(output: ToolOutput): void {
    if (this.#open.size === 0) return
    for (const slot of this.#slots) slot.output ??= output
    this.#open.clear()
    this.#results = null
  }

  /** Takes back the outputs of these calls. */
  reopenCalls(toolCallIds: ReadonlySet<string>): void {
    for (const slot of this.#slots) if (toolCallIds.has(slot.call.toolCallId)) slot.output = null
    this.#setSlots(this.#slots)
    this.#results = null
  }

  /** The number of blocks in the user message that is still open. `leaveOutInput` takes such a number. */
  get openBlocks(): number {
    return this.#tail?.role === 'user' ? this.#tail.blocks.length : 0
  }

  /** Puts a note in place of all blocks of the open user message after the first `kept`. */
  leaveOutInput(kept: number, text: string): void {
    if (this.#tail?.role !== 'user') return
    this.#tail.blocks.length = Math.min(kept, this.#tail.blocks.length)
    this.#tail.blocks.push({ type: 'text', text })
    this.#tail.part = null
  }

  /** Puts these blocks in place of an input. */
  replaceInput(input: InputBlocks, content: readonly UserBlock[]): InputBlocks {
    if (this.#tail?.role !== 'user') return input
    const { from, to, sender, context } = input
    const blocks = userBlocks({ from: sender, content, context })
    this.#namesBlobs ||= blocks.some(isBlob)
    this.#tail.blocks.splice(from, to - from, ...blocks)
    this.#tail.part = null
    return { ...input, to: from + blocks.length }
  }

  /** Puts a note in place of the newest results. The calls still have results. */
  leaveOutResults(value: string): void {
    const output: ToolOutput = { type: 'error-text', value }
    for (const slot of this.#slots) slot.output = output
    this.#results = null
    const last = this.#parts.at(-1)
    if (this.#slots.length > 0 || last?.role !== 'tool') return
    this.#parts[this.#parts.length - 1] = {
      role: 'tool',
      results: last.results.map((result) => ({ ...result, output })),
    }
  }

  /** A new list, so that a prompt does not change while it is sent. Only references are copied. */
  messages(): PromptMessage[] {
    const compaction = this.#compactions.at(-1)
    const parts = this.#parts.slice(compaction?.at)
    const cleared = (this.#cleared.at(-1) ?? 0) - (compaction?.at ?? 0)
    for (let at = 0; at < cleared; at++) parts[at] = clearedPart(parts[at] as PromptMessage)
    if (this.#tail !== null) parts.push(partOf(this.#tail))
    if (this.#slots.length > 0) parts.push(this.#resultsPart())
    if (compaction === undefined) return parts
    const [first] = parts
    if (first?.role !== 'user') return [compaction.summary, ...parts]
    if (this.#merged?.of !== first)
      this.#merged = { of: first, part: { role: 'user', content: [...compaction.summary.content, ...first.content] } }
    parts[0] = this.#merged.part
    return parts
  }

  /** The last place where the prompt may be cut so that at least `keep` parts stay. Null if fewer than `least` parts stand before it. */
  boundary(keep: number, least: number): Boundary | null {
    const from = this.#compactions.at(-1)?.at ?? 0
    const prompt = this.messages()
    // An earlier summary is a part of its own if the part after it does not belong to a user.
    const shown =
      prompt.length - this.#parts.slice(from).length - (this.#tail ? 1 : 0) - (this.#slots.length > 0 ? 1 : 0)
    for (let at = Math.min(from + prompt.length - shown - keep, this.#parts.length); at - from >= least; at--) {
      const firstKept = at === this.#parts.length ? this.#tail?.first : this.#firsts[at]
      if (firstKept && this.#placeOf(firstKept) === at) return { firstKept, before: prompt.slice(0, at - from + shown) }
    }
    return null
  }

  /** The texts stand for everything before the message with this id. Returns false, and changes nothing, if the prompt cannot be cut there. */
  compact(firstKept: string, texts: readonly string[]): boolean {
    const from = this.#compactions.at(-1)?.at ?? 0
    const at = this.#placeOf(firstKept)
    if (firstKept === '' || at <= from) return false
    const content = texts.map((text): TextBlock => ({ type: 'text', text }))
    this.#compactions = [...this.#compactions, { at, summary: { role: 'user', content } }]
    this.#merged = null
    return true
  }

  /** The last summary no longer stands for anything. Returns false if there is none. */
  expand(): boolean {
    if (this.#compactions.length === 0) return false
    this.#compactions = this.#compactions.slice(0, -1)
    return true
  }

  /** Notes stand for long results before the message with this id. Returns false, and changes nothing, if there is no such place. */
  clearResults(firstKept: string): boolean {
    const at = firstKept === '' ? -1 : this.#placeOf(firstKept)
    if (at <= (this.#cleared.at(-1) ?? 0)) return false
    this.#cleared = [...this.#cleared, at]
    return true
  }

  /** What was cleared last is put back. */
  restoreResults(): void {
    this.#cleared = this.#cleared.slice(0, -1)
  }

  /** Messages from elsewhere may share an id: the last one counts. */
  #placeOf(first: string): number {
    return this.#tail?.first === first ? this.#parts.length : this.#firsts.lastIndexOf(first)
  }

  #addUser(first: string, blocks: readonly UserBlock[]): void {
    this.#namesBlobs ||= blocks.some(isBlob)
    if (this.#tail?.role === 'user') {
      append(this.#tail.blocks, blocks)
      this.#tail.part = null
      return
    }
    this.#sealTail()
    this.#tail = { role: 'user', first, blocks: [...blocks], part: null }
  }

  #addAssistant(message: AssistantMessage): void {
    if (this.#slots.length > 0) this.#sealTail()
    const blocks = assistantBlocks(message)
    // Providers refuse a message without content.
    if (blocks.length === 0) return
    const tail = this.#tail
    const model = askedModel(message)
    if (tail?.role === 'assistant') {
      if (tail.model !== model) tail.blocks = withoutSignatures(tail.blocks)
      tail.model = model
      append(tail.blocks, blocks)
      tail.part = null
    } else {
      this.#sealTail()
      if (this.#parts.length === 0) this.#seal(beginning, '')
      this.#tail = { role: 'assistant', first: message.id, model, blocks, part: null }
    }
    this.#setSlots(toolCallsOf(message).map((call) => ({ call, output: null })))
  }

  #addResult({ toolCallId, output }: ToolResultMessage): void {
    const slots = this.#open.get(toolCallId)
    const slot = slots?.shift()
    if (slot === undefined) return
    if (slots?.length === 0) this.#open.delete(toolCallId)
    slot.output = output
    this.#results = null
  }

  #sealTail(): void {
    if (this.#tail !== null) this.#seal(partOf(this.#tail), this.#tail.first)
    if (this.#slots.length > 0) this.#seal(this.#resultsPart(), '')
    this.#tail = null
    this.#setSlots([])
    this.#results = null
  }

  #seal(part: PromptMessage, first: string): void {
    this.#parts.push(part)
    this.#firsts.push(first)
  }

  #setSlots(slots: Slot[]): void {
    this.#slots = slots
    this.#open.clear()
    for (const slot of slots) {
      if (slot.output !== null) continue
      const same = this.#open.get(slot.call.toolCallId)
      if (same === undefined) this.#open.set(slot.call.toolCallId, [slot])
      else same.push(slot)
    }
  }

  #resultsPart(): PromptMessage {
    this.#results ??= {
      role: 'tool',
      results: this.#slots.map(
        ({ call: { toolCallId, toolName }, output }): PromptResult => ({
          toolCallId,
          toolName,
          output: output ?? cancelledOutput,
        }),
      ),
    }
    return this.#results
  }
}

function partOf(tail: Tail): PromptMessage {
  tail.part ??=
    tail.role === 'user'
      ? { role: 'user', content: [...tail.blocks] }
      : { role: 'assistant', model: tail.model, content: [...tail.blocks] }
  return tail.part
}

/** Appends one by one: spreading many blocks into `push` could overflow the stack. */
function append<Block>(to: Block[], blocks: readonly Block[]): void {
  for (const block of blocks) to.push(block)
}

function summaryBlock({ text }: SummaryMessage): TextBlock {
  return { type: 'text', text: handoffText(text) }
}

/** A summary as a model reads it: a text that only this file may begin. */
export function handoffText(text: string): string {
  return `${handoffMark}\n${withoutSenderLines(text)}`
}
