/** Duty: what a session asks the person at its terminal, and what a typed line means as an answer. */
import type { Ask } from '../../../client/person/asks.ts'
import type { Session } from '../../../client/session/session.ts'
import { parseInput } from '../../input.ts'

/** The oldest ask that a person may answer; a signal is for another system. Undefined if there is none. */
export async function oldestAsk(session: Pick<Session, 'asks'>): Promise<Ask | undefined> {
  const kinds = ['question', 'approval'] as const
  const [question, approval] = await Promise.all(kinds.map(async (kind) => (await session.asks({ kind, limit: 1 }))[0]))
  if (question === undefined || approval === undefined) return question ?? approval
  return approval.askedAt < question.askedAt ? approval : question
}

/** The text, or the JSON that it is, such as a number, where the ask takes no text. */
export async function typedAnswer({ schema }: Ask, text: string): Promise<unknown> {
  const typed = parseInput(text, undefined, 'the answer')
  if (typeof typed !== 'string' || schema === null) return typed
  // Checks by schemas, which commands that answer nothing need not load.
  const { answerProblem } = await import('../../../core/worker/ask/answer-problem.ts')
  const fits = (value: unknown) => answerProblem({ schema }, value) === null
  if (fits(typed)) return typed
  try {
    const value = parseInput(text, 'json', 'the answer')
    return fits(value) ? value : typed
  } catch {
    return typed
  }
}
