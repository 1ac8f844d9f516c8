/** `troupe worker show <worker>`: one worker. */
import type { Command } from 'commander'
import type { WorkerReport } from '../../../client/report.ts'
import type { TokenReport } from '../../../client/session/conversation/tokens.ts'
import type { Permissions } from '../../../core/worker/permissions.ts'
import { costText, count } from '../../../words/amounts.ts'
import { configurationText } from '../../../words/configuration-text.ts'
import { formatMoment, momentAndAge } from '../../../words/duration.ts'
import { failureSentence } from '../../../words/lines/message-line.ts'
import { escapeLine } from '../../../words/text/escape.ts'
import { factLines } from '../../view/answer.ts'
import { withWorkerIds } from '../../view/objects.ts'
import { type Page, stateStyle } from '../../view/page.ts'
import { contextText, lastUsageText, usageText, waitText } from '../../view/worker-columns.ts'
import { addVerb, addVerboseOption, type VerboseFlag } from '../verb.ts'

export function addShowCommand(group: Command): void {
  addVerb<VerboseFlag>(group, {
    name: 'show',
    description: 'one worker: state, failure, mailbox, what it waits for',
    takes: 'worker',
    options: addVerboseOption,
    examples: [['troupe worker show 0199…', '']],
    purpose: 'look',
    answer: async (troupe, { id, flags: { verbose } }) => {
      const worker = troupe.workers.get(id)
      const report = await worker.report()
      // Only an agent has a tally.
      const tokens = report.usage.modelCalls === undefined ? null : await worker.tokens()
      const object = { ...withWorkerIds(report), ...(tokens && { tokens }) }
      if (!verbose) return { objects: [object], lines: (page) => reportLines(report, tokens, false, page) }
      // It is in the history, which may be long.
      const metadata = await worker.metadata()
      return {
        objects: [{ ...object, metadata }],
        lines: (page) => [
          ...reportLines(report, tokens, true, page),
          ...factLines(
            Object.entries(metadata).map(([name, value]) => [name, escapeLine(value)]),
            page,
          ),
        ],
      }
    },
  })
}

/** The permissions in the form that `--permissions` takes. */
function permissionsText({ tools, kinds, folder, send }: Permissions): string {
  const parts = [
    tools && `tools=${tools.join(',')}`,
    kinds && `kinds=${kinds.join(',')}`,
    folder && `folder=${folder}`,
    send && `send=${typeof send === 'string' ? send : send.join(',')}`,
  ]
  return parts.filter(Boolean).join(' ')
}

function reportLines(worker: WorkerReport, tokens: TokenReport | null, verbose: boolean, page: Page): string[] {
  const { activity, lastFailure, mailbox } = worker
  const waitsFor = waitText(worker, Date.now())
  return factLines(
    [
      ['worker', worker.id],
      ['name', escapeLine(worker.name)],
      ['kind', escapeLine(worker.kind)],
      ['session', worker.sessionId],
      ['permissions', worker.permissions && escapeLine(permissionsText(worker.permissions))],
      ['configured', worker.configured && escapeLine(configurationText(worker.configured))],
      ['parent', worker.parentId],
      ['depth', String(worker.depth)],
      ['state', page.paint(stateStyle(activity), activity)],
      ['lifecycle', verbose ? worker.lifecycle : null],
      ['fine state', verbose ? worker.state : null],
      ['run', verbose ? worker.run : null],
      ['waits for', waitsFor && escapeLine(waitsFor)],
      ['runs', String(worker.runs)],
      ['iterations', worker.usage.modelCalls === undefined ? null : String(worker.iterations)],
      ['usage', usageText(worker.usage)],
      ['cost', costText(worker.usage)],
      ['last reply', tokens && lastUsageText(tokens)],
      ['context', tokens && contextText(tokens)],
      ['open children', worker.openChildren === 0 ? null : String(worker.openChildren)],
      ['history', worker.historyLength === 1 ? '1 entry' : `${worker.historyLength} entries`],
      ['mailbox', mailbox.pending === 0 ? 'empty' : `${mailbox.pending} pending, ${mailbox.signals} of them signals`],
      ['node', worker.node && escapeLine(worker.node)],
      ['updated', momentAndAge(worker.updatedAt)],
      ['interrupted', interruptedText(worker)],
      ['starts', worker.starts > 1 ? `${worker.starts} since the last recorded step` : null],
      ['last words', worker.lastWords && escapeLine(worker.lastWords)],
      ['last failure', lastFailure && escapeLine(failureSentence(lastFailure))],
      ['failed at', lastFailure && formatMoment(lastFailure.at)],
      ['to go on', worker.holdup?.command],
    ],
    page,
  )
}

function interruptedText({ interrupted }: WorkerReport): string | null {
  if (interrupted === 0) return null
  return `${count(interrupted, 'turn')}, because the node died or lost its lease; the history says who took over`
}
