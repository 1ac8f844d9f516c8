/** Duty: the calls of a worker as a ledger: tool, arguments, how it ended, how long it took. */
import { type ReactNode, useCallback, useContext, useMemo } from 'react'
import { formatDuration } from '../../../../cli/view/duration.ts'
import type { WorkerReport } from '../../../../client/report.ts'
import { Empty } from '../../../parts/empty.tsx'
import { Line } from '../../../parts/text.tsx'
import { TimeOfDay } from '../../../parts/time.tsx'
import { CallCard } from '../conversation/call-card.tsx'
import { type CallItem, conversationOf } from '../conversation/conversation.ts'
import { useChanges } from '../live-session.ts'
import { SessionContext } from '../session-context.ts'
import { useHistory } from '../use-history.ts'

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
      {calls.length === 0 && !history.isLoading && <Empty>This worker has called no tool.</Empty>}
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

function Counts({ calls }: { readonly calls: readonly Made[] }): ReactNode {
  return (
    <div className="table-wrap">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Tool</th>
            <th scope="col" className="number">
              Calls
            </th>
            <th scope="col" className="number">
              Failed
            </th>
            <th scope="col" className="number">
              Open
            </th>
            <th scope="col" className="number">
              Longest
            </th>
          </tr>
        </thead>
        <tbody>
          {[...Map.groupBy(calls, ({ call }) => call.toolName)].map(([tool, made]) => (
            <tr key={tool}>
              <td className="mono">
                <Line text={tool} />
              </td>
              <td className="number">{made.length}</td>
              <td className="number">
                {made.filter(({ call }) => call.result !== null && call.result.status !== 'ok').length}
              </td>
              <td className="number">{made.filter(({ call }) => call.result === null).length}</td>
              <td className="number">{longest(made)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function longest(made: readonly Made[]): string {
  const times = made.flatMap(({ call, at }) => (call.result === null ? [] : [call.result.at - (call.startedAt ?? at)]))
  return times.length === 0 ? '–' : formatDuration(Math.max(...times))
}
