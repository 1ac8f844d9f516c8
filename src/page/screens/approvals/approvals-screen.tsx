/** Duty: the screen of what waits for people: approvals of calls and questions, the oldest first. */

import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Approval } from '../../../client/person/approvals.ts'
import { useApprovals, useAsks } from '../../api/queries.ts'
import { useKeys } from '../../app/keys.ts'
import { useTitle } from '../../app/title.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Empty, Waiting } from '../../parts/empty.tsx'
import { Text } from '../../parts/text.tsx'
import { ApprovalCard, type Mode } from './approval-card.tsx'
import { QuestionCard } from './ask-card.tsx'
import { decide } from './decisions.ts'

export function ApprovalsScreen(): ReactNode {
  useTitle('Approvals')
  const query = useApprovals()
  const approvals = query.data?.approvals ?? []
  const questions = useAsks().data?.asks.filter(({ kind }) => kind !== 'approval') ?? []
  const [chosenId, setChosenId] = useState<string | null>(null)
  const [mode, setMode] = useState<Mode>('look')
  const [isAll, setAll] = useState(false)
  const index = Math.max(
    0,
    approvals.findIndex(({ id }) => id === chosenId),
  )
  const choose = (at: number) => {
    const next = approvals[Math.max(0, Math.min(approvals.length - 1, at))]
    setChosenId(next?.id ?? null)
    setMode('look')
  }
  const chosen = approvals[index]
  // It belongs to the approval for which it was opened: another one may move into its place.
  const open = (next: Mode, id = chosen?.id ?? null) => {
    setChosenId(id)
    setMode(next)
  }
  useKeys('Approvals', [
    { key: 'j', does: 'next', run: () => choose(index + 1) },
    { key: 'k', does: 'the one before', run: () => choose(index - 1) },
    { key: 'a', does: 'approve', run: () => chosen && decide(chosen, { decision: 'approve' }) },
    { key: 'd', does: 'deny, and say why', run: () => open('deny') },
    { key: 'e', does: 'edit the arguments', run: () => open('edit') },
    { key: 'Escape', does: 'back', run: () => setMode('look') },
  ])
  return (
    <div className="screen-body narrow">
      <Waiting query={query} what="approvals" />
      {query.data !== undefined && approvals.length + questions.length === 0 && (
        <div className="box">
          <Empty commands={["defineTool({ …, approval: 'always' })"]}>
            Nobody waits for you. A tool asks before each call with:
          </Empty>
        </div>
      )}
      {approvals.length > 1 && (
        <div className="buttons">
          <button type="button" className="button" onClick={() => setAll(true)}>
            Decide about all {approvals.length} …
          </button>
        </div>
      )}
      {approvals.map((approval, at) => (
        <ApprovalCard
          key={approval.id}
          approval={approval}
          isChosen={at === index}
          mode={approval.id === chosenId ? mode : 'look'}
          onMode={(next) => open(next, approval.id)}
        />
      ))}
      {questions.map((ask) => (
        <QuestionCard key={ask.id} ask={ask}>
          <Link to="/sessions/$id" params={{ id: ask.sessionId }} search={{ worker: ask.workerId }}>
            its worker
          </Link>
        </QuestionCard>
      ))}
      {isAll && <AllDialog approvals={approvals} onClose={() => setAll(false)} />}
    </div>
  )
}

/** From so many on, the reader types the number. */
const typedFrom = 5

function AllDialog({
  approvals,
  onClose,
}: {
  readonly approvals: readonly Approval[]
  readonly onClose: () => void
}): ReactNode {
  const [typed, setTyped] = useState('')
  const [decision, setDecision] = useState<'approve' | 'deny'>('approve')
  const mustType = approvals.length >= typedFrom
  const onSubmit = () => {
    onClose()
    for (const approval of approvals) decide(approval, { decision })
  }
  const byTool = [...Map.groupBy(approvals, ({ tool }) => tool)]
  return (
    <Dialog
      title={`Decide about ${approvals.length} calls at once`}
      submit={decision === 'approve' ? 'Approve all' : 'Deny all'}
      isHarsh={decision === 'deny'}
      isBlocked={mustType && typed !== String(approvals.length)}
      onSubmit={onSubmit}
      onClose={onClose}
    >
      <ul>
        {byTool.map(([tool, { length }]) => (
          <li key={tool}>
            {length} ×{' '}
            <code>
              <Text text={tool} isLine />
            </code>
          </li>
        ))}
      </ul>
      <fieldset className="buttons plain-set">
        <legend className="spoken">Decision</legend>
        <label className="check">
          <input
            type="radio"
            name="decision"
            checked={decision === 'approve'}
            onChange={() => setDecision('approve')}
          />{' '}
          approve
        </label>
        <label className="check">
          <input type="radio" name="decision" checked={decision === 'deny'} onChange={() => setDecision('deny')} /> deny
        </label>
      </fieldset>
      {mustType && (
        <label className="labelled">
          <span className="label">Type {approvals.length} to go on</span>
          <input
            className="field"
            inputMode="numeric"
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
          />
        </label>
      )}
    </Dialog>
  )
}
