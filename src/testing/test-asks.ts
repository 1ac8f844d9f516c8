/** Duty: keep the asks in tests of one worker: those that it made, as a test sees them, and the answers that a test gives to them. */

import { boundAnswer } from '../client/person/approval-answers.ts'
import { InputError } from '../core/errors.ts'
import { toJson } from '../core/json.ts'
import type { AskOrder } from '../core/ports/ports.ts'
import { answerProblem } from '../core/worker/ask/answer-problem.ts'
import { toDecision } from '../core/worker/ask/approval-ask.ts'
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

/** The answer as the worker receives it. Checked and bound to a call as `troupe.asks.answer` would do it. */
export async function answerJsonOf(order: AskOrder, workerId: string, answers: TestAnswers): Promise<string> {
  const ask = testAskOf(order)
  const { options, schema, question, kind } = ask
  const answer = await answers(ask)
  const value = kind === 'approval' ? toDecision(answer) : answer
  const problem = answerProblem({ ...(options && { options }), ...(schema && { schema }) }, value)
  if (problem !== null) throw new InputError(`the answer of the test to "${question}" ${problem}.`)
  const { details } = decodeAskBody(order.body) ?? {}
  const valueJson = toJson(boundAnswer({ id: ask.id, kind, workerId, details }, value), `the answer to "${question}"`)
  return encodeAnswer(valueJson, { status: 'answered', by: 'a test', reason: null })
}
