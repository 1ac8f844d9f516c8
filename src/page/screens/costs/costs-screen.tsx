/** Duty: the screen of what was used: tokens, calls and costs by kind, model, session or day. */
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { tokensText } from '../../../cli/view/amounts.ts'
import { ApiError } from '../../api/http.ts'
import { type UsageRow, useUsage } from '../../api/queries.ts'
import { useTitle } from '../../app/title.tsx'
import { Empty, Waiting } from '../../parts/empty.tsx'
import { Line } from '../../parts/text.tsx'

const route = getRouteApi('/costs')
const ways = ['kind', 'model', 'session', 'day'] as const

export function CostsScreen(): ReactNode {
  useTitle('Costs')
  const { by = 'kind' } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useUsage(by)
  const isMissing = query.error instanceof ApiError && query.error.status === 404
  const rows = query.data?.rows ?? []
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
        {isMissing ? (
          <Empty>This server counts no costs. The head of each session shows what it has used.</Empty>
        ) : (
          <Waiting query={query} what="costs" />
        )}
        {query.data !== undefined && rows.length === 0 && (
          <Empty commands={['troupe demo']}>No model was asked yet.</Empty>
        )}
        {rows.length > 0 && <UsageTable rows={rows} by={by} />}
      </div>
    </div>
  )
}

function UsageTable({ rows, by }: { readonly rows: readonly UsageRow[]; readonly by: string }): ReactNode {
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
            <tr key={JSON.stringify(row.by)}>
              <td>
                <Name row={row} by={by} />
              </td>
              <td className="wide meter-cell">
                <span className="meter" aria-hidden="true">
                  <span style={{ width: `${(tokensOf(row) / most) * 100}%` }} />
                </span>
              </td>
              <td className="number">{tokensText(row.usage.inputTokens ?? 0)}</td>
              <td className="number">{tokensText(row.usage.outputTokens ?? 0)}</td>
              <td className="number">{row.usage.modelCalls ?? 0}</td>
              <td className="number">{costText(row)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function tokensOf({ usage }: UsageRow): number {
  return (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
}

function Name({ row, by }: { readonly row: UsageRow; readonly by: string }): ReactNode {
  const name = row.by[by] ?? ''
  if (by === 'session')
    return (
      <Link to="/sessions/$id" params={{ id: name }}>
        <Line text={row.by.name ?? name} />
      </Link>
    )
  return <Line text={name} />
}

const microUsd = 1_000_000

/** What is not known is named, and is never zero. */
function costText({ costMicroUsd, unknownCalls = 0 }: UsageRow): string {
  if (costMicroUsd === undefined || costMicroUsd === null) return 'unknown'
  const amount = `$${(costMicroUsd / microUsd).toFixed(costMicroUsd < microUsd ? 4 : 2)}`
  return unknownCalls > 0 ? `${amount} + unknown` : amount
}
