/** `troupe session prune`: removes finished sessions. */
import type { Command } from 'commander'
import { count } from '../../../words/amounts.ts'
import { duration } from '../../options.ts'
import { sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'

export function addPruneCommand(group: Command): void {
  addVerb<{ readonly olderThan?: number }>(group, {
    name: 'prune',
    description: 'remove finished sessions with all their data',
    options: (command) =>
      command.option(
        '--older-than <duration>',
        'only sessions that finished longer ago, such as 12h; default: the retention',
        duration,
      ),
    examples: [
      ['troupe session prune', 'as the nodes do by themselves: by default after 7 days'],
      ['troupe session prune --older-than 0', 'all finished sessions'],
    ],
    details: `A finished session stays while one of its detached workers still runs or waits.
The command asks nothing, and nothing brings back what it removed.`,
    purpose: 'change',
    answer: async (troupe, { flags: { olderThan } }) => {
      const pruned = await troupe.sessions.prune({ olderThanMs: olderThan })
      return sentence({ type: 'pruned', sessions: pruned }, `${count(pruned, 'session')} pruned`)
    },
  })
}
