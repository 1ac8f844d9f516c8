/** Duty: check that a value is a message of a conversation (chat-message.ts has the types). A field that is not known is kept (CHAT-3). */
import { z } from 'zod'
import { approvalStatuses } from '../../worker/ask/approval-status.ts'
import { steerings } from '../../worker/message/steer.ts'
import { finishReasons, toolStatuses } from './chat-message.ts'

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

const toolOutputSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), value: z.string() }),
  z.looseObject({ type: z.literal('json'), value: z.json() }),
  z.looseObject({ type: z.literal('error-text'), value: z.string() }),
  z.looseObject({ type: z.literal('content'), value: z.array(userBlockSchema) }),
])

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
  /** For a nudge that tells of tasks in the background: the ids of the workers that have ended. */
  ended: z.array(z.string()).optional(),
  content: z.array(userBlockSchema),
  /** What was sent with it in addition to what was said: when it came, and facts. */
  context: z.string().optional(),
  /** Facts that the sender passed along, by name. They are for tools; the model never sees them. */
  facts: z.record(z.string(), z.json()).optional(),
})
const assistantMessageSchema = z.looseObject({
  type: z.literal('assistant'),
  ...head,
  /** `provider/model`, as the provider names it. */
  model: z.string(),
  /** The `provider/model` that was asked. Absent if the provider uses the same name. */
  asked: z.string().optional(),
  /** True for a sentence of ours in place of a reply that took too long. */
  interrupted: z.boolean().optional(),
  /** The blocks in the order in which the model wrote them. */
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
