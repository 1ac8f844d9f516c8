/** Duty: sessions as a table: state, name, kind, what they wait for, workers, age. */
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { ListedSession } from '../../../client/summaries.ts'
import { Empty } from '../../parts/empty.tsx'
import { SessionState } from '../../parts/state.tsx'
import { Line } from '../../parts/text.tsx'
import { Age } from '../../parts/time.tsx'

export function NoSessions(): ReactNode {
  return (
    <Empty commands={['troupe demo', 'troupe run <kind> <input>']}>
      There are no sessions yet. Type one of these in a terminal:
    </Empty>
  )
}

export function SessionTable({
  sessions,
  chosen,
}: {
  readonly sessions: readonly ListedSession[]
  readonly chosen: number
}): ReactNode {
  return (
    <div className="table-wrap">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Session</th>
            <th scope="col" className="wide">
              Kind
            </th>
            <th scope="col" className="wide">
              Waits for
            </th>
            <th scope="col" className="number">
              Workers
            </th>
            <th scope="col" className="number">
              Age
            </th>
          </tr>
        </thead>
        <tbody>
          {sessions.map((session, index) => (
            <SessionRow key={session.id} session={session} isChosen={index === chosen} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function SessionRow({ session, isChosen }: { readonly session: ListedSession; readonly isChosen: boolean }): ReactNode {
  const { id, name, kind, state, paused, openAsks, workers, createdAt, finishedAt, mode } = session
  return (
    <tr data-chosen={isChosen}>
      <td>
        <SessionState state={state} isPaused={paused !== null} needsSomebody={openAsks > 0} />
      </td>
      <td>
        <span className="session-name">
          <Link to="/sessions/$id" params={{ id }}>
            <Line text={name} />
          </Link>
          {mode === 'conversation' && <span className="tag">conversation</span>}
        </span>
      </td>
      <td className="wide">
        <Link to="/sessions" search={{ kind }} className="muted">
          <Line text={kind} />
        </Link>
      </td>
      <td className="wide muted">{waitsFor(session)}</td>
      <td className="number">{workers}</td>
      <td className="number" title={finishedAt === null ? 'goes on' : 'ended'}>
        <Age since={createdAt} />
      </td>
    </tr>
  )
}

function waitsFor({ openAsks, askedAt, paused }: ListedSession): ReactNode {
  if (paused !== null) return <Line text={`to be resumed${paused.why === null ? '' : ` (${paused.why})`}`} />
  if (openAsks === 0) return null
  return (
    <>
      {openAsks === 1 ? 'an answer of a person' : `${openAsks} answers of persons`}, for <Age since={askedAt} />
    </>
  )
}
