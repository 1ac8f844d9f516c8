/**
 * Duty: define the messages of a conversation: one tagged union of six types. They are plain JSON with the part names of the AI SDK, so that
 * adapters can copy them.
 * CHAT-1 A message is never changed after it was recorded.
 * CHAT-2 Ids of tool calls are unique within a history. An id that a provider repeats or leaves out is replaced before it is recorded. One
 *        that is too long is kept beside an id of our own.
 * CHAT-3 Fields and blocks that a newer version of troupe added are kept and passed over.
 */
import { z } from 'zod'
import type { BlobRef } from '../../blob.ts'
import { type ApprovalStatus, approvalStatuses } from '../../worker/ask/approval-status.ts'
import type { Failure } from '../../worker/failure.ts'
import { type Steering, steerings } from '../../worker/steer.ts'

/** Data that a provider wants back unchanged, such as signatures and item ids. It is recorded and never read. */
const providerOptionsSchema = z.record(z.string(), z.record(z.string(), z.json())).optional()

const textBlockSchema = z.looseObject({
  type: z.literal('text'),
  text: z.string(),
  providerOptions: providerOptionsSchema,
})

/** Either `data`, in base64, or `url`. */
const mediaFields = {
  mediaType: z.string(),
  data: z.string().optional(),
  url: z.string().optional(),
  filename: z.string().optional(),
  bytes: z.number().optional(),
}
const imageBlockSchema = z.looseObject({ type: z.literal('image'), ...mediaFields })
const audioBlockSchema = z.looseObject({ type: z.literal('audio'), ...mediaFields })
/** A file by reference. Its bytes are not part of the history. */
const fileBlockSchema = z.looseObject({
  type: z.literal('file'),
  mediaType: z.string(),
  url: z.string(),
  filename: z.string().optional(),
  bytes: z.number().optional(),
})

const reasoningBlockSchema = z.looseObject({
  type: z.literal('reasoning'),
  text: z.string(),
  providerOptions: providerOptionsSchema,
})

const toolCallBlockSchema = z.looseObject({
  type: z.literal('tool-call'),
  toolCallId: z.string(),
  /** The provider's id of this call, if that is too long to be the id of the call here. It goes back to the model that gave it. */
  givenId: z.string().optional(),
  toolName: z.string(),
  /** The arguments as JSON. Null if they could not be parsed. */
  input: z.json(),
  /** The arguments as the model wrote them, if they are not JSON. */
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
  z.looseObject({ type: z.literal('content'), value: z.array(userBlockSchema) }),
])

/**
 * `ok`. `error`: the tool failed and says why. `cancelled`: the call did not run or was stopped. `unknown`: nobody knows whether the tool
 * took effect.
 */
export const toolStatuses = ['ok', 'error', 'cancelled', 'unknown'] as const

/** Each message has an id that is unique in its history, and the time when it was recorded (milliseconds since 1970). */
const head = { id: z.string(), at: z.number() }

const systemMessageSchema = z.looseObject({ type: z.literal('system'), ...head, text: z.string() })
const userMessageSchema = z.looseObject({
  type: z.literal('user'),
  ...head,
  /** The worker that sent it, set by the runtime. Absent if it came from outside the session. */
  from: z.string().optional(),
  /** The name of the person who wrote it, where a conversation from elsewhere says so. No model reads it. */
  name: z.string().optional(),
  /** True for a text with which troupe itself asks a model again. It is no input. */
  nudge: z.boolean().optional(),
  /** It came while the agent was busy, and was sent to steer or to interrupt what it did. */
  when: z.enum(steerings).optional(),
  /** What a nudge is about, where troupe counts such nudges. `output`: an answer did not fit the output of its kind. */
  about: z.string().optional(),
  /** Of a nudge that tells of tasks in the background: the ids of the workers that have ended. */
  ended: z.array(z.string()).optional(),
  content: z.array(userBlockSchema),
  /** What was sent with it and nobody said: when it came, and facts. */
  context: z.string().optional(),
  /** Facts that the sender passed along, by name. They are for tools; the model never sees them. */
  facts: z.record(z.string(), z.json()).optional(),
})
const assistantMessageSchema = z.looseObject({
  type: z.literal('assistant'),
  ...head,
  /** `provider/model`, as the provider names it. */
  model: z.string(),
  /** `provider/model` as it was asked. Absent if the provider uses the same name. */
  asked: z.string().optional(),
  /** True for a sentence of ours in place of a reply that took too long. */
  interrupted: z.boolean().optional(),
  /** In the order in which the model wrote them. */
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
  /** Facts that the tool set, by name. They are for other tools and for the sender of the input; the model never sees them. */
  facts: z.record(z.string(), z.json()).optional(),
  /** Ids of the workers to which the call sent a message. */
  sent: z.array(z.string()).optional(),
  /** How the approval of the call stood when it was refused: it did not run. */
  approval: z.enum(approvalStatuses).optional(),
  /** The blob that holds all of a long output, of which `output` has the beginning. */
  blob: z.looseObject({ id: z.string(), mediaType: z.string(), bytes: z.number() }).optional(),
  /** If set, the run must fail with this failure, on whatever node it continues. */
  failure: z.looseObject({ code: z.string(), message: z.string() }).optional(),
  /** The arguments of the call could not be read. */
  isBroken: z.boolean().optional(),
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
  /** In base64. Either `data` or `url` is set. */
  readonly data?: string | undefined
  /** An address of the web; or `blob:<id>`, a blob of the session (core/blob.ts). */
  readonly url?: string | undefined
  readonly filename?: string | undefined
  /** Of a blob: how many it has. */
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
  /** What was sent with it and nobody said: when it came, and facts. */
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

/** The model that was asked for this reply. What the model signed goes back to this one only. */
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
