/** Duty: what can be done with one worker: cancel it or its run; compact its conversation, take turns back, branch off. */
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useContext, useState } from 'react'
import type { WorkerReport } from '../../../client/report.ts'
import type { Compacted } from '../../../client/session/conversation/orders.ts'
import { escapeLine } from '../../../words/text/escape.ts'
import { nameAndKind } from '../../../words/worker-name.ts'
import { change } from '../../api/http.ts'
import { queries } from '../../api/queries.ts'
import { Dialog } from '../../parts/dialog/dialog.tsx'
import { say, sayError } from '../../parts/dialog/notes.tsx'
import { isAgent } from './is-agent.ts'
import { SessionContext } from './session-context.ts'

interface Deed {
  readonly name: string
  readonly path: string
  readonly body?: object
  /** What came of it, in words: an accepted request may have found nothing to do. */
  readonly done: (reply: unknown) => string
  readonly isHarsh?: true
  /** True if a second one does more. */
  readonly isOnce?: boolean
  /** What a reader must confirm before: it cannot be taken back. */
  readonly warning?: string
}

const ofRun: Deed = {
  name: 'Cancel its run',
  path: 'cancel',
  body: { run: true },
  done: (reply) =>
    (reply as { readonly cancelled: boolean }).cancelled
      ? 'Its run is cancelled; its next message begins the next one.'
      : 'Nothing was cancelled: no run was in progress.',
  isHarsh: true,
}
const ofWorker: Deed = {
  name: 'Cancel it for good',
  path: 'cancel',
  body: {},
  done: () => 'Cancelled, with all that it spawned.',
  isHarsh: true,
  warning: 'Neither it nor anything that it spawned starts or records anything from now on. This cannot be taken back.',
}
const ofAgent: readonly Deed[] = [
  {
    name: 'Compact',
    path: 'compact',
    done: (reply) => {
      const came = reply as Compacted
      return came.compacted
        ? 'A summary stands for the beginning of its conversation.'
        : `Nothing was compacted: ${came.reason}`
    },
  },
  {
    name: 'Take the last summary back',
    path: 'expand',
    done: () => 'Its prompts are as they were without it.',
    isOnce: true,
  },
  {
    name: 'Take the last turn back',
    path: 'undo',
    done: () => 'The last turn is in no prompt any more.',
    isOnce: true,
  },
  { name: 'Let it count again', path: 'redo', done: () => 'The turn counts again.', isOnce: true },
]

export function WorkerActions({ worker }: { readonly worker: WorkerReport }): ReactNode {
  const { id: sessionId, report } = useContext(SessionContext)
  const { id, status, lifecycle, parentId } = worker
  const [isBusy, setBusy] = useState(false)
  const [toConfirm, setToConfirm] = useState<Deed | null>(null)
  const act = async ({ path, body = {}, done, isOnce = false }: Deed) => {
    setBusy(true)
    try {
      say({ text: done(await change('POST', `workers/${id}/${path}`, { body, isOnce })) })
      await queries.invalidateQueries({ queryKey: [`sessions/${sessionId}`] })
    } catch (error) {
      sayError(error)
    }
    setBusy(false)
  }
  const session = report?.session
  if (status === 'terminal' || session?.state !== 'active') return null
  // The session of a job ends with the run of its root: then there is no conversation to change any more.
  const talks = isAgent(worker) && (parentId !== null || session.mode === 'conversation')
  const deeds = [
    ...(talks ? ofAgent : []),
    ...(lifecycle === 'busy' ? [ofRun] : []),
    // The cancel button of the root is that of its session.
    ...(parentId === null ? [] : [ofWorker]),
  ]
  return (
    <div className="buttons">
      {deeds.map((deed) => (
        <button
          key={deed.name}
          type="button"
          className={deed.isHarsh ? 'button harsh' : 'button'}
          disabled={isBusy}
          onClick={() => (deed.warning === undefined ? void act(deed) : setToConfirm(deed))}
        >
          {deed.name}
        </button>
      ))}
      {toConfirm !== null && (
        <Dialog
          title={`${toConfirm.name}: ${escapeLine(nameAndKind(worker.name, worker.kind))}`}
          submit={toConfirm.name}
          isHarsh
          onSubmit={() => {
            setToConfirm(null)
            void act(toConfirm)
          }}
          onClose={() => setToConfirm(null)}
        >
          <p>{toConfirm.warning}</p>
        </Dialog>
      )}
    </div>
  )
}

/** Begins another conversation with what was said up to here. */
export function Branch({ workerId, position }: { readonly workerId: string; readonly position: number }): ReactNode {
  const navigate = useNavigate()
  const branch = async () => {
    try {
      const body = { at: position }
      const { sessionId } = await change<{ readonly sessionId: string }>('POST', `workers/${workerId}/fork`, {
        body,
        isOnce: true,
      })
      say({ text: 'This conversation begins with what was said up to there. The other one goes on.' })
      await navigate({ to: '/sessions/$id', params: { id: sessionId } })
    } catch (error) {
      sayError(error)
    }
  }
  return (
    <button
      type="button"
      className="copy branch"
      title="Begin another conversation from here"
      onClick={() => void branch()}
    >
      branch
    </button>
  )
}
