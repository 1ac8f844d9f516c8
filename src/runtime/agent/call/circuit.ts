/**
 * Duty: end a run that goes round in circles: the same errors again and again, a tool that only fails, arguments that are never JSON.
 * CIRCUIT-1 All counts follow from the history alone, so a node that takes over counts the same.
 */
import { TerminalError } from '../../../core/errors.ts'
import type { AgentTurn } from '../agent-turn.ts'

/** Returns true if the run has been ended. */
export function breakCircuit(agentTurn: AgentTurn): boolean {
  const why = whyBroken(agentTurn)
  if (why === null) return false
  const { machine } = agentTurn.journal
  if (machine.state === 'ExecutingTools') machine.apply('toolsFinished')
  machine.apply('circuitOpened')
  const error = new TerminalError(`${agentTurn.who} ${why}`, { code: 'circuit_open' })
  agentTurn.end.fail(error, 'tool', 1)
  return true
}

const saved = 'Its run was ended so that it spends no more tokens'

function whyBroken({ journal, kind, turn }: AgentTurn): string | null {
  const { sameErrors, errors, brokenReplies, failing } = journal.container.run
  const { policy } = turn.host
  const { limits, recoveries = policy.recoveries } = kind.definition
  if (sameErrors >= (limits?.sameErrors ?? policy.sameErrors))
    return `met the same tool errors in ${sameErrors} iterations in a row. ${saved}: ${errors.replaceAll('\n', '; ')}`
  const last = errors.replaceAll('\n', '; ')
  if (brokenReplies > recoveries)
    return `wrote calls without readable arguments in ${brokenReplies} replies, and its kind allows ${recoveries} (recoveries). ${saved}: ${last}`
  const { toolFailures } = limits ?? {}
  if (toolFailures === undefined || failing.size === 0) return null
  const worst = [...failing].find(([, times]) => times >= toolFailures)
  if (worst === undefined) return null
  return `called the tool "${worst[0]}", which failed ${worst[1]} times in a row, and limits.toolFailures is ${toolFailures}. ${saved}: ${last}`
}
