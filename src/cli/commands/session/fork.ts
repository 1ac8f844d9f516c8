/** `troupe session fork`: a live session once more, with all its workers; or a conversation with one of them. */
import type { Command } from 'commander'
import { ConfigError } from '../../../core/errors.ts'
import { idempotencyKey, wholeNumber } from '../../options.ts'
import { sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'

interface ForkFlags {
  readonly dryRun?: true
  readonly at?: number
  readonly key?: string
}

export function addForkCommand(group: Command): void {
  addVerb<ForkFlags>(group, {
    name: 'fork',
    description: 'copy a session that goes on, with all its workers, as it is now; both go on',
    takes: 'session',
    options: (command) =>
      command
        .option('--dry-run', 'do not run tools with effects in the copy: their calls get a result that says so')
        .option('--at <position>', "copy the first worker's conversation alone, up to this position", wholeNumber(0))
        .option('--key <key>', 'idempotency key: the same key gives the same copy', idempotencyKey),
    examples: [
      ['troupe session fork 0199…', 'a copy that goes on beside it'],
      ['troupe session fork 0199… --dry-run', 'see what it would do next'],
    ],
    purpose: 'create',
    details: `Histories, mailboxes, children, timers, asks, limits and usage are copied as they
are at one moment, under new ids. The session is not held up. Ids within texts
and states stay those of the first session.
troupe worker fork begins a new conversation with the messages of one of its agents.`,
    answer: async (troupe, { id, flags: { dryRun = false, at, key } }) => {
      if (at !== undefined && dryRun)
        throw new ConfigError(
          '--dry-run copies the whole session, and --at copies one conversation: leave one of them out.',
        )
      const session = troupe.sessions.get(id)
      const once = { idempotencyKey: key }
      const copy =
        at === undefined
          ? await session.fork({ dryRun, ...once })
          : await troupe.sessions.fork(session.root, { at, ...once })
      const { rootId: workerId, id: sessionId } = copy
      const how = dryRun ? ', as a dry run' : ''
      return sentence(
        { type: 'forked', from: id, sessionId, workerId, dryRun },
        `session ${sessionId} goes on where session ${id} was${how}`,
      )
    },
  })
}
