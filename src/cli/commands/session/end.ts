/** `troupe session close` and `troupe session cancel`: the two ways to end a session. */
import type { Command } from 'commander'
import type { Session } from '../../../client/session/session.ts'
import type { ListedState } from '../../../client/session/session-state.ts'
import { damageOf } from '../../../core/errors.ts'
import { sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'

export function addCloseCommand(group: Command): void {
  addVerb(group, {
    name: 'close',
    description: 'end a conversation once all its waiting messages are answered',
    takes: 'session',
    examples: [['troupe session close 0199…', 'a session that was submitted with --keep-open']],
    purpose: 'change',
    answer: async (troupe, { id }) => {
      const session = troupe.sessions.get(id)
      await session.close()
      const state = await stateOf(session)
      return sentence(
        { type: 'closeRequested', sessionId: session.id, state },
        `session ${session.id} ${closeText(state)}`,
      )
    },
  })
}

export function addCancelCommand(group: Command): void {
  addVerb<{ readonly reason?: string }>(group, {
    name: 'cancel',
    description: 'cancel a session: from now on none of its workers starts, spawns or commits',
    takes: 'session',
    options: (command) => command.option('--reason <text>', 'the reason, for the report'),
    examples: [['troupe session cancel 0199… --reason "wrong folder"', '']],
    purpose: 'change',
    answer: async (troupe, { id, flags: { reason } }) => {
      const session = troupe.sessions.get(id)
      const accepted = await session.cancel(reason)
      const state = await stateOf(session)
      return sentence(
        { type: 'cancelRequested', sessionId: session.id, accepted, state },
        `session ${session.id} ${accepted ? cancelText(state) : `had already ended: it is ${state}`}`,
      )
    },
  })
}

/** The state after the request. The request succeeded, even if the state cannot be read. */
async function stateOf(session: Session): Promise<ListedState> {
  try {
    return (await session.summary()).state
  } catch (thrown) {
    if (damageOf(thrown) === undefined) throw thrown
    return 'damaged'
  }
}

function closeText(state: ListedState): string {
  if (state === 'damaged') return `has ended, or ends once its waiting messages are answered${note(state)}`
  return state === 'active' ? 'ends once its waiting messages are answered' : `is ${state}`
}

function cancelText(state: ListedState): string {
  return `is ${state === 'damaged' ? 'cancelling' : state}${note(state)}`
}

function note(state: ListedState): string {
  return state === 'damaged' ? '; it is damaged: troupe session show names the data that another program overwrote' : ''
}
