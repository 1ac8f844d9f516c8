/**
 * Duty: say which limit keeps a run from going on: of the run by its kind, or of what the agents of its session share.
 * Does not own: the length of its conversation (order/history-limit.ts), the limits of one reply (iteration.ts).
 */
import { LimitError } from '../../core/errors.ts'
import type { Spending } from '../../core/policy.ts'
import type { AgentTurn } from './agent-turn.ts'

/** The error of a run that has used up a limit of its kind. Null when another model call may be made, as below. */
export function overRunLimit({ journal, kind, who }: AgentTurn): LimitError | null {
  const { tokens: tokensMost, runMs } = kind.definition.limits ?? {}
  const { tokens, startedAt } = journal.container.run
  const ranMs = startedAt === null ? 0 : Date.now() - startedAt
  if (runMs !== undefined && ranMs >= runMs)
    return overBudget(
      `${who} began this run ${ranMs} ms ago and may use ${runMs} ms: no further model call was made. Raise limits.runMs of its kind.`,
    )
  if (tokensMost === undefined || tokens < tokensMost) return null
  return overBudget(
    `${who} has used ${tokens} tokens in this run and may use ${tokensMost}: no further model call was made. Raise limits.tokens of its kind.`,
  )
}

/** The error of a session whose agents have used up what they share. */
export function overSessionLimit(agentTurn: AgentTurn): LimitError | null {
  const { sessionSpent: spent } = agentTurn.journal
  const { allowed } = agentTurn.turn.session.spending
  const name = spent.modelCalls >= allowed.modelCalls ? 'modelCalls' : spent.tokens >= allowed.tokens ? 'tokens' : null
  return name && usedUp(agentTurn, name, `${agentTurn.who} made no further model call`)
}

/**
 * The error of tool calls that are too many for the session; null if they are not. Other agents may use up what is left at the same moment.
 * `more`: how many of them are not counted yet.
 */
export function tooManyCalls(agentTurn: AgentTurn, more: number): LimitError | null {
  const { journal, turn, who } = agentTurn
  if (journal.sessionSpent.toolCalls + more <= turn.session.spending.allowed.toolCalls) return null
  const asked = more === 0 ? 'the open ones were not run' : `${who} asked for ${more} more, which were not run`
  return usedUp(agentTurn, 'toolCalls', asked)
}

const spendingWords = { modelCalls: 'model calls', tokens: 'tokens', toolCalls: 'tool calls' } as const

/** `what`: what the worker did because the limit is used up. */
function usedUp({ journal, turn }: AgentTurn, name: keyof Spending, what: string): LimitError {
  const { sessionSpent: spent } = journal
  const { allowed } = turn.session.spending
  const { sessionId, parentId } = turn.assignment
  const of = spendingWords[name]
  // Only a root goes on where it failed: a child has told its parent.
  const more = `${name}=${2 * Math.max(spent[name], allowed[name])}`
  const goOn =
    parentId === null
      ? `let this one go on with more: troupe session retry ${sessionId} --limits ${more}`
      : `raise it while it is active: troupe session limit ${sessionId} ${more}`
  const failed =
    name === 'modelCalls' && journal.tally.failedModelCalls
      ? `, with ${journal.tally.failedModelCalls} that failed`
      : ''
  return overBudget(
    `session ${sessionId} has used ${spent[name]} of the ${allowed[name]} ${of} that its agents share${failed}: ${what}. Create sessions with a higher limits.${name}, or ${goOn}`,
  )
}

function overBudget(why: string): LimitError {
  return new LimitError('budget_exceeded', why)
}
