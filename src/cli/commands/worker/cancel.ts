/** `troupe worker cancel`: ends one worker for good, or its run in progress. */
import type { Command } from 'commander'
import { sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'

interface CancelFlags {
  readonly run?: boolean
  readonly reason?: string
}

export function addCancelCommand(group: Command): void {
  addVerb<CancelFlags>(group, {
    name: 'cancel',
    description: 'cancel a worker for good, with all that it spawned, or its run in progress',
    takes: 'worker',
    options: (command) =>
      command
        .option('--run', 'only the run in progress, with the children that it waits for')
        .option('--reason <text>', 'the reason, for the events'),
    examples: [
      ['troupe worker cancel 0199… --reason "wrong folder"', ''],
      ['troupe worker cancel 0199… --run', 'its next message starts the next run'],
    ],
    purpose: 'change',
    details: `The parent of the worker gets a result that says cancelled, and the rest of the
session goes on. The first worker of a session is cancelled with the session;
--run of it ends a job, and leaves a conversation open.`,
    answer: async (troupe, { id, flags: { run = false, reason } }) => {
      const worker = troupe.workers.get(id)
      const accepted = run ? await worker.cancelRun(reason) : await worker.cancel(reason).then(() => true)
      const what = run ? 'run' : 'worker'
      return sentence({ type: 'cancelRequested', workerId: id, what, accepted }, `worker ${id} ${text(run, accepted)}`)
    },
  })
}

function text(isRun: boolean, accepted: boolean): string {
  if (!accepted) return 'has no run in progress: nothing was cancelled'
  return isRun
    ? 'ends its run now; its next message starts the next run'
    : 'is being cancelled for good, with all that it spawned'
}
