/** Duty: the screen of all sessions, newest first, filtered as the address says. */
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { type SessionsFilter, useSessions } from '../../api/queries.ts'
import { useTitle } from '../../app/title.tsx'
import { Empty, Waiting } from '../../parts/empty.tsx'
import { useRowKeys } from '../../parts/rows.ts'
import { Line } from '../../parts/text.tsx'
import { NoSessions, SessionTable } from './session-table.tsx'

const route = getRouteApi('/sessions')
const states = ['active', 'completed', 'failed', 'cancelled'] as const
const pageSize = 50

export function SessionsScreen(): ReactNode {
  useTitle('Sessions')
  const search = route.useSearch()
  const [limit, setLimit] = useState(pageSize)
  const filter: SessionsFilter = { ...search, limit }
  const query = useSessions(filter)
  const sessions = query.data?.sessions ?? []
  const navigate = useNavigate()
  const open = (index: number) => {
    const session = sessions[index]
    if (session !== undefined) void navigate({ to: '/sessions/$id', params: { id: session.id } })
  }
  const { chosen } = useRowKeys('Sessions', sessions.length, open)
  const isFiltered = Object.values(search).some((value) => value !== undefined)
  return (
    <div className="screen-body">
      <Filters />
      <div className="box">
        <Waiting query={query} what="sessions" />
        {query.data !== undefined &&
          sessions.length === 0 &&
          (isFiltered ? <Empty>No session fits these filters.</Empty> : <NoSessions />)}
        {sessions.length > 0 && <SessionTable sessions={sessions} chosen={chosen} />}
      </div>
      {sessions.length >= limit && (
        <button type="button" className="button" onClick={() => setLimit(limit + pageSize)}>
          Load earlier sessions
        </button>
      )}
    </div>
  )
}

function Filters(): ReactNode {
  const { state, kind, name } = route.useSearch()
  const navigate = route.useNavigate()
  const set = (change: Readonly<Partial<Record<'state' | 'kind' | 'name', string>>>) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  return (
    <div className="pills">
      <input
        className="field search"
        data-search
        type="search"
        placeholder="Search names  /"
        aria-label="Search sessions by name"
        value={name ?? ''}
        onChange={({ target }) => set({ name: target.value })}
      />
      {states.map((one) => (
        <button
          key={one}
          type="button"
          className="pill"
          aria-pressed={state === one}
          onClick={() => set({ state: state === one ? '' : one })}
        >
          {one}
        </button>
      ))}
      {kind !== undefined && (
        <button type="button" className="pill" aria-pressed="true" onClick={() => set({ kind: '' })}>
          kind <Line text={kind} /> ✕
        </button>
      )}
    </div>
  )
}
