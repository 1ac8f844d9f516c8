/** Duty: what an operator does about a worker that does not go on: in its line, or below it where that takes more words. */
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Holdup, HoldupReason } from '../../../client/holdup.ts'
import type { SessionReport, WorkerReport } from '../../../client/report.ts'
import { isInFile } from '../../api/session-file.ts'
import { HoldupLine } from '../../parts/state/holdup.tsx'
import { StandingNode } from '../fleet/release-node.tsx'
import { NoNode } from '../kinds/no-node.tsx'
import { CancelDialog, RetryDialog, useAct } from './session-actions.tsx'

interface HoldupHelpProps {
  readonly holdup: Holdup
  readonly worker: WorkerReport | undefined
  readonly session: SessionReport
}

const wordsOfAsks: Partial<Record<HoldupReason, string>> = { approval: 'Decide', question: 'Answer', signal: 'Answer' }

export function HoldupHelp(props: HoldupHelpProps): ReactNode {
  const { holdup, worker, session } = props
  // A session in a file cannot be changed, and nothing about it is asked elsewhere.
  if (isInFile(`sessions/${session.id}`)) return <HoldupLine holdup={holdup} worker={worker} />
  const isUnhosted = holdup.reason === 'no node' && worker !== undefined
  return (
    <>
      <HoldupLine holdup={holdup} worker={worker} hasHelp={isUnhosted}>
        <Deed {...props} />
      </HoldupLine>
      {holdup.reason === 'lease' && worker?.node != null && <StandingNode id={worker.node} />}
      {isUnhosted && (
        <NoNode kind={worker.kind}>
          <CancelInstead sessionId={session.id} />
        </NoNode>
      )}
    </>
  )
}

function Deed({
  holdup: { reason, workerId, command },
  worker,
  session: { id, rootId },
  session,
}: HoldupHelpProps): ReactNode {
  if (reason === 'budget' || reason === 'failure') return <RetryHere session={session} command={command} />
  if (reason === 'pause of all') return <Link to="/fleet">To the nodes, to resume everything</Link>
  const word = wordsOfAsks[reason]
  const ask = worker?.openAsks[0]?.id
  if (word !== undefined && ask !== undefined)
    return (
      <Link to="/approvals" search={{ ask }} className="button main">
        {word}
      </Link>
    )
  if (workerId === rootId) return null
  return (
    <Link to="/sessions/$id" params={{ id }} search={{ worker: workerId }}>
      Show it
    </Link>
  )
}

interface RetryHereProps {
  readonly session: SessionReport
  readonly command: string | null
}

function RetryHere({ session, command }: RetryHereProps): ReactNode {
  const [isAsking, setAsking] = useState(false)
  const { act } = useAct(session.id)
  return (
    <>
      <button type="button" className="button main" onClick={() => setAsking(true)}>
        {session.failure?.code === 'budget_exceeded' ? 'Raise it' : 'Retry'}
      </button>
      {isAsking && <RetryDialog session={session} act={act} onClose={() => setAsking(false)} command={command} />}
    </>
  )
}

function CancelInstead({ sessionId }: { readonly sessionId: string }): ReactNode {
  const [isAsking, setAsking] = useState(false)
  const { act } = useAct(sessionId)
  return (
    <p>
      Is it not wanted any more?{' '}
      <button type="button" className="button harsh" onClick={() => setAsking(true)}>
        Cancel the session
      </button>
      {isAsking && <CancelDialog act={act} onClose={() => setAsking(false)} />}
    </p>
  )
}
