/** `troupe audit [session]`: checks that every accepted message is accounted for, and that the stored data is consistent. */
import type { Command } from 'commander'
import type { AuditProgress, AuditReport } from '../../audit/audit.ts'
import type { MessageCounts } from '../../audit/counts.ts'
import type { AuditFinding } from '../../audit/finding.ts'
import { count } from '../../words/amounts.ts'
import { wrapText } from '../../words/text/text-width.ts'
import { endWith, exitCodes, Unanswered } from '../exit-code.ts'
import { withTroupe } from '../host/connection.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags, duration } from '../options.ts'
import { columnsOf, pageOf, paint, print, printJson, safe } from '../terminal/output.ts'
import { ProgressLine } from '../terminal/progress-line.ts'
import { type Column, tableLines } from '../view/table.ts'
import { eitherId } from './verb.ts'

interface AuditFlags extends ConnectionFlags {
  readonly since?: number | 'last'
  readonly record?: boolean
}

export function addAuditCommand(program: Command): void {
  const command = program
    .command('audit')
    .description('account for every accepted message, and check that the stored data is consistent')
    .argument('[session]', 'id of a session, or of one of its workers; default: all sessions')
    .option(
      '--since <duration>',
      'without sessions that had ended so long ago, or "last": before the last recorded audit, if that had no finding',
      (text) => (text === 'last' ? text : duration(text)),
    )
    .option('--record', 'keep how it ended for the metrics, where an alert finds it; of all sessions, or since "last"')
  addConnectionOptions(command)
  addExamples(command, [
    ['troupe audit', 'all sessions; nodes may keep working'],
    ['troupe audit 0199…', 'one session'],
    ['troupe audit --record', 'every night, for the alert on messages that are not accounted for'],
    ['troupe audit --record --since last', 'every hour: only what may have changed'],
    ['troupe audit --json | jq -c \'select(.type == "finding")\'', 'for a monitor'],
  ])
  command.addHelpText('after', exitCodesHelp)
  command.action(async (sessionId: string | undefined, flags: AuditFlags) => {
    const report = await reportOf(sessionId, flags)
    if (flags.json) printObjects(report)
    else show(report)
    endWith(report.findings.length > 0 ? exitCodes.failed : exitCodes.ok)
  })
}

const exitCodesHelp = `
Exit codes: 0 no finding, 1 a finding. Without a result:
2 the command is wrong, or nothing was ever started in the namespace,
66 no such session, 69 Redis is unavailable, 70 the audit itself failed.`

async function reportOf(sessionId: string | undefined, flags: AuditFlags): Promise<AuditReport> {
  try {
    using progress = new ProgressLine()
    const onProgress = ({ sessions, workers, of }: AuditProgress) =>
      progress.update(
        of === undefined
          ? `${count(sessions, 'session')} with ${count(workers, 'worker')} checked`
          : `${sessions} of ${count(of, 'session')} checked, with ${count(workers, 'worker')}`,
      )
    const since = typeof flags.since === 'number' ? Date.now() - flags.since : flags.since
    return await withTroupe(flags, flags.record ? 'change' : 'look', async (troupe) => {
      const wanted = sessionId === undefined ? undefined : await eitherId(troupe, sessionId, 'session')
      return troupe.audit({ sessionId: wanted, onProgress, since, record: flags.record })
    })
  } catch (thrown) {
    throw new Unanswered(thrown)
  }
}

function printObjects({ findings, ...facts }: AuditReport): void {
  printJson({ type: 'audit', ...facts })
  for (const finding of findings) printJson({ type: 'finding', ...finding })
}

type Row = MessageCounts & { readonly what: string }

const names = ['accepted', 'completed', 'failed', 'cancelled', 'dead', 'waiting', 'active', 'removed'] as const
const columns: Column<Row>[] = [
  { header: 'messages', value: ({ what }) => what },
  ...names.map((name): Column<Row> => ({ header: name, value: (row) => row[name], align: 'right' })),
]

function show({ sessions, workers, removed, since, counts, findings }: AuditReport): void {
  const rows = Object.entries(counts).map(([what, row]) => ({ ...row, what }))
  for (const line of tableLines(rows, columns, pageOf())) print(line)
  print('')
  for (const finding of findings) showFinding(finding)
  if (findings.length > 0) print('')
  const part =
    since === undefined ? '' : `; sessions that had ended before ${new Date(since).toISOString()} were not looked at`
  const pruned = removed.sessions === 0 ? '' : `, and ${count(removed.sessions, 'session')} that were removed`
  print(
    `${count(findings.length, 'finding')} in ${count(sessions, 'session')} with ${count(workers, 'worker')}${pruned}${part}`,
  )
  if (findings.length > 0)
    print(
      paint(
        'dim',
        'docs/protocol.md, section Invariants, explains the names that begin with I; `key` means that another program wrote a key. Keep the data of Redis and the `troupe worker history` of these workers for an analysis.',
      ),
    )
}

const margin = 5

function showFinding({ invariant, workerId, sessionId, what }: AuditFinding): void {
  const who = workerId === null ? '' : `worker ${workerId}${sessionId === null ? '' : ` of session ${sessionId}`}: `
  const [first = '', ...more] = wrapText(safe(`${who}${what}`), columnsOf(process.stdout) - margin)
  print(`${paint('red', invariant.padEnd(margin - 1))} ${first}`)
  for (const line of more) print(`${' '.repeat(margin)}${line}`)
}
