/**
 * Duty: define an ask: what a worker asks of somebody outside, and how its answer comes back.
 * Owns: the forms of an ask's question and of its answer, as they are stored and put into the mailbox.
 * Does not own: when an ask ends (lua/shared/mail/asks.lua and answer.lua).
 * OUTASK-1 An ask ends once: it is answered, it expires, or the end of its run withdraws it. While it is open, its worker holds no slot for it.
 * OUTASK-2 No script decodes a question or an answer. Whoever answers checks the answer against the question first.
 */
import { isObject } from '../../check/is-object.ts'

export const askSorts = ['question', 'approval', 'signal'] as const
/** question: for a person. approval: may this tool call run? signal: an event of another system, by its name. */
export type AskSort = (typeof askSorts)[number]

export const askStates = ['open', 'answered', 'expired', 'withdrawn'] as const
/** withdrawn: its run ended, or was cancelled, before anybody answered. */
export type AskState = (typeof askStates)[number]

/** What an ask asks, in the form that is stored. */
export interface AskBody {
  /** The question, or the name of the signal. */
  readonly question: string
  /** The answer must be one of these. */
  readonly options?: readonly string[]
  /** JSON Schema that the answer must fit. */
  readonly schema?: Readonly<Record<string, unknown>>
  /** For programs that show the ask; no rule reads it. */
  readonly details?: unknown
}

/** How an ask ended, as the worker receives it. */
export interface AskAnswer {
  readonly status: 'answered' | 'expired'
  readonly value: unknown
  readonly by: string | null
  readonly reason: string | null
  /** Set for an expired ask that fails its run: the words of the failure. */
  readonly fails?: string
}

export function encodeAskBody(body: AskBody): string {
  return JSON.stringify(body)
}

/** Null for a text that another program wrote. */
export function decodeAskBody(text: string): AskBody | null {
  try {
    const body: unknown = JSON.parse(text)
    return isObject(body) && typeof body.question === 'string' ? (body as unknown as AskBody) : null
  } catch {
    return null
  }
}

/** `valueJson` is JSON already. */
export function encodeAnswer(valueJson: string, { status, by, reason, fails }: Omit<AskAnswer, 'value'>): string {
  const more = fails === undefined ? '' : `,"fails":${JSON.stringify(fails)}`
  return `{"status":"${status}","value":${valueJson},"by":${JSON.stringify(by)},"reason":${JSON.stringify(reason)}${more}}`
}

/** Throws if the text is no answer. */
export function decodeAnswer(text: string): AskAnswer {
  const { status, value = null, by = null, reason = null, fails } = JSON.parse(text) as Partial<AskAnswer>
  if (status !== 'answered' && status !== 'expired') throw new SyntaxError('an answer should say how the ask ended')
  return { status, value, by, reason, ...(typeof fails === 'string' && { fails }) }
}
