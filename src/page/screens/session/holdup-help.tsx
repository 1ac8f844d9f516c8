/** Duty: what an operator does about a worker that waits for nodes: what to start, what to release, or to cancel. */
import { type ReactNode, useState } from 'react'
import type { Holdup } from '../../../client/holdup.ts'
import type { WorkerReport } from '../../../client/report.ts'
import { isInFile } from '../../api/session-file.ts'
import { StandingNode } from '../fleet/release-node.tsx'
import { NoNode } from '../kinds/no-node.tsx'
import { CancelDialog, useAct } from './session-actions.tsx'

interface HoldupHelpProps {
  readonly holdup: Holdup
  readonly worker: WorkerReport | undefined
  readonly sessionId: string
}

export function HoldupHelp({ holdup, worker, sessionId }: HoldupHelpProps): ReactNode {
  // Nothing of a session in a file can be changed, and nothing of it is asked elsewhere.
  if (worker === undefined || isInFile(`sessions/${sessionId}`)) return null
  if (holdup.reason === 'lease' && worker.node !== null) return <StandingNode id={worker.node} />
  if (holdup.reason !== 'no node') return null
  return (
    <NoNode kind={worker.kind}>
      <CancelInstead sessionId={sessionId} />
    </NoNode>
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
