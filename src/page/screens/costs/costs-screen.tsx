/** Duty: the screen of what model calls used and cost in the last 30 days: by kind, model or day. */
import { getRouteApi } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { costText, tokensText } from '../../../cli/view/amounts.ts'
import type { UsageRow } from '../../../client/usage.ts'
import { useUsage } from '../../api/queries.ts'
import { useTitle } from '../../app/title.tsx'
import { Empty, Waiting } from '../../parts/empty.tsx'
import { Line } from '../../parts/text.tsx'

const route = getRouteApi('/costs')
const ways = ['kind', 'model', 'day'] as const
type Way = (typeof ways)[number]

export function CostsScreen(): ReactNode {
  useTitle('Costs')
  const search = route.useSearch()
  const by = ways.find((way) => way === search.by) ?? 'kind'
  const navigate = route.useNavigate()
  const query = useUsage(by)
  const rows = query.data?.usage ?? []
  return (
    <div className="screen-body">
      <div className="pills">
        {ways.map((way) => (
          <button
            key={way}
            type="button"
            className="pill"
            aria-pressed={by === way}
            onClick={() => void navigate({ search: { by: way }, replace: true })}
          >
            by {way}
          </button>
        ))}
      </div>
      <div className="box">
        <Waiting query={query} what="costs" />
        {query.data !== undefined && rows.length === 0 && (
          <Empty commands={['troupe demo']}>No model was asked yet.</Empty>
        )}
        {rows.length > 0 && <UsageTable rows={rows} by={by} />}
      </div>
    </div>
  )
}

function UsageTable({ rows, by }: { readonly rows: readonly UsageRow[]; readonly by: Way }): ReactNode {
  const most = Math.max(1, ...rows.map(tokensOf))
  return (
    <div className="table-wrap">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{by}</th>
            <th scope="col" className="wide" aria-label="Part" />
            <th scope="col" className="number">
              Tokens in
            </th>
            <th scope="col" className="number">
              Tokens out
            </th>
            <th scope="col" className="number">
              Model calls
            </th>
            <th scope="col" className="number">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row[by]}>
              <td>
                <Line text={row[by] ?? ''} />
              </td>
              <td className="wide meter-cell">
                <span className="meter" aria-hidden="true">
                  <span style={{ width: `${(tokensOf(row) / most) * 100}%` }} />
                </span>
              </td>
              <td className="number">{tokensText(row.inputTokens)}</td>
              <td className="number">{tokensText(row.outputTokens)}</td>
              <td className="number">{row.modelCalls}</td>
              <td className="number">{costText(row) ?? '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function tokensOf({ inputTokens, outputTokens }: UsageRow): number {
  return inputTokens + outputTokens
}
