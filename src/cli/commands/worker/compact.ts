/** `troupe worker compact|run`: asks something of an agent itself. */
import type { Command } from 'commander'
import type { Compacted } from '../../../client/session/conversation/orders.ts'
import { count, tokensText } from '../../../words/amounts.ts'
import { queuedAt, UnhostedNotice } from '../../host/unhosted-notice.ts'
import { wholeNumber } from '../../options.ts'
import { tell } from '../../terminal/output.ts'
import { sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'

interface CompactFlags {
  readonly instruction?: string
  readonly keepLast?: number
}

export function addCompactCommand(group: Command): void {
  addVerb<CompactFlags>(group, {
    name: 'compact',
    description: 'have a summary written for the beginning of the conversation of an agent',
    takes: 'worker',
    options: (command) =>
      command
        .option('--instruction <text>', 'what the summary must also hold')
        .option(
          '--keep-last <n>',
          'how many of the newest messages, replies and groups of results stay as they are',
          wholeNumber(1),
        ),
    examples: [
      ['troupe worker compact 0199…', ''],
      ['troupe worker compact 0199… --instruction "Keep all prices."', ''],
    ],
    purpose: 'change',
    details: `Needs a node that hosts its kind. At once if the worker rests, else after its run.
troupe worker expand takes the summary back.`,
    answer: async (troupe, { id, flags: { instruction, keepLast } }) => {
      const worker = troupe.workers.get(id)
      using _notice = new UnhostedNotice(troupe, () => queuedAt(worker), tell)
      const came = await worker.compact({ instruction, keepLast })
      return sentence({ type: 'compaction', workerId: id, ...came }, compactedText(id, came))
    },
  })
}

export function compactedText(id: string, came: Compacted): string {
  if (!came.compacted) return `worker ${id} was not compacted: ${came.reason}`
  const sizes = `about ${tokensText(came.tokensAfter)} tokens instead of ${tokensText(came.tokensBefore)}`
  return `a summary stands for ${count(came.messages, 'message')} of worker ${id}: ${sizes}`
}

export function addRunCommand(group: Command): void {
  addVerb(group, {
    name: 'run',
    description: 'begin a run of an agent on what is in its history, without an input',
    takes: 'worker',
    examples: [['troupe worker run 0199…', 'after troupe worker push, or after a run that failed']],
    purpose: 'change',
    details: 'Only while the worker rests, and if the last message of its history is an input.',
    answer: async (troupe, { id }) => {
      const run = await troupe.workers.get(id).run()
      return sentence({ type: 'runRequested', workerId: id, run }, `run ${run} of worker ${id} begins`)
    },
  })
}
