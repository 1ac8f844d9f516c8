/**
 * Duty: a conversation that a program keeps by itself: messages in order, and the action that comes next. It is the context of the demo
 * design, over the conversation that the runtime uses. It is stored nowhere.
 */
import type { ChatMessage } from './chat/chat-message.ts'
import { chat } from './chat/message-factories.ts'
import { ConversationHistory } from './history.ts'

/** Ask the model again, stop, or call the tool of this name. */
export type Action = 'continue' | 'stop' | { readonly callTool: string }

export function isSameAction(one: Action, other: Action): boolean {
  return typeof one === 'object' && typeof other === 'object' ? one.callTool === other.callTool : one === other
}

/** The methods that read and extend a conversation, whoever keeps it. */
export interface Context {
  readonly messages: readonly ChatMessage[]
  push(message: ChatMessage): void
  extend(messages: Iterable<ChatMessage>): void
  readonly action: Action
  setAction(action: Action): void
  readonly last: ChatMessage | undefined
  readonly lastContent: string | undefined
  toVec(): ChatMessage[]
}

export class ChatContext implements Context {
  readonly #history: ConversationHistory
  #action: Action = 'continue'

  /** Its action is `continue`. Throws an InputError that names the value which is no message. */
  constructor(messages: Iterable<ChatMessage> = []) {
    this.#history = ConversationHistory.from(messages)
  }

  static create(messages?: Iterable<ChatMessage>): ChatContext {
    return new ChatContext(messages)
  }

  /** One system message, and `continue`. */
  static withSystem(text: string): ChatContext {
    return new ChatContext([chat.system(text)])
  }

  /** Not a copy: the list grows with the conversation. */
  get messages(): readonly ChatMessage[] {
    return this.#history.messages
  }

  /** Throws an InputError, and adds nothing, if it is no message. */
  push(message: ChatMessage): void {
    this.#history.push(message)
  }

  extend(messages: Iterable<ChatMessage>): void {
    this.#history.extend(messages)
  }

  get action(): Action {
    return this.#action
  }

  setAction(action: Action): void {
    this.#action = action
  }

  get last(): ChatMessage | undefined {
    return this.#history.last
  }

  /** The text of the last message. */
  get lastContent(): string | undefined {
    return this.#history.lastContent
  }

  /** One JSON value for each message. The action is no part of it. */
  toVec(): ChatMessage[] {
    return this.#history.toVec()
  }
}
