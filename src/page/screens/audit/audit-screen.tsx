/** Duty: the screen of the audit: is every accepted message accounted for, and does what is stored agree with itself? */
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { MessageCounts } from '../../../audit/counts.ts'
import { count } from '../../../words/amounts.ts'
import { change } from '../../api/http.ts'
import { type AuditView, queries, useAudit } from '../../api/queries.ts'
import { useKeys } from '../../keys.ts'
import { sayError } from '../../parts/dialog/notes.tsx'
import { Empty, Waiting } from '../../parts/state/empty.tsx'
import { Text } from '../../parts/text/text.tsx'
import { Age } from '../../parts/text/time.tsx'
import { useTitle } from '../../parts/text/title.tsx'

async function begin(): Promise<void> {
  try {
    await change('POST', 'audit')
    await queries.invalidateQueries({ queryKey: ['audit'] })
  } catch (error) {
    sayError(error)
  }
}

export function AuditScreen(): ReactNode {
  useTitle('Audit')
  const query = useAudit()
  useKeys('Audit', [{ key: 'b', does: 'begin an audit', run: () => void begin() }])
  const audit = query.data
  return (
    <div className="screen-body narrow">
      <Waiting query={query} what="the last audit" />
      {audit !== undefined && <AuditHead audit={audit} />}
      {audit?.report != null && <Sum counts={audit.report.counts.all} />}
      {audit?.report != null && <AuditFindings report={audit.report} />}
      {audit?.state === 'none' && (
        <div className="box">
          <Empty commands={['troupe audit']}>
            This server has checked nothing yet. An audit reads everything, and writes nothing. Begin one here, or type:
          </Empty>
        </div>
      )}
    </div>
  )
}

function AuditHead({ audit }: { readonly audit: AuditView }): ReactNode {
  const { state, progress, finishedAt, problem } = audit
  return (
    <div className="buttons">
      <button type="button" className="button main" disabled={state === 'running'} onClick={() => void begin()}>
        {state === 'running' ? 'It runs …' : 'Begin an audit'} <kbd>b</kbd>
      </button>
      {state === 'running' && progress !== null && (
        <span className="muted">
          {count(progress.sessions, 'session')}, {count(progress.workers, 'worker')} looked at
        </span>
      )}
      {finishedAt !== null && state !== 'running' && (
        <span className="muted">
          finished <Age since={finishedAt} /> ago
        </span>
      )}
      {problem !== null && (
        <span className="bad">
          <Text text={problem.detail} />
        </span>
      )}
    </div>
  )
}

const parts = [
  'completed',
  'failed',
  'cancelled',
  'dead',
  'waiting',
  'active',
  'removed',
] as const satisfies (keyof MessageCounts)[]

function Sum({ counts }: { readonly counts: MessageCounts }): ReactNode {
  const sum = parts.reduce((total, part) => total + counts[part], 0)
  const isBalanced = sum === counts.accepted
  return (
    <section className="box" aria-label="Messages">
      <div className="box-head">
        <h2>Messages</h2>
        <span className="state" data-look={isBalanced ? 'good' : 'bad'}>
          {isBalanced
            ? 'every accepted message is accounted for'
            : `not accounted for: ${count(counts.accepted - sum, 'message')}`}
        </span>
      </div>
      <div className="sum">
        <SumPart name="accepted" value={counts.accepted} />
        <span className="sum-sign">{isBalanced ? '=' : '≠'}</span>
        {parts.map((part, index) => (
          <span key={part} className="sum-pair">
            {index > 0 && <span className="sum-sign">+</span>}
            <SumPart name={part} value={counts[part]} />
          </span>
        ))}
      </div>
    </section>
  )
}

function SumPart({ name, value }: { readonly name: string; readonly value: number }): ReactNode {
  return (
    <span className="sum-part">
      <span className="big number">{value}</span>
      <span className="muted">{name}</span>
    </span>
  )
}

function AuditFindings({ report }: { readonly report: NonNullable<AuditView['report']> }): ReactNode {
  const { sessions, workers, findings } = report
  return (
    <section className="box" aria-label="Findings">
      <div className="box-head">
        <h2>
          {findings.length === 0 ? 'No contradiction' : count(findings.length, 'contradiction')} in{' '}
          {count(sessions, 'session')} with {count(workers, 'worker')}
        </h2>
      </div>
      <ul className="findings" hidden={findings.length === 0}>
        {findings.slice(0, 200).map(({ invariant, rule, workerId, sessionId, what }) => (
          <li key={`${invariant} ${rule} ${sessionId} ${workerId} ${what}`} className="finding">
            <span className="tag bad">{invariant}</span>
            <span className="finding-text">
              <Text text={what} />
            </span>
            {sessionId !== null && (
              <Link
                to="/sessions/$id"
                params={{ id: sessionId }}
                search={workerId === null ? {} : { worker: workerId }}
              >
                show it
              </Link>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
