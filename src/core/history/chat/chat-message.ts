/**
 * Duty: define the messages of a conversation: one tagged union of six types. They are plain JSON with the part names of the AI SDK, so that
 * adapters can copy them.
 * CHAT-1 A message is never changed after it was recorded.
 * CHAT-2 Ids of tool calls are unique within a history. An id that a provider repeats or leaves out is replaced before it is recorded. One
 *        that is too long is kept beside an id of our own.
 * CHAT-3 Fields and blocks that a newer version of troupe added are kept and passed over.
 */
import type { z } from 'zod'
import type { BlobRef } from '../../blob.ts'
import type { ApprovalStatus } from '../../worker/ask/approval-status.ts'
import type { Steering } from '../../worker/message/steer.ts'
import type { Failure } from '../../worker/run/failure.ts'

export const finishReasons = ['stop', 'length', 'tool-calls', 'content-filter', 'error', 'other'] as const

/**
 * `ok`. `error`: the tool failed and says why. `cancelled`: the call did not run or was stopped. `unknown`: nobody knows whether the tool
 * took effect.
 */
export const toolStatuses = ['ok', 'error', 'cancelled', 'unknown'] as const

export type Json = z.infer<ReturnType<typeof z.json>>
export type ProviderOptions = Readonly<Record<string, Readonly<Record<string, Json>>>>

export interface TextBlock {
  readonly type: 'text'
  readonly text: string
  readonly providerOptions?: ProviderOptions | undefined
}
export interface MediaBlock {
  readonly type: 'image' | 'audio'
  readonly mediaType: string
  /** The bytes in base64. Either `data` or `url` is set. */
  readonly data?: string | undefined
  /** An address of the web; or `blob:<id>`, a blob of the session (core/blob.ts). */
  readonly url?: string | undefined
  readonly filename?: string | undefined
  /** For a blob: how many bytes it has. */
  readonly bytes?: number | undefined
}
export interface FileBlock {
  readonly type: 'file'
  readonly mediaType: string
  readonly url: string
  readonly filename?: string | undefined
  readonly bytes?: number | undefined
}
export interface ReasoningBlock {
  readonly type: 'reasoning'
  readonly text: string
  readonly providerOptions?: ProviderOptions | undefined
}
export interface ToolCallBlock {
  readonly type: 'tool-call'
  readonly toolCallId: string
  readonly givenId?: string | undefined
  readonly toolName: string
  readonly input: Json
  readonly inputText?: string | undefined
  readonly providerOptions?: ProviderOptions | undefined
}
export type UserBlock = TextBlock | MediaBlock | FileBlock
export type AssistantBlock = TextBlock | ReasoningBlock | ToolCallBlock

/** Tokens as the provider counted them. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens?: number | undefined
  readonly cacheWriteTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
  /** What the call cost by the prices of that moment, in millionths of a dollar. Absent: nobody knows the price of the model. */
  readonly costMicroUsd?: number | undefined
}
export type FinishReason = (typeof finishReasons)[number]
export type ToolStatus = (typeof toolStatuses)[number]
export type ToolOutput =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'json'; readonly value: Json }
  | { readonly type: 'error-text'; readonly value: string }
  /** Text and media, as a tool returned them. */
  | { readonly type: 'content'; readonly value: readonly UserBlock[] }

/** The result of a child, with the facts that its tools set. */
export interface ChildFacts {
  readonly workerId: string
  readonly name: string
  readonly kind: string
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly facts: Readonly<Record<string, Json>>
  /** Names of the facts that it got from its parent. */
  readonly given: readonly string[]
  /** Why it failed, in words. Absent if it did not fail. */
  readonly failure?: string | undefined
}

export interface MessageHead {
  readonly id: string
  readonly at: number
}
export interface SystemMessage extends MessageHead {
  readonly type: 'system'
  readonly text: string
}
export interface UserMessage extends MessageHead {
  readonly type: 'user'
  readonly from?: string | undefined
  readonly name?: string | undefined
  readonly nudge?: boolean | undefined
  readonly when?: Steering | undefined
  readonly about?: string | undefined
  readonly ended?: readonly string[] | undefined
  readonly content: readonly UserBlock[]
  /** What was sent with it in addition to what was said: when it came, and facts. */
  readonly context?: string | undefined
  readonly facts?: Readonly<Record<string, Json>> | undefined
}
export interface AssistantMessage extends MessageHead {
  readonly type: 'assistant'
  readonly model: string
  readonly asked?: string | undefined
  readonly interrupted?: boolean | undefined
  readonly content: readonly AssistantBlock[]
  readonly finishReason: FinishReason
  readonly usage: Usage
}
export interface ToolResultMessage extends MessageHead {
  readonly type: 'toolResult'
  readonly toolCallId: string
  readonly toolName: string
  readonly status: ToolStatus
  readonly output: ToolOutput
  readonly facts?: Readonly<Record<string, Json>> | undefined
  /** Ids of the workers to which the call sent a message. */
  readonly sent?: readonly string[] | undefined
  /** How the approval of the call stood when it was refused: it did not run. */
  readonly approval?: ApprovalStatus | undefined
  /** The blob that holds all of a long output, of which `output` has the beginning. */
  readonly blob?: BlobRef | undefined
  readonly failure?: Failure | undefined
  /** The arguments of the call could not be read. */
  readonly isBroken?: boolean | undefined
  /** Where its code threw the error of this call. No model reads it. */
  readonly thrownAt?: string | undefined
}
export interface ErrorMessage extends MessageHead {
  readonly type: 'error'
  readonly message: string
}
export interface SummaryMessage extends MessageHead {
  readonly type: 'summary'
  readonly text: string
  readonly messagesCompacted: number
}
export type ChatMessage =
  | SystemMessage
  | UserMessage
  | AssistantMessage
  | ToolResultMessage
  | ErrorMessage
  | SummaryMessage

/** True for an instruction to the model. */
export const isSystem = (message: ChatMessage): message is SystemMessage => message.type === 'system'
/** True for what a call came to. */
export const isToolResult = (message: ChatMessage): message is ToolResultMessage => message.type === 'toolResult'
/** True for a summary that stands for earlier messages. */
export const isSummary = (message: ChatMessage): message is SummaryMessage => message.type === 'summary'

/** When it was said, as ISO 8601. Null if nobody knows, as of a message that was made without a time. */
export function timestampOf({ at }: Pick<MessageHead, 'at'>): string | null {
  return at > 0 && at <= 8.64e15 ? new Date(at).toISOString() : null
}

/** The model that was asked for this reply. Data that this model signed goes back only to it. */
export function askedModel({ model, asked = model }: Pick<AssistantMessage, 'model' | 'asked'>): string {
  return asked
}

export function toolCallsOf(message: AssistantMessage): ToolCallBlock[] {
  return message.content.filter((block) => block.type === 'tool-call')
}

/** True for a text without calls that ended at its length limit: the model had more to say. */
export function isCutText({ content, finishReason }: Pick<AssistantMessage, 'content' | 'finishReason'>): boolean {
  const hasCalls = content.some(({ type }) => type === 'tool-call')
  return finishReason === 'length' && !hasCalls && textOf(content).trim() !== ''
}

/** The text of a message as a person reads it: its text blocks, joined. */
export function textOf(content: readonly (UserBlock | AssistantBlock)[]): string {
  return content
    .filter((block) => block.type === 'text')
    .map((block) => block.text)
    .join('\n')
}

/** The first text that is not blank, without the blanks around it. Undefined if there is none. */
export function firstTextOf(content: readonly (UserBlock | AssistantBlock)[]): string | undefined {
  for (const block of content) if (block.type === 'text' && block.text.trim() !== '') return block.text.trim()
  return undefined
}

/** The address under which a page shows a medium: its own, or its bytes as `data:`. Undefined if it has neither. */
export function dataUriOf({ mediaType, data, url }: MediaBlock): string | undefined {
  return data === undefined ? url : `data:${mediaType};base64,${data}`
}
