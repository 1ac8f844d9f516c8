/** `troupe session pause` and `troupe session resume`: hold the work of one session, and go on with it. */
import type { Command } from 'commander'
import { sentence } from '../../view/answer.ts'
import { addWhoAndWhy, type WhoAndWhy } from '../fleet/pause.ts'
import { addVerb } from '../verb.ts'

export function addPauseCommand(group: Command): void {
  addVerb<WhoAndWhy>(group, {
    name: 'pause',
    description: 'pause a session: none of its workers begins anything until it is resumed',
    takes: 'session',
    options: addWhoAndWhy,
    examples: [['troupe session pause 0199… --reason "wrong prices"', '']],
    details: `Model calls and tools that run go on to their end, and are recorded. Messages,
timers and results wait in their order.`,
    purpose: 'change',
    answer: async (troupe, { id, flags }) => {
      const session = troupe.sessions.get(id)
      await session.pause(flags.reason, { by: flags.by })
      return sentence(
        { type: 'paused', sessionId: session.id },
        `session ${session.id} is paused; go on with: troupe session resume ${session.id}`,
      )
    },
  })
}

export function addResumeCommand(group: Command): void {
  addVerb<WhoAndWhy>(group, {
    name: 'resume',
    description: 'go on with a session that was paused',
    takes: 'session',
    options: addWhoAndWhy,
    examples: [['troupe session resume 0199…', '']],
    purpose: 'change',
    answer: async (troupe, { id, flags }) => {
      const session = troupe.sessions.get(id)
      const { paused } = await session.summary()
      await session.resume(flags.reason, { by: flags.by })
      const line = paused === null ? `session ${session.id} was not paused` : `session ${session.id} goes on`
      return sentence({ type: 'resumed', sessionId: session.id, wasPaused: paused !== null }, line)
    },
  })
}
