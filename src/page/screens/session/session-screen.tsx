/** Duty: one session: its head, the tree of its workers, and what there is to see of the worker that is chosen. */
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { type ComponentType, type ReactNode, useMemo } from 'react'
import type { Report, WorkerReport } from '../../../client/report.ts'
import { escapeLine } from '../../../words/text/escape.ts'
import { ApiError } from '../../api/http.ts'
import { cutIdProblem } from '../../api/id.ts'
import { useReport } from '../../api/queries.ts'
import { useKeys } from '../../keys.ts'
import { CutId, Waiting } from '../../parts/state/empty.tsx'
import { Text } from '../../parts/text/text.tsx'
import { useTitle } from '../../parts/text/title.tsx'
import { ConversationTab } from './conversation/conversation-tab.tsx'
import { EventList } from './event-list.tsx'
import { useLiveSession } from './live-session.ts'
import { SessionContext } from './session-context.ts'
import { SessionHeader } from './session-header.tsx'
import { CallsTab } from './tabs/calls-tab.tsx'
import { MailboxTab } from './tabs/mailbox-tab.tsx'
import { RawTab } from './tabs/raw-tab.tsx'
import { StateTab } from './tabs/state-tab.tsx'
import { TimelineTab } from './tabs/timeline-tab.tsx'
import { WorkerTree } from './tree/worker-tree.tsx'

const route = getRouteApi('/sessions/$id')

interface Tab {
  readonly id: string
  readonly key: string
  readonly name: string
  readonly show: ComponentType<{ readonly worker: WorkerReport }>
}

const tabs: readonly [Tab, ...Tab[]] = [
  { id: 'conversation', key: 'c', name: 'Conversation', show: ConversationTab },
  { id: 'timeline', key: 't', name: 'Timeline', show: TimelineTab },
  { id: 'mailbox', key: 'm', name: 'Mailbox', show: MailboxTab },
  { id: 'state', key: 's', name: 'State', show: StateTab },
  { id: 'calls', key: 'x', name: 'Calls', show: CallsTab },
  { id: 'raw', key: 'r', name: 'Raw', show: RawTab },
]

export function SessionScreen(): ReactNode {
  const { id } = route.useParams()
  const problem = cutIdProblem(id, 'session')
  return problem === null ? <WholeSession id={id} /> : <CutId title="Session" problem={problem} />
}

function WholeSession({ id }: { readonly id: string }): ReactNode {
  const query = useReport(id)
  const live = useLiveSession(id)
  const report = query.data?.session.id === id ? query.data : undefined
  const value = useMemo(() => ({ id, report, live }), [id, report, live])
  useTitle(report?.session.name ?? 'Session')
  return (
    <SessionContext value={value}>
      <Waiting query={{ ...query, data: report }} what="the session" />
      {report !== undefined && query.error !== null && isRefusal(query.error) && (
        <p className="bad" role="alert">
          <Text text={query.error.message} />
        </p>
      )}
      {report !== undefined && <SessionBody report={report} />}
    </SessionContext>
  )
}

/** The session was pruned, or the reader may not see it any more: what is shown stays as it was. */
function isRefusal(error: Error): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500
}

function SessionBody({ report }: { readonly report: Report }): ReactNode {
  const search = route.useSearch()
  const navigate = useNavigate()
  const { session, workers } = report
  const worker = workers.find(({ id }) => id === search.worker) ?? workers.find(({ id }) => id === session.rootId)
  const tab = tabs.find(({ id }) => id === search.tab) ?? tabs[0]
  const go = (change: { readonly worker?: string; readonly tab?: string }) =>
    void navigate({
      to: '/sessions/$id',
      params: { id: session.id },
      search: (before) => ({ ...before, ...change }),
      replace: true,
    })
  useKeys(
    'Parts of a worker',
    tabs.map(({ id, key, name }) => ({ key, does: name, run: () => go({ tab: id }) })),
  )
  if (worker === undefined) return <div className="empty">This session has no worker that can be read.</div>
  return (
    <div className="session">
      <SessionHeader report={report} />
      {workers.length > 1 && <WorkerTree workers={workers} chosen={worker.id} onChoose={(id) => go({ worker: id })} />}
      <section className="worker" aria-label={`Worker ${escapeLine(worker.name)}`}>
        <div className="tabs" role="tablist">
          {tabs.map(({ id, name }) => (
            <button
              key={id}
              id={`tab-${id}`}
              type="button"
              role="tab"
              aria-selected={id === tab.id}
              aria-controls="tab-panel"
              onClick={() => go({ tab: id })}
            >
              {name}
              {id === 'mailbox' && worker.mailbox.pending > 0 && <span className="tag">{worker.mailbox.pending}</span>}
            </button>
          ))}
        </div>
        <div id="tab-panel" className="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab.id}`}>
          <tab.show key={worker.id} worker={worker} />
        </div>
      </section>
      <EventList workerId={worker.id} />
    </div>
  )
}
