/** Duty: the screen of what model calls used and cost: of each of the last 24 hours; and in the last 30 days by kind, model or day. */

import { getRouteApi } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { UsageRow } from '../../../client/usage.ts'
import { costText, tokensText } from '../../../words/amounts.ts'
import { useUsage } from '../../api/queries.ts'
import { Pills } from '../../parts/list/pills.tsx'
import { type Column, Table } from '../../parts/list/table.tsx'
import { Empty, Lacking, Waiting } from '../../parts/state/empty.tsx'
import { Line } from '../../parts/text/text.tsx'
import { useTitle } from '../../parts/text/title.tsx'
import { hourText } from './hour-text.ts'
import { SpendPerHour } from './spend-per-hour.tsx'

const route = getRouteApi('/costs')
const ways = ['kind', 'model', 'day', 'hour'] as const
type Way = (typeof ways)[number]

export function CostsScreen(): ReactNode {
  useTitle('Costs')
  const search = route.useSearch()
  const by = ways.find((way) => way === search.by) ?? 'kind'
  const navigate = route.useNavigate()
  const query = useUsage(by)
  // Until they come, the rows are those of another way: they have no name in this one.
  const usage = query.isPlaceholderData ? undefined : query.data?.usage
  const rows = usage ?? []
  const { away = [] } = query.data ?? {}
  return (
    <div className="screen-body">
      <SpendPerHour />
      <div className="pills">
        <Pills
          of={ways}
          chosen={by}
          prefix="by "
          onChoose={(way = by) => void navigate({ search: { by: way }, replace: true })}
        />
        <span className="muted">
          {by === 'hour' ? 'in the last 24 hours' : `in the last 30 days${by === 'day' ? ', by UTC' : ''}`}
        </span>
      </div>
      <div className="box">
        <Waiting query={{ ...query, data: usage }} what="costs" />
        <Lacking away={away} />
        {usage?.length === 0 && away.length === 0 && <Empty commands={['troupe demo']}>No model was asked yet.</Empty>}
        {rows.length > 0 && (
          <Table name="Costs" columns={columnsOf(rows, by)} rows={rows} keyOf={(row) => row[by] ?? ''} />
        )}
      </div>
    </div>
  )
}

function columnsOf(rows: readonly UsageRow[], by: Way): Column<UsageRow>[] {
  const most = Math.max(1, ...rows.map(tokensOf))
  return [
    {
      head: `${by.slice(0, 1).toUpperCase()}${by.slice(1)}`,
      cell: (row) => (by === 'hour' ? hourText(row.hour) : <Line text={row[by] ?? ''} />),
    },
    {
      head: <span className="spoken">Part</span>,
      cell: (row) => (
        <span className="meter" aria-hidden="true">
          <span style={{ width: `${(tokensOf(row) / most) * 100}%` }} />
        </span>
      ),
      className: 'wide meter-cell',
    },
    { head: 'Tokens in', cell: ({ inputTokens }) => tokensText(inputTokens), className: 'number' },
    { head: 'Tokens out', cell: ({ outputTokens }) => tokensText(outputTokens), className: 'number' },
    { head: 'Model calls', cell: ({ modelCalls }) => modelCalls, className: 'number wide' },
    { head: 'Cost', cell: (row) => costText(row) ?? '–', className: 'number long' },
  ]
}

function tokensOf({ inputTokens, outputTokens }: UsageRow): number {
  return inputTokens + outputTokens
}
