/** `troupe usage`: what model calls used and cost, by day or hour, kind and model. */
import type { Command } from 'commander'
import { type UsagePart, type UsageRow, usageParts } from '../../client/usage.ts'
import { costText, tokensText } from '../../words/amounts.ts'
import { withTroupe } from '../host/connection.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags, someOf, wholeNumber } from '../options.ts'
import { pageOf, print, printJson } from '../terminal/output.ts'
import { type Column, tableLines } from '../view/table.ts'
import { AwayPartitions } from './away-partitions.ts'

interface UsageFlags extends ConnectionFlags {
  readonly by?: readonly UsagePart[]
  readonly days?: number
  readonly hours?: number
}

export function addUsageCommand(program: Command): void {
  const command = program
    .command('usage')
    .description('what model calls used and cost, by day or hour, kind and model')
    .option(
      '--by <parts>',
      `what the rows are of: ${usageParts.join(', ')}, or several with commas; default: kind,model`,
      someOf(usageParts),
    )
    .option('--days <n>', 'how many days, today among them, up to 400; default: 30', wholeNumber(1))
    .option('--hours <n>', 'how many hours in place of days, up to 744; default with --by hour: 24', wholeNumber(1))
  addConnectionOptions(command)
  addExamples(command, [
    ['troupe usage', 'of the last 30 days, by kind and model'],
    ['troupe usage --by day --days 7', 'what each day of the last week cost'],
    ['troupe usage --by hour', 'what each of the last 24 hours cost'],
    ["troupe usage --json | jq -s 'map(.costMicroUsd) | add / 1e6'", 'dollars in 30 days'],
  ])
  command.addHelpText(
    'after',
    '\nDays and hours are those of UTC.\nEach call costs what its model cost at that time. A call whose price nobody knows\ncosts nothing here and is counted apart: set its price with --prices of the node.',
  )
  command.action(usage)
}

async function usage(flags: UsageFlags): Promise<void> {
  const { by = ['kind', 'model'], days, hours } = flags
  const away = new AwayPartitions()
  const rows = await withTroupe(flags, 'look', (troupe) => troupe.usage({ by, days, hours, onAway: away.note }))
  const { failure } = away
  if (flags.json) for (const row of rows) printJson(row)
  else if (rows.length === 0 && failure === undefined) print('No model was called in that time.')
  else for (const line of tableLines(rows, columnsOf(by), pageOf())) print(line)
  if (failure !== undefined) throw failure
}

function columnsOf(by: readonly UsagePart[]): Column<UsageRow>[] {
  return [
    ...by.map((part): Column<UsageRow> => ({ header: part, value: (row) => row[part] ?? '' })),
    { header: 'calls', value: ({ modelCalls }) => modelCalls, align: 'right' },
    { header: 'tokens in', value: ({ inputTokens }) => tokensText(inputTokens), align: 'right' },
    { header: 'out', value: ({ outputTokens }) => tokensText(outputTokens), align: 'right' },
    { header: 'cost', value: (row) => costText(row) ?? '', align: 'right' },
  ]
}
