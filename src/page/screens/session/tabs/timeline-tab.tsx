/** Duty: what each worker of the session did when, as bars: waiting for a slot, model, tool, children, a person, lost turns. */
import { type ReactNode, useContext, useMemo } from 'react'
import type { WorkerReport } from '../../../../client/report.ts'
import type { TimelineBar } from '../../../../client/session/timeline.ts'
import { formatDuration } from '../../../../words/duration.ts'
import { escapeLine } from '../../../../words/text/escape.ts'
import { useTimeline } from '../../../api/queries.ts'
import { useNow } from '../../../clock.ts'
import { Empty, Waiting } from '../../../parts/state/empty.tsx'
import { Line, Text } from '../../../parts/text/text.tsx'
import { SessionContext } from '../session-context.ts'
import { type BarRow, rowsOf } from './timeline-rows.ts'

const rowsMost = 200
const names: Readonly<Record<TimelineBar['kind'], string>> = {
  queue: 'waits for a slot',
  working: 'works',
  model: 'model',
  tool: 'tool',
  children: 'waits for children',
  person: 'waits for somebody',
  timer: 'timer',
  retry: 'waits for a retry',
  lost: 'lost: its node died, and another one did it again',
}

export function TimelineTab({ worker }: { readonly worker: WorkerReport }): ReactNode {
  const { id, report } = useContext(SessionContext)
  const query = useTimeline(id)
  const rows = useMemo(
    () => rowsOf(query.data?.bars ?? [], report?.workers ?? [], worker.id),
    [query.data, report, worker.id],
  )
  const timeline = query.data
  return (
    <div className="tab-body wide-body">
      <Waiting query={query} what="the timeline" />
      {timeline?.isComplete === false && (
        <p className="muted">The first events of this session are not kept any more.</p>
      )}
      {timeline !== undefined && rows.length === 0 && <Empty>Nothing of it is among the stored events.</Empty>}
      {timeline?.from != null && rows.length > 0 && (
        <Bars rows={rows.slice(0, rowsMost)} from={timeline.from} to={timeline.to ?? timeline.from} />
      )}
      {rows.length > rowsMost && (
        <p className="muted">
          These are {rowsMost} of {rows.length} workers: choose one in the tree to see those below it.
        </p>
      )}
      {rows.length > 0 && <Legend />}
    </div>
  )
}

function Bars({
  rows,
  from,
  to,
}: {
  readonly rows: readonly BarRow[]
  readonly from: number
  readonly to: number
}): ReactNode {
  const now = useNow()
  const isOpen = rows.some(({ bars }) => bars.some((bar) => bar.to === null))
  const end = Math.max(isOpen ? now : to, from + 1)
  const at = (moment: number) => (100 * (Math.max(from, Math.min(end, moment)) - from)) / (end - from)
  return (
    <div className="timeline">
      {rows.map(({ worker, bars }) => (
        <div key={worker.id} className="timeline-row">
          <Line text={worker.name} className="timeline-name" />
          <div className="timeline-bars">
            {bars.map((bar, index) => {
              const until = bar.to ?? end
              const words = `${names[bar.kind]}${bar.label === null ? '' : ` (${bar.label})`}, ${formatDuration(until - bar.from)}`
              return (
                <span
                  // biome-ignore lint/suspicious/noArrayIndexKey: bars of a worker keep their order
                  key={index}
                  className="timeline-bar"
                  data-kind={bar.kind}
                  style={{ left: `${at(bar.from)}%`, width: `${Math.max(0.2, at(until) - at(bar.from))}%` }}
                  title={escapeLine(words)}
                >
                  <span className="spoken">
                    <Text text={words} isLine />
                  </span>
                </span>
              )
            })}
          </div>
        </div>
      ))}
      <div className="timeline-scale muted number">
        <span>0</span>
        <span>{formatDuration((end - from) / 2)}</span>
        <span>{formatDuration(end - from)}</span>
      </div>
    </div>
  )
}

function Legend(): ReactNode {
  return (
    <ul className="legend">
      {Object.entries(names).map(([kind, name]) => (
        <li key={kind}>
          <span className="timeline-bar" data-kind={kind} aria-hidden="true" /> {name}
        </li>
      ))}
    </ul>
  )
}
