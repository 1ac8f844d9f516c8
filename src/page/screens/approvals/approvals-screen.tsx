/** Duty: the screen of what waits for people: approvals of calls and questions, the oldest first. */

import { getRouteApi, Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Approval } from '../../../client/person/approvals.ts'
import { count } from '../../../words/amounts.ts'
import { nameAndKind } from '../../../words/worker-name.ts'
import { useApprovals, useAsks } from '../../api/queries.ts'
import { useKeys } from '../../keys.ts'
import { BatchDialog } from '../../parts/dialog/batch-dialog.tsx'
import { useChosen } from '../../parts/list/chosen.ts'
import { useInSight } from '../../parts/list/in-sight.ts'
import { PickBar, PickBox, type Picked, pickKeys, usePicked } from '../../parts/list/picked.tsx'
import { Empty, Lacking, Waiting } from '../../parts/state/empty.tsx'
import { Text } from '../../parts/text/text.tsx'
import { useTitle } from '../../parts/text/title.tsx'
import { ApprovalCard, type Mode } from './approval-card.tsx'
import { QuestionCard } from './ask-card.tsx'
import { decide } from './decisions.ts'

const route = getRouteApi('/approvals')
const idOf = ({ id }: Approval) => id

export function ApprovalsScreen(): ReactNode {
  useTitle('Approvals')
  const query = useApprovals()
  const { approvals = [], away = [] } = query.data ?? {}
  const questions = useAsks().data?.asks.filter(({ kind }) => kind !== 'approval') ?? []
  const [mode, setMode] = useState<Mode>('look')
  const picked = usePicked(approvals, idOf)
  const { ask: named } = route.useSearch()
  const { row: chosen, id: chosenId, choose, move } = useChosen(approvals, idOf, named)
  const screen = useInSight<HTMLDivElement>(chosen?.id, named !== undefined)
  const go = (by: 1 | -1) => {
    move(by)
    setMode('look')
  }
  // The mode belongs to the approval for which it was opened.
  const open = (next: Mode, { id }: Approval) => {
    choose(id)
    setMode(next)
  }
  useKeys('Approvals', [
    { key: 'j', does: 'next', run: () => go(1) },
    { key: 'k', does: 'the one before', run: () => go(-1) },
    // While a form is open, the reader means something else than the call as it is.
    { key: 'a', does: 'approve', run: () => chosen && mode === 'look' && decide([chosen], { decision: 'approve' }) },
    { key: 'd', does: 'deny, and say why', run: () => chosen && open('deny', chosen) },
    { key: 'e', does: 'edit the arguments', run: () => chosen && open('edit', chosen) },
    { key: 'Escape', does: 'back; pick none', run: () => (mode === 'look' ? picked.clear() : setMode('look')) },
    ...pickKeys(picked, chosen),
  ])
  return (
    <div ref={screen} className="screen-body narrow">
      <Waiting query={query} what="approvals" />
      <Lacking away={away} />
      {query.data !== undefined && away.length + approvals.length + questions.length === 0 && <Nobody />}
      {query.data?.nextCursor != null && (
        <p className="muted">These are the {approvals.length} calls that have waited longest; there may be more.</p>
      )}
      {approvals.length > 1 && (
        <label className="check">
          <input type="checkbox" checked={picked.isAll} onChange={picked.toggleAll} />
          Pick all {approvals.length}, to decide about them at once
        </label>
      )}
      {approvals.map((approval) => (
        <ApprovalCard
          key={approval.id}
          approval={approval}
          isChosen={approval === chosen}
          mode={approval.id === chosenId ? mode : 'look'}
          onMode={(next) => open(next, approval)}
        >
          {approvals.length > 1 && <PickBox picked={picked} row={approval} name={approval.tool} />}
        </ApprovalCard>
      ))}
      {questions.map((ask) => (
        <QuestionCard key={ask.id} ask={ask}>
          <Link to="/sessions/$id" params={{ id: ask.sessionId }} search={{ worker: ask.workerId }}>
            <Text text={nameAndKind(ask.workerName ?? '', ask.workerKind ?? '')} isLine />
          </Link>
        </QuestionCard>
      ))}
      <Batch picked={picked} />
    </div>
  )
}

function Nobody(): ReactNode {
  return (
    <div className="box">
      <Empty commands={["defineTool({ …, approval: 'always' })"]}>
        Nobody waits for you. A tool asks before each call with:
      </Empty>
    </div>
  )
}

type BatchProps = { readonly picked: Picked<Approval> }

/** What can be decided about all picked calls at once. */
function Batch({ picked }: BatchProps): ReactNode {
  const [asked, setAsked] = useState<'approve' | 'deny' | null>(null)
  return (
    <>
      <PickBar picked={picked}>
        <button type="button" className="button main" onClick={() => setAsked('approve')}>
          Approve {picked.rows.length}
        </button>
        <button type="button" className="button harsh" onClick={() => setAsked('deny')}>
          Deny {picked.rows.length}
        </button>
      </PickBar>
      {asked !== null && <DecideDialog picked={picked} decision={asked} onClose={() => setAsked(null)} />}
    </>
  )
}

interface DecideDialogProps extends BatchProps {
  readonly decision: 'approve' | 'deny'
  readonly onClose: () => void
}

function DecideDialog({ picked, decision, onClose }: DecideDialogProps): ReactNode {
  const [reason, setReason] = useState('')
  const { rows } = picked
  const onSubmit = () => {
    decide(rows, { decision, ...(reason.trim() !== '' && { reason: reason.trim() }) })
    picked.clear()
  }
  const what = decision === 'approve' ? 'Approve' : 'Deny'
  return (
    <BatchDialog
      title={`${what} ${count(rows.length, 'call')}`}
      submit={`${what} ${rows.length}`}
      names={rows.map(({ tool }) => tool)}
      isTyped
      isHarsh={decision === 'deny'}
      onSubmit={onSubmit}
      onClose={onClose}
    >
      <label className="labelled">
        <span className="label">
          {decision === 'deny' ? 'Why not? The models read it.' : 'Why?'} (May be left out.)
        </span>
        <input className="field" value={reason} onChange={({ target }) => setReason(target.value)} />
      </label>
    </BatchDialog>
  )
}
