/** Duty: the screen of this moment: four numbers, what needs somebody, and the newest sessions. */
import { Link, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useAsks, useDeadLetters, useHealth, useSessions } from '../../api/queries.ts'
import { useTitle } from '../../app/title.tsx'
import { Waiting } from '../../parts/empty.tsx'
import { Findings } from '../../parts/findings.tsx'
import { useRowKeys } from '../../parts/rows.ts'
import { Sparkline } from '../../parts/sparkline.tsx'
import { Text } from '../../parts/text.tsx'
import { Age, ageText } from '../../parts/time.tsx'
import { isOpenLetter } from '../dead/open-letter.ts'
import { NoSessions, SessionTable } from '../sessions/session-table.tsx'

const sessionsShown = 10
const needsShown = 8

export function NowScreen(): ReactNode {
  useTitle('Now')
  const query = useSessions({ limit: sessionsShown })
  const sessions = query.data?.sessions ?? []
  const navigate = useNavigate()
  const { chosen } = useRowKeys('Newest sessions', sessions.length, (index) => {
    const session = sessions[index]
    if (session !== undefined) void navigate({ to: '/sessions/$id', params: { id: session.id } })
  })
  return (
    <div className="screen-body">
      <Numbers />
      <NeedsYou />
      <section className="box" aria-label="Newest sessions">
        <div className="box-head">
          <h2>Newest sessions</h2>
          <Link to="/sessions">All</Link>
        </div>
        <Waiting query={query} what="sessions" />
        {query.data !== undefined && sessions.length === 0 && <NoSessions />}
        {sessions.length > 0 && <SessionTable sessions={sessions} chosen={chosen} />}
      </section>
    </div>
  )
}

function Numbers(): ReactNode {
  const health = useHealth().data
  const people = useAsks().data?.asks.length
  const queued = health?.pools.reduce((sum, pool) => sum + pool.queued, 0)
  const oldestMs = health === undefined ? undefined : Math.max(0, ...health.pools.map((pool) => pool.oldestMs ?? 0))
  return (
    <section className="numbers" aria-label="Numbers">
      <NumberBox name="turns running" value={health?.running} />
      <NumberBox name="wait for somebody" value={people} to="/approvals" />
      <NumberBox name="workers wait for a slot" value={queued} />
      <NumberBox
        name="oldest of them waits"
        value={oldestMs}
        text={oldestMs === undefined ? undefined : ageText(oldestMs)}
      />
    </section>
  )
}

interface NumberBoxProps {
  readonly name: string
  readonly value: number | undefined
  readonly text?: string | undefined
  readonly to?: '/approvals'
}

function NumberBox({ name, value, text, to }: NumberBoxProps): ReactNode {
  return (
    <div className="box number-box">
      <span className="big number">{text ?? value ?? '–'}</span>
      <span className="muted">{to === undefined ? name : <Link to={to}>{name}</Link>}</span>
      <Sparkline name={name} value={value} />
    </div>
  )
}

function NeedsYou(): ReactNode {
  const health = useHealth()
  const findings = health.data?.findings.filter(({ level, code }) => level !== 'ok' && !saidBelow.has(code)) ?? []
  const asks = useAsks().data?.asks ?? []
  const letters = useDeadLetters().data?.letters.filter(isOpenLetter) ?? []
  const isQuiet = health.data !== undefined && findings.length + asks.length + letters.length === 0
  return (
    <section className="box" aria-label="Needs you">
      <div className="box-head">
        <h2>Needs you</h2>
      </div>
      <Waiting query={health} what="what waits" />
      {isQuiet && <p className="box-body muted">Nothing needs you.</p>}
      <ul className="findings">
        {asks.slice(0, needsShown).map((ask) => (
          <li key={ask.id} className="finding">
            <span className="tag warn">{ask.kind}</span>
            <Link
              className="finding-text"
              to={ask.kind === 'approval' ? '/approvals' : '/sessions/$id'}
              params={{ id: ask.sessionId }}
            >
              <Text text={ask.question} isLine />
            </Link>
            <span className="muted">
              <Age since={ask.askedAt} />
            </span>
          </li>
        ))}
        {asks.length > needsShown && (
          <li className="finding">
            <Link to="/approvals">and {asks.length - needsShown} more</Link>
          </li>
        )}
        {letters.length > 0 && (
          <li className="finding">
            <span className="tag bad">dead letters</span>
            <Link className="finding-text" to="/dead">
              {letters.length === 1 ? 'A message was' : `${letters.length} messages were`} put aside, because it took
              its node down
            </Link>
          </li>
        )}
      </ul>
      <Findings findings={findings} />
    </section>
  )
}

/** The list has these one by one. */
const saidBelow: ReadonlySet<string> = new Set(['workers_held_up', 'dead_letters'])
