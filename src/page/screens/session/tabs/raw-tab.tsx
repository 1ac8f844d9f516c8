/** Duty: what the API says of a worker, and its history entries, as JSON. */
import { type ReactNode, useCallback, useContext } from 'react'
import type { WorkerReport } from '../../../../client/report.ts'
import { JsonText } from '../../../parts/text/json.tsx'
import { useChanges } from '../live-session.ts'
import { SessionContext } from '../session-context.ts'
import { useHistory } from '../use-history.ts'
import { HistoryProblem } from './history-problem.tsx'

export function RawTab({ worker }: { readonly worker: WorkerReport }): ReactNode {
  const { live } = useContext(SessionContext)
  const nothing = useCallback(() => {}, [])
  const history = useHistory(worker.id, worker.historyLength, useChanges(live, worker.id), nothing)
  return (
    <div className="tab-body">
      <details className="call">
        <summary>Report of the worker</summary>
        <div className="call-body">
          <JsonText value={worker} />
        </div>
      </details>
      <HistoryProblem history={history} />
      {history.items.toReversed().map(({ position, entry }) => (
        <details key={position} className="call">
          <summary>
            <span className="mono">{entry.type}</span> <span className="item-place">#{position}</span>
          </summary>
          <div className="call-body">
            <JsonText value={entry} />
          </div>
        </details>
      ))}
      {history.hasEarlier && (
        <button type="button" className="button" onClick={history.loadEarlier}>
          Load earlier
        </button>
      )}
    </div>
  )
}
