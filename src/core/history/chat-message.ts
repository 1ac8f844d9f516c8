/**
 * Duty: what is said in a conversation: one tagged union of six kinds. Plain JSON, with the part
 * names of the AI SDK, so that an adapter only copies.
 * M-a A message is never changed after it was recorded. M-b Ids of tool calls are unique within a history: what a provider repeats
 *     or leaves out gets a new one before it is recorded. M-c What a newer troupe added is kept and passed over.
 */
import { z } from 'zod'
import type { Failure } from '../worker/failure.ts'

/** Whatever a provider wants back as it gave it (signatures, item ids): opaque, recorded, never read. */
const providerOptionsSchema = z.record(z.string(), z.record(z.string(), z.json())).optional()

const textBlockSchema = z.looseObject({
  type: z.literal('text'),
  text: z.string(),
  providerOptions: providerOptionsSchema,
})

/** `data` is base64, or `url` names it; one of the two. */
const mediaFields = { mediaType: z.string(), data: z.string().optional(), url: z.string().optional() }
const imageBlockSchema = z.looseObject({ type: z.literal('image'), ...mediaFields })
const audioBlockSchema = z.looseObject({ type: z.literal('audio'), ...mediaFields })
/** A file by reference: its bytes are not part of the history. */
const fileBlockSchema = z.looseObject({
  type: z.literal('file'),
  mediaType: z.string(),
  url: z.string(),
  filename: z.string().optional(),
})

const reasoningBlockSchema = z.looseObject({
  type: z.literal('reasoning'),
  text: z.string(),
  providerOptions: providerOptionsSchema,
})

const toolCallBlockSchema = z.looseObject({
  type: z.literal('tool-call'),
  toolCallId: z.string(),
  toolName: z.string(),
  /** The arguments as JSON; null when they could not be parsed. */
  input: z.json(),
  /** The arguments as the model wrote them, when they are not JSON. */
  inputText: z.string().optional(),
  providerOptions: providerOptionsSchema,
})

export const userBlockSchema = z.discriminatedUnion('type', [
  textBlockSchema,
  imageBlockSchema,
  audioBlockSchema,
  fileBlockSchema,
])
const assistantBlockSchema = z.discriminatedUnion('type', [textBlockSchema, reasoningBlockSchema, toolCallBlockSchema])

const usageSchema = z.looseObject({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cacheReadTokens: z.number().optional(),
  cacheWriteTokens: z.number().optional(),
  reasoningTokens: z.number().optional(),
})

export const finishReasons = ['stop', 'length', 'tool-calls', 'content-filter', 'error', 'other'] as const

const toolOutputSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), value: z.string() }),
  z.looseObject({ type: z.literal('json'), value: z.json() }),
  z.looseObject({ type: z.literal('error-text'), value: z.string() }),
])

/** ok; error: it failed and says why; cancelled: it did not run or was stopped; unknown: nobody knows whether it took effect. */
export const toolStatuses = ['ok', 'error', 'cancelled', 'unknown'] as const

/** Each message has an id that is unique in its history, and the time it was recorded (ms since the epoch). */
const head = { id: z.string(), at: z.number() }

const systemMessageSchema = z.looseObject({ type: z.literal('system'), ...head, text: z.string() })
const userMessageSchema = z.looseObject({
  type: z.literal('user'),
  ...head,
  /** The worker that sent it, set by the runtime; absent when it came from outside. */
  from: z.string().optional(),
  content: z.array(userBlockSchema),
  /** Values that the sender's tools established and that came along, by name: for tools, never shown to the model. */
  facts: z.record(z.string(), z.json()).optional(),
})
const assistantMessageSchema = z.looseObject({
  type: z.literal('assistant'),
  ...head,
  /** `provider/model`, as the provider names it. */
  model: z.string(),
  /** In the order the model gave them. */
  content: z.array(assistantBlockSchema),
  finishReason: z.enum(finishReasons),
  usage: usageSchema,
})
const toolResultMessageSchema = z.looseObject({
  type: z.literal('toolResult'),
  ...head,
  toolCallId: z.string(),
  toolName: z.string(),
  status: z.enum(toolStatuses),
  output: toolOutputSchema,
  /** Values that the tool established, by name: for other tools and for who asked, never shown to the model. */
  facts: z.record(z.string(), z.json()).optional(),
  /** The run is to fail with this, whoever goes on with it. */
  failure: z.looseObject({ code: z.string(), message: z.string() }).optional(),
})
const errorMessageSchema = z.looseObject({ type: z.literal('error'), ...head, message: z.string() })
const summaryMessageSchema = z.looseObject({
  type: z.literal('summary'),
  ...head,
  text: z.string(),
  messagesCompacted: z.number(),
})

export const chatMessageSchema = z.discriminatedUnion('type', [
  systemMessageSchema,
  userMessageSchema,
  assistantMessageSchema,
  toolResultMessageSchema,
  errorMessageSchema,
  summaryMessageSchema,
])

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
  /** Base64; or `url`. */
  readonly data?: string | undefined
  readonly url?: string | undefined
}
export interface FileBlock {
  readonly type: 'file'
  readonly mediaType: string
  readonly url: string
  readonly filename?: string | undefined
}
export interface ReasoningBlock {
  readonly type: 'reasoning'
  readonly text: string
  readonly providerOptions?: ProviderOptions | undefined
}
export interface ToolCallBlock {
  readonly type: 'tool-call'
  readonly toolCallId: string
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
}
export type FinishReason = (typeof finishReasons)[number]
export type ToolStatus = (typeof toolStatuses)[number]
export type ToolOutput =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'json'; readonly value: Json }
  | { readonly type: 'error-text'; readonly value: string }

/** What a child established, as its tools recorded it. */
export interface ChildFacts {
  readonly workerId: string
  readonly name: string
  readonly kind: string
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly facts: Readonly<Record<string, Json>>
  /** Names of the facts it was given. */
  readonly given: readonly string[]
  /** Why it failed, in words; absent unless it did. */
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
  readonly content: readonly UserBlock[]
  readonly facts?: Readonly<Record<string, Json>> | undefined
}
export interface AssistantMessage extends MessageHead {
  readonly type: 'assistant'
  readonly model: string
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
  readonly failure?: Failure | undefined
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

export function toolCallsOf(message: AssistantMessage): ToolCallBlock[] {
  return message.content.filter((block) => block.type === 'tool-call')
}

/** The text of a message as a person reads it: text blocks joined, nothing else. */
export function textOf(content: readonly (UserBlock | AssistantBlock)[]): string {
  return content
    .filter((block) => block.type === 'text')
    .map((block) => block.text)
    .join('\n')
}
