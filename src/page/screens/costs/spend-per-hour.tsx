/** Duty: what model calls cost in each of the last 24 hours, as bars; the table by hour says the same in numbers. */
import type { ReactNode } from 'react'
import type { UsageRow } from '../../../client/usage.ts'
import { costText, tokensText } from '../../../words/amounts.ts'
import { formatTime } from '../../../words/duration.ts'
import { useUsage } from '../../api/queries.ts'
import { useNow } from '../../clock.ts'

const msOfHour = 3_600_000
const shownHours = 24

const nothing = { modelCalls: 0, inputTokens: 0, outputTokens: 0, costMicroUsd: 0, unpricedModelCalls: 0 }

function clockText(at: number): string {
  return formatTime(at).slice(0, 5)
}

/** The rows, by the beginning of the hour. */
function useHours(): ReadonlyMap<number, UsageRow> | undefined {
  const rows = useUsage('hour').data?.usage
  return rows && new Map(rows.map((row) => [Date.parse(row.hour ?? ''), row]))
}

export function useSpentThisHour(): UsageRow | undefined {
  const hours = useHours()
  const now = Math.floor(useNow() / msOfHour) * msOfHour
  return hours && (hours.get(now) ?? nothing)
}

export function SpendPerHour(): ReactNode {
  const hours = useHours()
  const last = Math.floor(useNow() / msOfHour)
  if (hours === undefined || hours.size === 0) return null
  const rows = Array.from({ length: shownHours }, (_, index) => {
    const at = (last - shownHours + 1 + index) * msOfHour
    return { at, row: hours.get(at) ?? nothing }
  })
  const most = Math.max(...rows.map(({ row }) => row.costMicroUsd))
  const spent = rows.reduce((sum, { row }) => sum + row.costMicroUsd, 0)
  const unpriced = rows.reduce((sum, { row }) => sum + row.unpricedModelCalls, 0)
  return (
    <figure className="box" aria-label="Spend per hour">
      <div className="box-head">
        <h2>Spend per hour</h2>
        <span className="muted number">
          {costText({ costMicroUsd: spent, unpricedModelCalls: unpriced })} in 24 hours
          {most > 0 && `, at most ${costText({ costMicroUsd: most })} an hour`}
        </span>
      </div>
      <div className="hours" aria-hidden="true">
        {rows.map(({ at, row }) => (
          <span
            key={at}
            className="hour"
            title={`${clockText(at)}  ${costText(row)}, ${tokensText(row.inputTokens + row.outputTokens)} tokens`}
          >
            <span style={{ height: `${most === 0 ? 0 : (row.costMicroUsd / most) * 100}%` }} />
          </span>
        ))}
      </div>
      <div className="hours-scale muted number" aria-hidden="true">
        {[0, 6, 12, 18, 23].map((index) => (
          <span key={index}>{index === 23 ? 'now' : clockText(rows[index]?.at ?? 0)}</span>
        ))}
      </div>
    </figure>
  )
}
