/**
 * Duty: define the tool with which a model asks a person.
 * Owns: its schema, its description, the ask that follows from a call, and the text of its result. Does not own: recording (asked-calls.ts).
 * ASK-PERSON-1 The id of an ask follows from the call, and from how often its run was retried: a call that runs again in a retried run opens
 *              another ask, because the end of the run withdrew the one before.
 */
import { z } from 'zod'
import { type Fit, fitTo } from '../../../../core/check/schema-problems.ts'
import type { ToolSpec } from '../../../../core/definition/model.ts'
import type { ToolOutput } from '../../../../core/history/chat/chat-message.ts'
import type { AskNote } from '../../../../core/history/entry.ts'
import { askId } from '../../../../core/ids.ts'
import { policy } from '../../../../core/policy.ts'
import type { AskOrder } from '../../../../core/ports/ports.ts'
import { encodeAskBody } from '../../../../core/worker/ask/ask.ts'
import type { AnswerMessage } from '../../../../core/worker/message/message.ts'
import { toOutput } from '../../../tool/output.ts'

export const askToolName = 'ask_person'

const optionsMax = 50
const bytesRule = `must be a text of 1 to ${policy.questionBytesMax} bytes`
const shortText = z
  .string()
  .refine((text) => text.trim() !== '' && Buffer.byteLength(text) <= policy.questionBytesMax, bytesRule)
const askSchema = z.strictObject({
  question: shortText,
  options: z.array(shortText).min(1).max(optionsMax).optional(),
})

export type AskInput = z.infer<typeof askSchema>

export function parseAsk(input: unknown): Fit<AskInput> {
  return fitTo(askSchema, input)
}

export const askSpec: ToolSpec = {
  name: askToolName,
  description:
    'Asks a person, and returns the answer. It may take long: ask only what you cannot find out by yourself, and put all that the person needs to know into the question.',
  inputSchema: {
    type: 'object',
    properties: {
      question: { type: 'string', description: 'The question, with all that is needed to answer it.' },
      options: {
        type: 'array',
        minItems: 1,
        maxItems: optionsMax,
        items: { type: 'string' },
        description: 'The answer must be one of these texts. Leave it out if any text may be the answer.',
      },
    },
    required: ['question'],
    additionalProperties: false,
  },
}

export interface CallPlace {
  readonly workerId: string
  readonly run: number
  readonly toolCallId: string
  /** How often the run was retried. */
  readonly retries: number
}

/** The ask that a call opens, and its note for the history. */
export function askOfCall(
  { question, options }: AskInput,
  { workerId, run, toolCallId, retries }: CallPlace,
): { readonly order: AskOrder; readonly note: AskNote } {
  const id = askId(workerId, run, toolCallId, retries + 1)
  const body = encodeAskBody({ question, ...(options && { options }) })
  return { order: { id, sort: 'question', body }, note: { id, sort: 'question', question } }
}

/** The result of the call, in words for a model. */
export function answerOutput({ status, value, by, reason }: AnswerMessage, bytesMax: number): ToolOutput {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (status === 'expired') {
    const instead = value === null ? '' : ` Take this in place of an answer: ${text}`
    return toOutput(`Nobody answered in time. Go on without an answer.${instead}`, bytesMax)
  }
  const lines = [`${by ?? 'Somebody'} answered: ${text}`, ...(reason === null ? [] : [`Reason: ${reason}`])]
  return toOutput(lines.join('\n'), bytesMax)
}
