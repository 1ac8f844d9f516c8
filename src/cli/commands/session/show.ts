/** `troupe session show <session>`: a session and all its workers, as the supervisor reports them. */
import type { Command } from 'commander'
import type { Report, WorkerReport } from '../../../client/report.ts'
import type { TokenReport } from '../../../client/session/conversation/tokens.ts'
import { limitNames } from '../../../core/policy.ts'
import { defaultApproval } from '../../../core/worker/ask/session-approval.ts'
import { defaultTurnShare, type TurnShare } from '../../../core/worker/turn-share.ts'
import { costText } from '../../../words/amounts.ts'
import { formatDuration, formatMoment, momentAndAge } from '../../../words/duration.ts'
import { helpfulCommands, holdupTexts } from '../../../words/holdup-text.ts'
import { failureSentence } from '../../../words/lines/message-line.ts'
import { escapeLine } from '../../../words/text/escape.ts'
import { type Fact, factLines } from '../../view/answer.ts'
import { reportObject } from '../../view/objects.ts'
import { type Page, stateStyle } from '../../view/page.ts'
import { tableLines } from '../../view/table.ts'
import { contextText, usageText, waitsColumn, waitText, workerColumns } from '../../view/worker-columns.ts'
import { addVerb, addVerboseOption, type VerboseFlag } from '../verb.ts'

export function addShowCommand(group: Command): void {
  addVerb<VerboseFlag>(group, {
    name: 'show',
    description: 'a session and its workers: states, failures, limits',
    takes: 'session',
    options: addVerboseOption,
    examples: [
      ['troupe session show 0199…', 'for people'],
      ['troupe session show 0199… -v', 'also the states of the design'],
      ['troupe session show 0199… --json | jq .session.state', 'for a script'],
    ],
    purpose: 'look',
    answer: async (troupe, { id, flags: { verbose } }) => {
      const session = troupe.sessions.get(id)
      const report = await session.report()
      const root = report.workers.find((worker) => worker.id === report.session.rootId)
      const tokens = root?.usage.modelCalls === undefined ? null : await session.root.tokens()
      return {
        objects: [{ ...reportObject(report), ...(tokens && { tokens }) }],
        lines: (page) => reportLines(report, tokens, verbose, page),
      }
    },
  })
}

/** A session without its workers. */
export function sessionFacts({ session, workers }: Report, page: Page, tokens: TokenReport | null = null): string[] {
  const {
    state,
    paused,
    closed,
    approval,
    mode,
    createdAt,
    finishedAt,
    limits,
    result,
    failure,
    forkedFrom,
    branchOf,
  } = session
  const root = workers.find(({ id }) => id === session.rootId)
  const now = Date.now()
  const waitsFor = root && waitText(root, now)
  const reason = session.cancelReason ? ` (${escapeLine(session.cancelReason)})` : ''
  return factLines(
    [
      ['session', session.id],
      ['name', session.name === session.kind ? null : escapeLine(session.name)],
      ['kind', escapeLine(session.kind)],
      ['state', page.paint(stateStyle(state), state) + reason],
      ['paused', paused && escapeLine(pauseText(paused))],
      ['closed', closed && escapeLine(whenAndWho(closed))],
      ['mode', mode],
      ['copy of', forkedFrom && forkText(forkedFrom)],
      ['branch of', branchOf && `worker ${branchOf.workerId}, up to position ${branchOf.position} of its history`],
      ['waits for', finishedAt === null && waitsFor ? escapeLine(waitsFor) : null],
      ['created', momentAndAge(createdAt)],
      ['finished', finishedAt === null ? null : formatMoment(finishedAt) + lasted(createdAt, finishedAt)],
      ['limits', limitNames.map((name) => `${name} ${limits[name]}`).join(', ')],
      ['approvals', approvalText(approval)],
      ['share of turns', turnShareText(session.turnShare)],
      ['workers', String(session.usage.workers)],
      ['usage', usageText(session.usage)],
      ['cost', costText(session.usage)],
      ['context', tokens && contextText(tokens)],
      ['last run', result && `${result.run}, ${result.status}`],
      ['last words', root?.lastWords ? escapeLine(root.lastWords) : null],
      ['failure', failure && escapeLine(failureSentence(failure))],
      ...holdupFacts(session, workers, now),
    ],
    page,
  )
}

function reportLines(report: Report, tokens: TokenReport | null, verbose: boolean | undefined, page: Page): string[] {
  const { session, workers } = report
  const columns = [
    ...workerColumns(workers, { alreadyShown: session.failure, verbose }),
    ...waitsColumn<WorkerReport>(workers, (worker) => worker, Date.now(), session.rootId),
  ]
  return [...sessionFacts(report, page, tokens), '', ...tableLines(workers, columns, page)]
}

function pauseText({ at, by, why }: NonNullable<Report['session']['paused']>): string {
  return `since ${whenAndWho({ at, by })}${why === undefined ? '' : `: ${why}`}`
}

function whenAndWho({ at, by }: NonNullable<Report['session']['closed']>): string {
  return `${momentAndAge(at)}${by === undefined ? '' : `, by ${by}`}`
}

function forkText({ sessionId, at, dryRun }: NonNullable<Report['session']['forkedFrom']>): string {
  return `${sessionId}, as it was ${momentAndAge(at)}${dryRun ? '; a dry run' : ''}`
}

/** Null for a session that has no other than all have by default. */
function turnShareText({ weight, priority }: TurnShare): string | null {
  if (weight === defaultTurnShare.weight && priority === defaultTurnShare.priority) return null
  return `weight ${weight}, priority ${priority}`
}

/** Null for a session that says nothing of approvals. */
function approvalText({
  policy,
  trusted,
  whenNobodyAnswers,
  approvalMs,
}: Report['session']['approval']): string | null {
  const parts = [
    policy === defaultApproval.policy ? [] : [policy],
    trusted.length === 0 ? [] : [`trusts ${trusted.join(', ')}`],
    whenNobodyAnswers === defaultApproval.whenNobodyAnswers
      ? []
      : [`${whenNobodyAnswers} if nobody answers${approvalMs === null ? '' : ` within ${formatDuration(approvalMs)}`}`],
  ].flat()
  return parts.length === 0 ? null : parts.join('; ')
}

/** What the root waits for has a line of its own, and is left out here. */
function holdupFacts({ rootId, holdups }: Report['session'], workers: readonly WorkerReport[], now: number): Fact[] {
  const root = workers.find(({ id }) => id === rootId)
  const others = holdups.filter(({ workerId, waitsFor }) => workerId !== rootId || waitsFor !== root?.waitsFor)
  return [
    ...holdupTexts(others, workers, now).map(
      (text, index) => [index === 0 ? 'held up' : '', escapeLine(text)] as const,
    ),
    ...helpfulCommands(holdups).map((command, index) => [index === 0 ? 'to go on' : '', command] as const),
  ]
}

function lasted(createdAt: number | null, finishedAt: number): string {
  return createdAt === null ? '' : `, after ${formatDuration(finishedAt - createdAt)}`
}
