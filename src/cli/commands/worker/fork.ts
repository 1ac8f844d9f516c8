/** `troupe worker fork`: another conversation that begins with what this one had said by then. */
import type { Command } from 'commander'
import { parseInput } from '../../input.ts'
import { idempotencyKey, wholeNumber } from '../../options.ts'
import { sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'

interface ForkFlags {
  readonly at?: number
  readonly name?: string
  readonly key?: string
}

export function addForkCommand(group: Command): void {
  addVerb<ForkFlags>(group, {
    name: 'fork',
    description: 'begin another conversation with the messages of this one; both go on',
    takes: 'worker',
    options: (command) =>
      command
        .argument('[input]', 'first message of the branch: JSON or text; without it the branch waits for one')
        .option('--at <position>', 'up to this position of the history; default: its end', wholeNumber(0))
        .option('--name <name>', 'shown to people; default: the name of the worker')
        .option('--key <key>', 'idempotency key: the same key gives the same branch', idempotencyKey),
    examples: [
      ['troupe worker fork 0199…', 'the same conversation once more'],
      ['troupe worker fork 0199… --at 12 "Try the other way"', 'from an earlier place on; see worker history'],
    ],
    purpose: 'create',
    details: `The branch is a session of its own, with the kind and the permissions of the worker, and as
it was configured there.
Facts, children and the mailbox stay with the first one. troupe worker diff compares the two.`,
    answer: async (troupe, { id, more: [text], flags: { at, name, key } }) => {
      const input = typeof text === 'string' ? { input: parseInput(text, undefined, 'the input') } : {}
      const branch = await troupe.sessions.fork(troupe.workers.get(id), { at, name, idempotencyKey: key, ...input })
      const { rootId: workerId, id: sessionId } = branch
      const next = text === undefined ? `; it waits for: troupe send ${workerId} "…"` : ''
      return sentence(
        { type: 'forked', from: id, sessionId, workerId },
        `session ${sessionId} begins where worker ${id} was${next}`,
      )
    },
  })
}
