/** Duty: how workers are named and listed, the same wherever they are shown. */
import type { WorkerReport } from '../../client/report.ts'
import type { TokenReport } from '../../client/session/conversation/tokens.ts'
import type { Failure } from '../../core/worker/run/failure.ts'
import type { UsageReport } from '../../core/worker/run/usage.ts'
import { count, tokensText } from '../../words/amounts.ts'
import { waitingText } from '../../words/holdup-text.ts'
import { failureCause } from '../../words/lines/message-line.ts'
import { nameAndKind } from '../../words/worker-name.ts'
import { stateStyle } from './page.ts'
import type { Column } from './table.ts'

/** The widest failure in a table. `troupe worker show` and --json give it whole. */
const failureColumnsMax = 100

interface WorkerTable {
  /** A failure that is shown above the table already. */
  readonly alreadyShown?: Failure | null
  /** True: the states of the design are shown, too. */
  readonly verbose?: boolean | undefined
}

export function workerColumns(
  workers: readonly WorkerReport[],
  { alreadyShown = null, verbose = false }: WorkerTable = {},
): Column<WorkerReport>[] {
  return [
    { header: 'id', value: ({ id }) => id },
    { header: 'worker', value: ({ name, kind }) => nameAndKind(name, kind), shrinksTo: 10 },
    stateColumn<WorkerReport>((worker) => worker),
    ...(verbose ? designColumns : []),
    ...usageColumns<WorkerReport>(workers, (worker) => worker),
    failureColumn<WorkerReport>((worker) => worker, alreadyShown),
  ]
}

/** The states of the design, for whoever compares the two. --json always has them. */
const designColumns: Column<WorkerReport>[] = [
  { header: 'lifecycle', value: ({ lifecycle }) => lifecycle, shrinksTo: 9 },
  { header: 'fine state', value: ({ state }) => state, shrinksTo: 10 },
  { header: 'run', value: ({ run }) => run, shrinksTo: 8 },
]

/** The model usage of agents; no columns if no worker used a model. */
export function usageColumns<Row>(rows: readonly Row[], of: (row: Row) => WorkerReport): Column<Row>[] {
  if (!rows.some((row) => of(row).usage.modelCalls !== undefined)) return []
  const tokens = (number: number | undefined) => (number === undefined ? '' : tokensText(number))
  return [
    {
      header: 'iterations',
      value: (row) => (of(row).usage.modelCalls === undefined ? '' : of(row).iterations),
      align: 'right',
      leftOut: 1,
    },
    { header: 'tokens in', value: (row) => tokens(of(row).usage.inputTokens), align: 'right', leftOut: 1 },
    { header: 'out', value: (row) => tokens(of(row).usage.outputTokens), align: 'right', leftOut: 1 },
  ]
}

/** `12 model calls, 30 tool calls; 12.3k tokens in (1.2k from the cache), 678 out`; null if no model was called. */
export function usageText(usage: Partial<UsageReport>): string | null {
  const { modelCalls = 0, inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage
  const { failedModelCalls = 0, toolCalls = 0, reasoningTokens = 0 } = usage
  if (modelCalls + failedModelCalls === 0) return null
  const read = `${tokensText(inputTokens)} tokens in${cachedText(cacheReadTokens, cacheWriteTokens)}`
  const said = `${tokensText(outputTokens)} out${partsText([[reasoningTokens, 'reasoning']])}`
  const failed = failedModelCalls === 0 ? '' : ` and ${failedModelCalls} that failed`
  const tools = toolCalls === 0 ? '' : `, ${count(toolCalls, 'tool call')}`
  return `${count(modelCalls, 'model call')}${failed}${tools}; ${read}, ${said}`
}

/** `12.3k tokens, 6.2 % of the 200k of openai/gpt-5`; null before its first reply. */
export function contextText({ context: { tokens, model, window, share } }: TokenReport): string | null {
  if (model === null) return null
  const of =
    window === null || share === null ? `of ${model}` : `${percent(share)} of the ${tokensText(window)} of ${model}`
  return `${tokensText(tokens)} tokens, ${of}`
}

/** `1.2k tokens in (1k from the cache, 100 into it), 34 out (10 reasoning)`; null before its first reply. */
export function lastUsageText({ last }: TokenReport): string | null {
  if (last === null) return null
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = last
  const read = `${tokensText(inputTokens)} tokens in${cachedText(cacheReadTokens, cacheWriteTokens)}`
  return `${read}, ${tokensText(outputTokens)} out${partsText([[reasoningTokens, 'reasoning']])}`
}

function cachedText(read: number, written: number): string {
  return partsText([
    [read, 'from the cache'],
    [written, 'into the cache'],
  ])
}

function partsText(parts: readonly (readonly [tokens: number, where: string])[]): string {
  const texts = parts.flatMap(([tokens, where]) => (tokens === 0 ? [] : [`${tokensText(tokens)} ${where}`]))
  return texts.length === 0 ? '' : ` (${texts.join(', ')})`
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1).replace(/\.0$/, '')} %`
}

export function stateColumn<Row>(of: (row: Row) => WorkerReport): Column<Row> {
  return {
    header: 'state',
    value: (row) => of(row).activity,
    shrinksTo: 9,
    style: (row) => stateStyle(of(row).activity),
  }
}

/** What workers wait for, and since when; no column if none of them waits. `but`: a worker whose wait is shown above the table. */
export function waitsColumn<Row>(
  rows: readonly Row[],
  of: (row: Row) => WorkerReport,
  now: number,
  but?: string,
): Column<Row>[] {
  if (!rows.map(of).some(({ id, waitsFor }) => id !== but && waitsFor !== null)) return []
  return [{ header: 'waits for', value: (row) => waitText(of(row), now), shrinksTo: 9, leftOut: 2 }]
}

/** `a timer, for 12s`; null for a worker that does not wait. */
export function waitText({ waitsFor, holdup }: WorkerReport, now: number): string | null {
  return waitsFor === null || holdup === null ? null : waitingText(holdup, now)
}

/** How the last run of a worker failed. */
export function failureColumn<Row>(of: (row: Row) => WorkerReport, alreadyShown: Failure | null = null): Column<Row> {
  const text = ({ lastFailure }: WorkerReport) => {
    if (lastFailure === null) return ''
    return lastFailure.message === alreadyShown?.message ? 'as above' : failureCause(lastFailure)
  }
  return { header: 'failure', value: (row) => text(of(row)), shrinksTo: 9, atMost: failureColumnsMax, leftOut: 3 }
}
