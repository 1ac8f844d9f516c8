/**
 * Duty: set the model, the settings and the tools of one agent between two of its runs, if its kind and this node know them.
 * CONFIGURE-1 One step records the order, its outcome, and in the record the settings that hold from the next turn on.
 */
import { checkSettings } from '../../../core/definition/tool/call-settings.ts'
import { toRuntimeError } from '../../../core/errors.ts'
import {
  type Configuration,
  configurationAfter,
  encodeConfiguration,
} from '../../../core/worker/message/configuration.ts'
import type { Mail } from '../../../core/worker/message/message.ts'
import type { ConfigureOrder } from '../../../core/worker/message/order.ts'
import { goOn } from '../../../core/worker/wait.ts'
import { definitionWith, openModel } from '../agent-kind.ts'
import type { AgentTurn, Pause } from '../agent-turn.ts'

export async function configure(agentTurn: AgentTurn, mail: Mail, order: ConfigureOrder): Promise<Pause | null> {
  const { inbox, journal, turn } = agentTurn
  const { id: message } = mail.message
  const after = configurationAfter(turn.assignment.configured ?? null, order.change)
  const problem = await problemOf(agentTurn, after)
  if (agentTurn.isOver) return null
  const ordered = journal.entry('ordered', { message, order })
  inbox.take(mail)
  if (problem !== null) {
    journal.add([ordered, journal.entry('orderRefused', { message, reason: problem })], { inputsConsumed: 1 })
    return null
  }
  journal.add([ordered, journal.entry('configured', { message, ...after })], {
    inputsConsumed: 1,
    configured: encodeConfiguration(after),
    notes: [['worker.configured', { ...after }]],
  })
  return { for: goOn }
}

async function problemOf({ kind, parts, turn }: AgentTurn, after: Configuration): Promise<string | null> {
  try {
    checkSettings(after.settings)
    openModel(definitionWith(kind.written, after), parts)
    const known = after.tools === undefined ? [] : (await kind.toolbox.open(turn)).ownNames
    const unknown = (after.tools ?? []).filter((name) => !known.includes(name))
    if (unknown.length === 0) return null
    return `its kind has no tool ${unknown.map((name) => JSON.stringify(name)).join(', ')}; it has ${known.join(', ') || 'none'}.`
  } catch (thrown) {
    return toRuntimeError(thrown).message
  }
}
