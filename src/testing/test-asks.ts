/** Duty: keep the asks in tests of one worker: those that it made, as a test sees them, and the answers that a test gives to them. */

import { InputError } from '../core/errors.ts'
import { toJson } from '../core/json.ts'
import type { AskOrder } from '../core/ports/ports.ts'
import { answerProblem } from '../core/worker/ask/answer-problem.ts'
import { type AskSort, decodeAnswer, decodeAskBody, encodeAnswer } from '../core/worker/ask/ask.ts'

/** An ask that the worker made. */
export interface TestAsk {
  readonly id: string
  readonly kind: AskSort
  /** The question, or the name of the signal. */
  readonly question: string
  readonly options: readonly string[] | null
  /** The JSON Schema of the answer. */
  readonly schema: Readonly<Record<string, unknown>> | null
  /** Null if the ask never expires. */
  readonly expiresMs: number | null
  /** What the worker would receive if nobody answered; `'fail'` if its run would fail. */
  readonly onExpiry: unknown
}

/** What somebody answers. What such a function throws is thrown by the test. */
export type TestAnswers = (ask: TestAsk) => unknown

export function testAskOf({ id, sort, body, expiry }: AskOrder): TestAsk {
  const { question = body, options = null, schema = null } = decodeAskBody(body) ?? {}
  const expired = expiry && decodeAnswer(expiry.answer)
  const onExpiry = expired?.fails === undefined ? (expired?.value ?? null) : 'fail'
  return { id, kind: sort, question, options, schema, expiresMs: expiry?.ms ?? null, onExpiry }
}

/** The answer as the worker receives it. Checked as `troupe.asks.answer` would check it. */
export async function answerJsonOf(ask: TestAsk, answers: TestAnswers): Promise<string> {
  const value = await answers(ask)
  const { options, schema, question } = ask
  const problem = answerProblem({ ...(options && { options }), ...(schema && { schema }) }, value)
  if (problem !== null) throw new InputError(`the answer of the test to "${question}" ${problem}.`)
  const valueJson = toJson(value, `the answer to "${question}"`)
  return encodeAnswer(valueJson, { status: 'answered', by: 'a test', reason: null })
}
