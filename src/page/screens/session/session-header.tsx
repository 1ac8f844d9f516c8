/** Duty: the head of a session: its state, why it does not go on, what it has spent, and what can be done with it. */
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Report, SessionReport } from '../../../client/report.ts'
import { holdupsMost } from '../../../core/worker/holdups-most.ts'
import { costText, count, tokensText } from '../../../words/amounts.ts'
import { failureSentence } from '../../../words/lines/message-line.ts'
import { FileNotice } from '../../app/drop-file.tsx'
import { useSteady } from '../../app/steady.ts'
import { needsSomebody, SessionState } from '../../parts/state/state.tsx'
import { Id } from '../../parts/text/command.tsx'
import { Text } from '../../parts/text/text.tsx'
import { Age } from '../../parts/text/time.tsx'
import { HoldupHelp } from './holdup-help.tsx'
import { SessionActions } from './session-actions.tsx'

const holdupsShown = 3
const stillMs = 3_000

export function SessionHeader({ report }: { readonly report: Report }): ReactNode {
  const { session } = report
  const { id, kind, name, state, mode, createdAt, finishedAt, failure, holdups, forkedFrom, branchOf } = session
  return (
    <header className="session-head">
      <FileNotice id={id} />
      <div className="session-line">
        <SessionState
          state={state}
          isPaused={session.paused !== null}
          rests={holdups[0]?.reason === 'message'}
          needsSomebody={needsSomebody(holdups)}
        />
        {name !== kind && (
          <Link to="/sessions" search={{ kind }} className="muted">
            <Text text={kind} isLine />
          </Link>
        )}
        {mode === 'conversation' && <span className="tag">conversation</span>}
        {forkedFrom !== null && (
          <span className="tag">
            copy of{' '}
            <Link to="/sessions/$id" params={{ id: forkedFrom.sessionId }}>
              {forkedFrom.sessionId.slice(0, 8)}
            </Link>
          </span>
        )}
        {branchOf !== null && (
          <span className="tag">
            branch of{' '}
            <Link to="/workers/$id" params={{ id: branchOf.workerId }}>
              {branchOf.workerId.slice(0, 8)}
            </Link>
          </span>
        )}
        <span className="muted">
          <Age since={createdAt} />
          {finishedAt !== null && ', ended'}
        </span>
        <Id id={id} />
        <Spent session={session} />
        <SessionActions session={session} />
      </div>
      {failure !== null && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a long one scrolls by keyboard
        <p className="bad session-failure" tabIndex={0}>
          <Text text={failureSentence(failure)} />
          {failure.code === 'poison' && (
            <>
              {' '}
              <Link to="/dead">To its dead letter</Link>
            </>
          )}
        </p>
      )}
      <Stopped session={session} />
      <Holdups report={report} />
    </header>
  )
}

/** What somebody did to stop it. */
function Stopped({ session: { state, cancelReason, closed, paused } }: { readonly session: SessionReport }): ReactNode {
  return (
    <>
      {cancelReason !== null && (
        <p className="muted">
          Cancelled: <Text text={cancelReason} />
        </p>
      )}
      {closed !== null && (
        <p className="muted">
          Closed <Age since={closed.at} /> ago
          <By by={closed.by} />
        </p>
      )}
      {state === 'active' && paused !== null && <Paused paused={paused} />}
    </>
  )
}

/** What it waits for. That it is paused is said above. */
function Holdups({ report: { session, workers } }: { readonly report: Report }): ReactNode {
  const waits = session.holdups.filter(({ reason }) => reason !== 'pause')
  // A session at work has moments in which all of it waits: the page would jump with each of them.
  const isStill = useSteady(waits.length > 0, stillMs)
  if (!isStill && !waits.some((holdup) => holdup.needsSomebody)) return null
  return (
    <>
      {waits.slice(0, holdupsShown).map((holdup) => (
        <HoldupHelp
          key={`${holdup.workerId} ${holdup.reason}`}
          holdup={holdup}
          worker={workers.find(({ id }) => id === holdup.workerId)}
          session={session}
        />
      ))}
      {waits.length > holdupsShown && (
        <p className="muted">
          and {waits.length - holdupsShown} {session.holdups.length === holdupsMost ? 'or more' : 'more'}
        </p>
      )}
    </>
  )
}

function Paused({ paused: { at, by, why } }: { readonly paused: NonNullable<SessionReport['paused']> }): ReactNode {
  return (
    <p className="holdup" data-needs>
      <span>
        <strong>Paused</strong> <Age since={at} /> ago
        <By by={by} />
        {why !== undefined && (
          <>
            {': '}
            <Text text={why} isLine />
          </>
        )}
        . Nothing more begins in it until it is resumed, and what is sent waits.
      </span>
    </p>
  )
}

function By({ by }: { readonly by: string | undefined }): ReactNode {
  if (by === undefined) return null
  return (
    <>
      {' by '}
      <Text text={by} isLine />
    </>
  )
}

/** The limit that is used up most. */
function Spent({ session: { usage, limits } }: { readonly session: SessionReport }): ReactNode {
  const tokens = usage.inputTokens + usage.outputTokens
  const [of, used, most] = [
    ['model calls', usage.modelCalls, limits.modelCalls],
    ['tokens', tokens, limits.tokens],
    ['tool calls', usage.toolCalls ?? 0, limits.toolCalls],
    ['workers', usage.workers, limits.workers],
  ].reduce((fullest, one) => (partOf(one) > partOf(fullest) ? one : fullest)) as [string, number, number]
  const part = Math.min(1, most === 0 ? 1 : used / most)
  const cost = usage.modelCalls === 0 ? null : costText(usage)
  const words = `${tokensText(used)} of ${tokensText(most)} ${of}`
  return (
    <span
      className="spent"
      title={`${tokensText(tokens)} tokens, ${count(usage.modelCalls, 'model call')}, ${count(usage.workers, 'worker')}`}
    >
      <span className="meter" data-full={part >= 1} aria-hidden="true">
        <span style={{ width: `${part * 100}%` }} />
      </span>
      <span className="muted number">{words}</span>
      {cost !== null && <span className="muted number">{cost}</span>}
    </span>
  )
}

function partOf([, used, most]: readonly unknown[]): number {
  return Number(used) / Math.max(1, Number(most))
}
