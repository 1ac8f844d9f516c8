/** Duty: the screen of this moment: four numbers, what needs somebody, and the newest sessions. */
import { Link, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Ask } from '../../../client/person/asks.ts'
import { costText, count } from '../../../words/amounts.ts'
import { waitingText } from '../../../words/holdup-text.ts'
import { nameAndKind } from '../../../words/worker-name.ts'
import { lettersMost, useAsks, useHealth, useOpenLetters, useSessions, useWorker } from '../../api/queries.ts'
import { useNow } from '../../clock.ts'
import { useRowKeys } from '../../parts/list/rows.ts'
import { Lacking, Waiting } from '../../parts/state/empty.tsx'
import { Findings } from '../../parts/state/findings.tsx'
import { Sparkline } from '../../parts/state/sparkline.tsx'
import { Text } from '../../parts/text/text.tsx'
import { Age, ageText } from '../../parts/text/time.tsx'
import { useTitle } from '../../parts/text/title.tsx'
import { useSpentThisHour } from '../costs/spend-per-hour.tsx'
import { NoSessions, SessionTable } from '../sessions/session-table.tsx'

const sessionsShown = 10
const asksShown = 6
const heldUpShown = 4

export function NowScreen(): ReactNode {
  useTitle('Now')
  const query = useSessions({}, sessionsShown)
  const { sessions = [], away = [] } = query.data ?? {}
  const navigate = useNavigate()
  const chosen = useRowKeys('Newest sessions', {
    rows: sessions,
    idOf: ({ id }) => id,
    open: ({ id }) => void navigate({ to: '/sessions/$id', params: { id } }),
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
        <Lacking away={away} />
        {query.data !== undefined && sessions.length === 0 && away.length === 0 && <NoSessions />}
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
      <NumberBox
        name={
          queued === undefined || queued === 0
            ? 'no worker waits for a slot'
            : `oldest of ${queued} that wait for a slot`
        }
        of="waits for a slot"
        value={oldestMs}
        text={oldestMs === undefined ? undefined : ageText(oldestMs)}
      />
      <Spent />
    </section>
  )
}

/** If a price is not known, the model is named; it does not count as zero. */
function Spent(): ReactNode {
  const spent = useSpentThisHour()
  const unknown = spent?.unpricedModelCalls ?? 0
  const isUnknown = unknown > 0 && spent?.costMicroUsd === 0
  const known = spent && (isUnknown ? '–' : (costText({ ...spent, unpricedModelCalls: 0 }) ?? '–'))
  const rest = unknown === 0 ? '' : `, and ${count(unknown, 'call')} whose price is unknown`
  return (
    <NumberBox
      name={`spent in this hour${rest}`}
      of="spent in this hour"
      value={spent?.costMicroUsd}
      text={known}
      to="/costs"
    />
  )
}

interface NumberBoxProps {
  readonly name: string
  /** What the number counts, if its name changes with it. */
  readonly of?: string
  readonly value: number | undefined
  readonly text?: string | undefined
  readonly to?: '/approvals' | '/costs'
}

function NumberBox({ name, of = name, value, text, to }: NumberBoxProps): ReactNode {
  return (
    <div className="box number-box">
      <span className="big number">{text ?? value ?? '–'}</span>
      <span className="muted">{to === undefined ? name : <Link to={to}>{name}</Link>}</span>
      <Sparkline name={of} value={value} />
    </div>
  )
}

function NeedsYou(): ReactNode {
  const health = useHealth()
  const asks = useAsks().data?.asks ?? []
  const letters = useOpenLetters().data?.letters ?? []
  const all = health.data?.findings ?? []
  const findings = all.filter(({ level, code }) => level !== 'ok' && !saidBelow.has(code))
  const asking = new Set(asks.map(({ workerId }) => workerId))
  const heldUp = all.find(({ code }) => code === 'workers_held_up')?.workerIds?.filter((id) => !asking.has(id)) ?? []
  const isQuiet = health.data !== undefined && findings.length + asks.length + letters.length + heldUp.length === 0
  return (
    <section className="box" aria-label="Needs you">
      <div className="box-head">
        <h2>Needs you</h2>
      </div>
      <Waiting query={health} what="what waits" />
      {isQuiet && <p className="box-body muted">Nothing needs you.</p>}
      <ul className="findings">
        {asks.slice(0, asksShown).map((ask) => (
          <AskRow key={ask.id} ask={ask} />
        ))}
        {asks.length > asksShown && (
          <li className="finding">
            <Link to="/approvals">and {asks.length - asksShown} more that ask</Link>
          </li>
        )}
        {letters.length > 0 && (
          <li className="finding">
            <span className="tag bad">dead letters</span>
            <Link className="finding-text" to="/dead">
              {letters.length === 1
                ? 'A message was put aside, because it took its node down'
                : `${letters.length}${letters.length === lettersMost ? ' or more' : ''} messages were put aside, because they took their nodes down`}
            </Link>
          </li>
        )}
        {heldUp.slice(0, heldUpShown).map((id) => (
          <HeldUpRow key={id} id={id} />
        ))}
        {heldUp.length > heldUpShown && (
          <li className="finding muted">and {heldUp.length - heldUpShown} more that wait</li>
        )}
      </ul>
      <Findings findings={findings} />
    </section>
  )
}

function AskRow({ ask }: { readonly ask: Ask }): ReactNode {
  const { id, kind, sessionId, workerId, workerName, workerKind, question, askedAt } = ask
  const text = <Text text={question} isLine />
  return (
    <li className="finding">
      <span className="tag warn">{kind}</span>
      {kind === 'approval' ? (
        <Link className="finding-text" to="/approvals" search={{ ask: id }}>
          {text}
        </Link>
      ) : (
        <Link className="finding-text" to="/sessions/$id" params={{ id: sessionId }} search={{ worker: workerId }}>
          {text}
        </Link>
      )}
      <span className="muted">
        <Text text={nameAndKind(workerName ?? '', workerKind ?? '')} isLine />, <Age since={askedAt} />
      </span>
    </li>
  )
}

/** A worker that waits for somebody without an ask: for a higher limit. */
function HeldUpRow({ id }: { readonly id: string }): ReactNode {
  const worker = useWorker(id).data
  const now = useNow()
  if (worker?.holdup == null) return null
  return (
    <li className="finding">
      <span className="tag warn">waits</span>
      <Link className="finding-text" to="/workers/$id" params={{ id }}>
        <Text text={`${nameAndKind(worker.name, worker.kind)} waits for ${waitingText(worker.holdup, now)}`} isLine />
      </Link>
    </li>
  )
}

/** Findings that the list shows one by one. */
const saidBelow: ReadonlySet<string> = new Set(['workers_held_up', 'dead_letters'])
