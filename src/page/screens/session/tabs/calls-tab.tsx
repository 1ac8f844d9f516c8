/** Duty: the calls of a worker as a ledger: tool, arguments, how it ended, how long it took. */
import { type ReactNode, useCallback, useContext, useMemo } from 'react'
import type { WorkerReport } from '../../../../client/report.ts'
import { formatDuration } from '../../../../words/duration.ts'
import { type Column, Table } from '../../../parts/list/table.tsx'
import { Empty } from '../../../parts/state/empty.tsx'
import { Line } from '../../../parts/text/text.tsx'
import { TimeOfDay } from '../../../parts/text/time.tsx'
import { CallCard } from '../conversation/call-card.tsx'
import { type CallItem, conversationOf } from '../conversation/conversation.ts'
import { useChanges } from '../live-session.ts'
import { SessionContext } from '../session-context.ts'
import { useHistory } from '../use-history.ts'
import { HistoryProblem } from './history-problem.tsx'

interface Made {
  readonly call: CallItem
  readonly at: number
  readonly run: number
}

export function CallsTab({ worker }: { readonly worker: WorkerReport }): ReactNode {
  const { live } = useContext(SessionContext)
  const nothing = useCallback(() => {}, [])
  const history = useHistory(worker.id, worker.historyLength, useChanges(live, worker.id), nothing)
  const calls = useMemo(() => callsOf(history.items), [history.items])
  return (
    <div className="tab-body wide-body">
      <HistoryProblem history={history} />
      {calls.length === 0 && !history.isLoading && history.error === null && (
        <Empty>
          {history.hasEarlier ? 'No tool was called in the newest entries.' : 'This worker has called no tool.'}
        </Empty>
      )}
      {calls.length > 0 && <Counts calls={calls} />}
      {calls.toReversed().map(({ call, at, run }) => (
        <div key={`${run} ${call.id}`} className="ledger-row">
          <TimeOfDay at={at} />
          <span className="muted number">run {run}</span>
          <div className="ledger-call">
            <CallCard call={call} />
          </div>
        </div>
      ))}
      {history.hasEarlier && (
        <button type="button" className="button" onClick={history.loadEarlier}>
          Load earlier
        </button>
      )}
    </div>
  )
}

function callsOf(items: Parameters<typeof conversationOf>[0]): Made[] {
  return conversationOf(items).flatMap((item): Made[] => {
    const head = { at: item.at, run: item.run }
    if (item.type === 'call') return [{ ...head, call: item.call }]
    return item.type === 'reply' ? item.calls.map((call) => ({ ...head, call })) : []
  })
}

type MadeOfTool = readonly [tool: string, made: readonly Made[]]

const countColumns: readonly Column<MadeOfTool>[] = [
  { head: 'Tool', cell: ([tool]) => <Line text={tool} className="mono" /> },
  { head: 'Calls', cell: ([, made]) => made.length, className: 'number' },
  {
    head: 'Failed',
    cell: ([, made]) => made.filter(({ call }) => call.result !== null && call.result.status !== 'ok').length,
    className: 'number',
  },
  { head: 'Open', cell: ([, made]) => made.filter(({ call }) => call.result === null).length, className: 'number' },
  { head: 'Longest', cell: ([, made]) => longest(made), className: 'number' },
]

function Counts({ calls }: { readonly calls: readonly Made[] }): ReactNode {
  const rows = [...Map.groupBy(calls, ({ call }) => call.toolName)]
  return <Table name="Calls of tools" columns={countColumns} rows={rows} keyOf={([tool]) => tool} />
}

function longest(made: readonly Made[]): string {
  const times = made.flatMap(({ call, at }) => (call.result === null ? [] : [call.result.at - (call.startedAt ?? at)]))
  return times.length === 0 ? '–' : formatDuration(Math.max(...times))
}
