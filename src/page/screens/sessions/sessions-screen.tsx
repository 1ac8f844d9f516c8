/** Duty: the screen of all sessions, newest first, filtered as the address says. */

import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, type ReactNode, useState } from 'react'
import type { ListedSession } from '../../../client/summaries.ts'
import { isPartOfId } from '../../api/id.ts'
import { type SessionsFilter, useSessions } from '../../api/queries.ts'
import { pickKeys, usePicked } from '../../parts/list/picked.tsx'
import { Pill, Pills } from '../../parts/list/pills.tsx'
import { useRowKeys } from '../../parts/list/rows.ts'
import { Empty, Lacking, Waiting } from '../../parts/state/empty.tsx'
import { Line } from '../../parts/text/text.tsx'
import { useTitle } from '../../parts/text/title.tsx'
import { SessionBatch } from './session-batch.tsx'
import { NoSessions, SessionTable } from './session-table.tsx'

const route = getRouteApi('/sessions')
const states = ['active', 'completed', 'failed', 'cancelled'] as const
const pageSize = 50
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

const idOf = ({ id }: ListedSession) => id

export function SessionsScreen(): ReactNode {
  useTitle('Sessions')
  const search = route.useSearch()
  // An id is not searched for in names.
  const filter: SessionsFilter = { ...search, ...(uuid.test(search.name ?? '') && { name: undefined }) }
  const [pages, readMore] = usePages(JSON.stringify(filter))
  const query = useSessions(filter, pageSize, pages)
  const { sessions = [], hasMore = false, away = [] } = query.data ?? {}
  const navigate = useNavigate()
  const open = ({ id }: ListedSession) => void navigate({ to: '/sessions/$id', params: { id } })
  const picked = usePicked(sessions, idOf)
  const chosen = useRowKeys('Sessions', { rows: sessions, idOf, open }, (session) => [
    ...pickKeys(picked, session),
    { key: 'Escape', does: 'pick none', run: picked.clear },
  ])
  const isFiltered = Object.values(search).some((value) => value !== undefined)
  return (
    <div className="screen-body">
      <Filters />
      <div className="box">
        <Waiting query={query} what="sessions" />
        <Lacking away={away} />
        {query.data !== undefined &&
          sessions.length === 0 &&
          (isFiltered ? (
            <Empty>
              {hasMore ? 'None of the newest sessions fits these filters.' : 'No session fits these filters.'}
              {isPartOfId(search.name?.trim() ?? '') && ' This may be a part of an id: an id is found if it is whole.'}
            </Empty>
          ) : (
            away.length === 0 && <NoSessions />
          ))}
        {sessions.length > 0 && <SessionTable sessions={sessions} chosen={chosen} picked={picked} />}
      </div>
      {hasMore && (
        <button type="button" className="button" onClick={readMore}>
          Load earlier sessions
        </button>
      )}
      <SessionBatch picked={picked} />
    </div>
  )
}

/** How many pages are read of what this filter finds, and a function that asks for one more. */
function usePages(filter: string): [pages: number, readMore: () => void] {
  const [asked, setAsked] = useState({ filter, pages: 1 })
  const pages = asked.filter === filter ? asked.pages : 1
  return [pages, () => setAsked({ filter, pages: pages + 1 })]
}

function Filters(): ReactNode {
  const { state, kind, name } = route.useSearch()
  const navigate = route.useNavigate()
  const set = (change: Readonly<Partial<Record<'state' | 'kind' | 'name', string>>>) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  const found = name?.trim() ?? ''
  const isId = uuid.test(found)
  // The version in an id tells the id of a worker from that of a session.
  const to = isId && found[14] === '8' ? '/workers/$id' : '/sessions/$id'
  const onKeyDown = ({ key }: KeyboardEvent) => {
    if (key === 'Enter' && isId) void navigate({ to, params: { id: found }, search: {} })
  }
  return (
    <div className="pills">
      <input
        className="field search"
        data-search
        type="search"
        placeholder="Search names, or paste an id  /"
        aria-label="Search sessions by name, or open an id"
        value={name ?? ''}
        onChange={({ target }) => set({ name: target.value })}
        onKeyDown={onKeyDown}
      />
      {isId && (
        <Link className="pill" to={to} params={{ id: found }}>
          Open {to === '/workers/$id' ? 'the worker' : 'the session'}
        </Link>
      )}
      <Pills of={states} chosen={state} onChoose={(one = '') => set({ state: one })} />
      {kind !== undefined && (
        <Pill isOn onPress={() => set({ kind: '' })}>
          kind <Line text={kind} /> ✕
        </Pill>
      )}
    </div>
  )
}
