/**
 * Duty: hold a conversation: its messages in order, the prompt that a model gets, and the open calls. In memory only; the record is the worker's
 * history in Redis.
 * HISTORY-1 Messages are only appended, and never changed. A clone shares the messages and nothing else.
 * HISTORY-2 Adding a message costs the same however long the history is.
 */

import type { PromptMessage, ToolSpec } from '../definition/model.ts'
import { InputError } from '../errors.ts'
import {
  type AssistantMessage,
  type ChatMessage,
  type ToolCallBlock,
  type ToolResultMessage,
  type ToolStatus,
  toolCallsOf,
  type UserBlock,
} from './chat/chat-message.ts'
import { chat } from './chat/message-factories.ts'
import { type ConversationEntry, contentOf, entriesOf } from './conversation-entry.ts'
import { messageProblem } from './foreign-format.ts'
import { estimatedTokens } from './prompt/estimate.ts'
import { type Boundary, type InputBlocks, PromptFold } from './prompt/prompt-fold.ts'

export class ConversationHistory {
  #messages: ChatMessage[] = []
  #callIds = new Set<string>()
  #fold = new PromptFold()
  #lastAssistant: AssistantMessage | undefined
  #systemTexts: string[] = []
  #hasLongResults = false

  /** Throws an InputError that names the message, what is wrong with it, and the format that it probably has. */
  static from(messages: Iterable<ChatMessage>): ConversationHistory {
    const history = new ConversationHistory()
    history.extend(messages)
    return history
  }

  /** A result of a tool was too long, and is kept aside. */
  get hasLongResults(): boolean {
    return this.#hasLongResults
  }

  /** Some media of the prompt are blobs, or were: their bytes are read before it is sent. */
  get namesBlobs(): boolean {
    return this.#fold.namesBlobs
  }

  /** A branch: messages that are added to one do not appear in the other. */
  clone(): ConversationHistory {
    const copy = new ConversationHistory()
    copy.#messages = [...this.#messages]
    copy.#callIds = new Set(this.#callIds)
    copy.#fold = this.#fold.clone()
    copy.#lastAssistant = this.#lastAssistant
    copy.#systemTexts = [...this.#systemTexts]
    copy.#hasLongResults = this.#hasLongResults
    return copy
  }

  /** Throws an InputError, and adds nothing, if it is no message. A message without an id gets its position as its id. */
  push(message: ChatMessage): void {
    const problem = messageProblem(message, this.length)
    if (problem !== null) throw new InputError(problem)
    this.accept(message.id === '' ? { ...message, id: String(this.length) } : message)
  }

  /** A message that `push` has checked. A context container takes note of it too. */
  protected accept(message: ChatMessage): void {
    this.add(message)
  }

  /** Adds a user message. It is called an input, because another worker may have said it. */
  pushInputMessage(content: string | readonly UserBlock[], head?: Parameters<typeof chat.user>[1]): void {
    this.push(chat.user(content, head))
  }

  /** Adds a reply: a whole message, or what it says. */
  pushAssistantMessage(reply: string | AssistantMessage, head?: Parameters<typeof chat.assistant>[1]): void {
    this.push(typeof reply === 'string' ? chat.assistant(reply, head) : reply)
  }

  /** Adds a message that was checked before. */
  add(message: ChatMessage): void {
    this.#messages.push(message)
    if (message.type === 'assistant') {
      this.#lastAssistant = message
      for (const { toolCallId, givenId } of toolCallsOf(message)) {
        this.#callIds.add(toolCallId)
        if (givenId !== undefined) this.#callIds.add(givenId)
      }
    }
    if (message.type === 'system') this.#systemTexts.push(message.text)
    if (message.type === 'toolResult' && message.blob !== undefined) this.#hasLongResults = true
    this.#fold.add(message)
  }

  /** Texts of the system messages. A prompt does not hold them, because models get them as their system prompt. */
  get systemTexts(): readonly string[] {
    return this.#systemTexts
  }

  extend(messages: Iterable<ChatMessage>): void {
    for (const message of messages) this.push(message)
  }

  /**
   * Adds an assistant message together with the results of all its calls, in the order of the calls. Throws an InputError, and adds nothing,
   * if calls and results do not match one to one.
   */
  pushAssistantTurn(message: AssistantMessage, results: readonly ToolResultMessage[]): void {
    const byId = new Map(results.map((result) => [result.toolCallId, result]))
    const ordered = toolCallsOf(message).map(({ toolCallId, toolName }) => {
      const result = byId.get(toolCallId)
      if (result === undefined || !byId.delete(toolCallId))
        throw new InputError(
          `message ${message.id}: call ${toolCallId} of tool "${toolName}" has no result: pass the results of all its calls.`,
        )
      return result
    })
    if (ordered.length !== results.length) {
      const extra = results.find((result) => !ordered.includes(result))
      throw new InputError(
        `message ${message.id}: result ${extra?.id} is for call ${extra?.toolCallId}, which this message does not make or which has a result already.`,
      )
    }
    this.push(message)
    this.extend(ordered)
  }

  get length(): number {
    return this.#messages.length
  }

  get isEmpty(): boolean {
    return this.#messages.length === 0
  }

  get(index: number): ChatMessage | undefined {
    return this.#messages[index]
  }

  get last(): ChatMessage | undefined {
    return this.#messages.at(-1)
  }

  /** The newest assistant message, even if other messages followed. */
  get lastAssistant(): AssistantMessage | undefined {
    return this.#lastAssistant
  }

  /** The text of the last message. */
  get lastContent(): string | undefined {
    return this.last && contentOf(this.last)
  }

  /** Not a copy: the list grows with the history. */
  get messages(): readonly ChatMessage[] {
    return this.#messages
  }

  /** The messages as entries with a user side and an assistant side. One of the two is set. */
  getEntries(): ConversationEntry[] {
    return entriesOf(this.#messages)
  }

  /** Calls of the newest assistant message that have no result, in call order. Any later message except a result closes them. */
  openCalls(): readonly ToolCallBlock[] {
    return this.#fold.openCalls()
  }

  get openCount(): number {
    return this.#fold.openCount
  }

  /** True if any call of this history has this id, or got it from its provider. */
  hasCall(toolCallId: string): boolean {
    return this.#callIds.has(toolCallId)
  }

  /** Closes the open calls: prompts show this text as their result. It is not a message and is not recorded. */
  closeCalls(status: ToolStatus, text: string): void {
    this.#fold.closeCalls({ type: status === 'ok' ? 'text' : 'error-text', value: text })
  }

  /** The results of these calls of the newest assistant message no longer count: later results answer them. */
  reopenCalls(toolCallIds: ReadonlySet<string>): void {
    this.#fold.reopenCalls(toolCallIds)
  }

  /** The number of blocks in the user message that is still open, for `leaveOutInput`. */
  get openBlocks(): number {
    return this.#fold.openBlocks
  }

  /** Prompts show this text in place of the user blocks that came after the first `kept`. The messages themselves stay. */
  leaveOutInput(kept: number, text: string): void {
    this.#fold.leaveOutInput(kept, text)
  }

  /** Prompts show these blocks in place of an input of the user message that is open. The message itself stays. Returns where they stand. */
  replaceInput(input: InputBlocks, content: readonly UserBlock[]): InputBlocks {
    return this.#fold.replaceInput(input, content)
  }

  /** Prompts show this text in place of the newest results. The messages themselves stay. */
  leaveOutResults(text: string): void {
    this.#fold.leaveOutResults(text)
  }

  /**
   * A new conversation for a model with a smaller window: all system messages, one summary of the others, and the last of them if one likes. The
   * kept ones begin at a message of a user, so there may be fewer. Without other messages there is no summary.
   */
  withCompactedSummary(text: string, { keepLast = 0 }: { readonly keepLast?: number } = {}): ConversationHistory {
    const isSystem = ({ type }: ChatMessage) => type === 'system'
    const others = this.#messages.filter((message) => !isSystem(message))
    let from = Math.max(0, others.length - keepLast)
    while (from < others.length && others[from]?.type !== 'user') from++
    const summary = {
      type: 'summary',
      id: 'summary',
      at: others[from - 1]?.at ?? 0,
      text,
      messagesCompacted: from,
    } as const
    return ConversationHistory.from([
      ...this.#messages.filter(isSystem),
      ...(from > 0 ? [summary] : []),
      ...others.slice(from),
    ])
  }

  /** Where the prompt may be cut so that its last `keep` parts stay. Null if fewer than `least` parts stand before that place. */
  boundary(keep: number, least: number): Boundary | null {
    return this.#fold.boundary(keep, least)
  }

  /** In prompts these texts stand for all that came before the message with this id. The messages themselves stay. Returns false if it cannot be. */
  compact(firstKept: string, texts: readonly string[]): boolean {
    return this.#fold.compact(firstKept, texts)
  }

  /** Takes back the last `compact`: prompts are again as they would be without it. Returns false if there is none. */
  expand(): boolean {
    return this.#fold.expand()
  }

  /** In prompts notes stand for long results before the message with this id. The messages themselves stay. Returns false if it cannot be. */
  clearResults(firstKept: string): boolean {
    return this.#fold.clearResults(firstKept)
  }

  /** Takes back the last `clearResults`. */
  restoreResults(): void {
    this.#fold.restoreResults()
  }

  /** The prompt for a model. Parts to which nothing was added are the same objects as in the previous prompt. */
  prompt(): readonly PromptMessage[] {
    return this.#fold.messages()
  }

  /** About how many tokens it has, with the tools and the prompt that are sent with it. */
  estimatedTokens(tools: readonly ToolSpec[] = [], agentPrompt = ''): number {
    return estimatedTokens(this.#messages, tools, agentPrompt)
  }

  /** A new conversation with only the system messages of this one. */
  clearConversation(): ConversationHistory {
    return ConversationHistory.from(this.#messages.filter(({ type }) => type === 'system'))
  }

  /** A copy of the messages, which does not grow with the history. */
  toVec(): ChatMessage[] {
    return [...this.#messages]
  }

  /** `ConversationHistory.from(JSON.parse(JSON.stringify(history)))` is the same conversation. */
  toJSON(): readonly ChatMessage[] {
    return this.#messages
  }
}

/** A conversation that reports each pushed message to its owner, who adds it. */
export class NotedHistory extends ConversationHistory {
  readonly #note: (message: ChatMessage) => void

  constructor(note: (message: ChatMessage) => void) {
    super()
    this.#note = note
  }

  protected override accept(message: ChatMessage): void {
    this.#note(message)
  }
}
