/** Duty: sessions as a table: state, name, kind, what they wait for, workers, age. */
import { Link } from '@tanstack/react-router'
import { type ReactNode, useMemo } from 'react'
import type { ListedSession } from '../../../client/summaries.ts'
import { useKinds } from '../../api/queries.ts'
import { type Picked, pickColumn } from '../../parts/list/picked.tsx'
import { type Column, Table } from '../../parts/list/table.tsx'
import { Empty } from '../../parts/state/empty.tsx'
import { SessionState } from '../../parts/state/state.tsx'
import { Line } from '../../parts/text/text.tsx'
import { Age } from '../../parts/text/time.tsx'

export function NoSessions(): ReactNode {
  return (
    <Empty commands={['troupe demo', 'troupe run <kind> <input>']}>
      There are no sessions yet. Type one of these in a terminal:
    </Empty>
  )
}

/** A job goes on at a node that hosts the kind of its root. Before the kinds are known, nothing is known of this. */
type IsUnhosted = (session: ListedSession) => boolean

function useUnhosted(): IsUnhosted {
  const kinds = useKinds().data?.kinds
  const hosted = useMemo(() => kinds && new Set(kinds.filter((one) => one.hosted).map(({ kind }) => kind)), [kinds])
  return ({ kind, mode, state }) => hosted !== undefined && state === 'active' && mode === 'job' && !hosted.has(kind)
}

const columnsOf = (isUnhosted: IsUnhosted): readonly Column<ListedSession>[] => [
  {
    head: 'State',
    cell: (session) => (
      <SessionState
        state={session.state}
        isPaused={session.paused !== null}
        needsSomebody={session.openAsks > 0 || isUnhosted(session)}
      />
    ),
  },
  {
    head: 'Session',
    cell: ({ id, name, mode }) => (
      <span className="session-name">
        <Link to="/sessions/$id" params={{ id }}>
          <Line text={name} />
        </Link>
        {mode === 'conversation' && <span className="tag">conversation</span>}
      </span>
    ),
    className: 'grow',
  },
  {
    head: 'Kind',
    cell: ({ kind }) => (
      <Link to="/sessions" search={{ kind }} className="muted">
        <Line text={kind} />
      </Link>
    ),
    className: 'wide',
  },
  { head: 'Waits for', cell: (session) => waitsFor(session, isUnhosted), className: 'wide muted grow' },
  { head: 'Workers', cell: ({ workers }) => workers, className: 'number' },
  {
    head: 'Age',
    cell: ({ createdAt, finishedAt }) => (
      <span title={finishedAt === null ? 'goes on' : 'ended'}>
        <Age since={createdAt} />
      </span>
    ),
    className: 'number',
  },
]

interface SessionTableProps {
  readonly sessions: readonly ListedSession[]
  readonly chosen: number
  /** Absent: no session can be picked. */
  readonly picked?: Picked<ListedSession>
}

export function SessionTable({ sessions, chosen, picked }: SessionTableProps): ReactNode {
  const columns = columnsOf(useUnhosted())
  const all = picked === undefined ? columns : [pickColumn(picked, ({ name }) => name), ...columns]
  return <Table name="Sessions" columns={all} rows={sessions} keyOf={({ id }) => id} chosen={chosen} />
}

function waitsFor(session: ListedSession, isUnhosted: IsUnhosted): ReactNode {
  const { openAsks, askedAt, paused, kind } = session
  if (paused !== null) return <Line text={`to be resumed${paused.why === undefined ? '' : ` (${paused.why})`}`} />
  if (openAsks > 0)
    return (
      <>
        {openAsks === 1 ? 'an answer of a person' : `${openAsks} answers of persons`}, for <Age since={askedAt} />
      </>
    )
  return isUnhosted(session) ? <Line text={`a node that hosts ${kind}`} /> : null
}
