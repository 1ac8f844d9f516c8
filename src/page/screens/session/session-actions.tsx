/** Duty: what can be done with a session: pause, resume, retry, limits, fork, export, close, cancel. */
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { SessionReport } from '../../../client/report.ts'
import { type UnknownDecision, unknownDecisions } from '../../../core/history/run/unknown-decision.ts'
import { change, send } from '../../api/http.ts'
import { queries, useRetryOutlook } from '../../api/queries.ts'
import { useKeys } from '../../keys.ts'
import { Dialog } from '../../parts/dialog/dialog.tsx'
import { say, sayError } from '../../parts/dialog/notes.tsx'
import { Text } from '../../parts/text/text.tsx'

/** `done`: what came of it, in words. */
type Act = (
  path: string,
  body: unknown,
  done: string | ((reply: unknown) => string),
  method?: 'POST' | 'PATCH',
) => Promise<unknown>
type Open = 'cancel' | 'limits' | 'retry' | 'fork' | null

/** Does something with the session, and says what came of it. */
export function useAct(id: string): { readonly act: Act; readonly isBusy: boolean } {
  const [isBusy, setBusy] = useState(false)
  const act: Act = async (path, body, done, method = 'POST') => {
    setBusy(true)
    try {
      const reply = await change<unknown>(method, `sessions/${id}/${path}`, { body, isOnce: path === 'fork' })
      say({ text: typeof done === 'string' ? done : done(reply) })
      await queries.invalidateQueries({ queryKey: [`sessions/${id}`] })
      return reply
    } catch (error) {
      sayError(error)
      return undefined
    } finally {
      setBusy(false)
    }
  }
  return { act, isBusy }
}

export function SessionActions({ session }: { readonly session: SessionReport }): ReactNode {
  const { id, state, paused, mode } = session
  const [open, setOpen] = useState<Open>(null)
  const { act, isBusy } = useAct(id)
  const isActive = state === 'active'
  const pause = () =>
    void (paused === null ? act('pause', {}, 'Paused: nothing more begins in it.') : act('resume', {}, 'It goes on.'))
  useKeys('Session', [
    { key: 'P', does: 'pause, resume', run: () => isActive && pause() },
    { key: 'L', does: 'limits', run: () => isActive && setOpen('limits') },
    { key: 'F', does: 'fork', run: () => isActive && setOpen('fork') },
    { key: 'X', does: 'cancel it', run: () => isActive && setOpen('cancel') },
  ])
  return (
    <span className="buttons session-actions">
      {state === 'failed' && (
        <button type="button" className="button main" disabled={isBusy} onClick={() => setOpen('retry')}>
          Retry
        </button>
      )}
      {isActive && (
        <button type="button" className="button" disabled={isBusy} onClick={pause}>
          {paused === null ? 'Pause' : 'Resume'}
        </button>
      )}
      {isActive && (
        <>
          <button type="button" className="button" onClick={() => setOpen('limits')}>
            Limits
          </button>
          <button type="button" className="button" onClick={() => setOpen('fork')}>
            Fork
          </button>
        </>
      )}
      <button type="button" className="button" onClick={() => void download(id)}>
        Export
      </button>
      {isActive && mode === 'conversation' && (
        <button
          type="button"
          className="button"
          disabled={isBusy}
          onClick={() => void act('close', {}, 'It ends once all messages are answered.')}
        >
          Close
        </button>
      )}
      {isActive && (
        <button type="button" className="button harsh" onClick={() => setOpen('cancel')}>
          Cancel
        </button>
      )}
      <OpenDialog open={open} session={session} act={act} onClose={() => setOpen(null)} />
    </span>
  )
}

interface OpenDialogProps extends ActDialogProps {
  readonly open: Open
  readonly session: SessionReport
}

function OpenDialog({ open, session, act, onClose }: OpenDialogProps): ReactNode {
  switch (open) {
    case null:
      return null
    case 'cancel':
      return <CancelDialog act={act} onClose={onClose} />
    case 'limits':
      return <LimitsDialog session={session} act={act} onClose={onClose} />
    case 'retry':
      return <RetryDialog session={session} act={act} onClose={onClose} />
    case 'fork':
      return <ForkDialog act={act} onClose={onClose} />
  }
}

interface ActDialogProps {
  readonly act: Act
  readonly onClose: () => void
}

/** A session that had ended before is not cancelled. */
export function wasCancelled(reply: unknown): boolean {
  return (reply as { readonly cancelled: boolean }).cancelled
}

export function CancelDialog({ act, onClose }: ActDialogProps): ReactNode {
  const [reason, setReason] = useState('')
  const onSubmit = () => {
    onClose()
    void act('cancel', reason.trim() === '' ? {} : { reason: reason.trim() }, (reply) =>
      wasCancelled(reply) ? 'Cancelled: nothing of it starts any more.' : 'It had ended before, and stays as it is.',
    )
  }
  return (
    <Dialog title="Cancel this session" submit="Cancel the session" isHarsh onSubmit={onSubmit} onClose={onClose}>
      <p>From now on none of its workers starts, spawns or records anything. This cannot be taken back.</p>
      <label className="labelled">
        <span className="label">Why? (May be left out.)</span>
        <input className="field" value={reason} onChange={({ target }) => setReason(target.value)} />
      </label>
    </Dialog>
  )
}

const spendingNames = ['modelCalls', 'tokens', 'toolCalls'] as const
type SpendingTexts = Readonly<Record<(typeof spendingNames)[number], string>>
const labels: SpendingTexts = { modelCalls: 'Model calls', tokens: 'Tokens, in and out', toolCalls: 'Tool calls' }

function enoughIn(command: string): Partial<SpendingTexts> {
  const [, name, most] = /--limits (\w+)=(\d+)$/.exec(command) ?? []
  return name === undefined ? {} : { [name]: most }
}

/** `wanted`: what the fields hold at first, in place of the present limits. */
function useLimits({ limits }: SessionReport, wanted: Partial<SpendingTexts> = {}) {
  const [texts, setTexts] = useState<SpendingTexts>({
    modelCalls: String(limits.modelCalls),
    tokens: String(limits.tokens),
    toolCalls: String(limits.toolCalls),
    ...wanted,
  })
  const changed = Object.fromEntries(
    spendingNames.flatMap((name) =>
      Number(texts[name]) === limits[name] || texts[name] === '' ? [] : [[name, Number(texts[name])]],
    ),
  )
  const fields = spendingNames.map((name) => (
    <label key={name} className="labelled">
      <span className="label">{labels[name]}</span>
      <input
        className="field"
        type="number"
        min={0}
        value={texts[name]}
        onChange={({ target }) => setTexts({ ...texts, [name]: target.value })}
      />
    </label>
  ))
  return { changed, fields }
}

function LimitsDialog({ session, act, onClose }: ActDialogProps & { readonly session: SessionReport }): ReactNode {
  const { changed, fields } = useLimits(session)
  const onSubmit = () => {
    onClose()
    void act('limits', changed, 'The limits hold from the next step on.', 'PATCH')
  }
  return (
    <Dialog
      title="What all its agents may use together"
      submit="Set"
      onSubmit={onSubmit}
      onClose={onClose}
      isBlocked={Object.keys(changed).length === 0}
    >
      {fields}
    </Dialog>
  )
}

interface RetryDialogProps extends ActDialogProps {
  readonly session: SessionReport
  /** The command that does the same: it may name a limit that is high enough. */
  readonly command?: string | null
}

export function RetryDialog({ session, act, onClose, command = null }: RetryDialogProps): ReactNode {
  const { changed, fields } = useLimits(session, enoughIn(command ?? session.holdups[0]?.command ?? ''))
  const [unknown, setUnknown] = useState<UnknownDecision | null>(null)
  // Where it cannot be read, the server decides when it is asked to retry.
  const outlook = useRetryOutlook(session.id).data
  const isBudget = session.failure?.code === 'budget_exceeded'
  const hasLimits = Object.keys(changed).length > 0
  const isUndecided = outlook?.kind === 'undecided'
  const onSubmit = () => {
    onClose()
    const decision = isUndecided && unknown !== null ? { unknown } : {}
    void act('retry', { ...decision, ...(hasLimits && { limits: changed }) }, 'It goes on at the step that failed.')
  }
  return (
    <Dialog
      title="Retry the failed run"
      submit="Retry"
      onSubmit={onSubmit}
      onClose={onClose}
      isBlocked={(isBudget && !hasLimits) || (isUndecided && unknown === null) || outlook?.kind === 'impossible'}
    >
      {outlook?.kind === 'impossible' ? (
        <p role="alert">
          <Text text={outlook.why} />
        </p>
      ) : (
        <p>It goes on at the step that failed, with the history that it has. No recorded step is repeated.</p>
      )}
      {isUndecided && <UnknownCalls calls={outlook.calls} decision={unknown} onDecide={setUnknown} />}
      {isBudget && fields}
    </Dialog>
  )
}

const decisionLabels: Readonly<Record<UnknownDecision, string>> = {
  done: 'It took effect: tell the model so',
  failed: 'It took no effect: tell the model so',
  again: 'It took no effect: run it again',
}

interface UnknownCallsProps {
  readonly calls: readonly string[]
  readonly decision: UnknownDecision | null
  readonly onDecide: (decision: UnknownDecision) => void
}

/** Asks what became of calls whose outcome nobody knows. Nothing is chosen for the reader. */
function UnknownCalls({ calls, decision, onDecide }: UnknownCallsProps): ReactNode {
  return (
    <fieldset className="plain-set labelled">
      <legend className="label">
        Nobody knows whether <Text text={calls.join(', ')} isLine /> took effect. Look at what it would have changed:
      </legend>
      {unknownDecisions.toReversed().map((one) => (
        <label key={one} className="check">
          <input type="radio" name="unknown" checked={decision === one} onChange={() => onDecide(one)} />
          {decisionLabels[one]}
        </label>
      ))}
    </fieldset>
  )
}

function ForkDialog({ act, onClose }: ActDialogProps): ReactNode {
  const [isDry, setDry] = useState(false)
  const navigate = useNavigate()
  const onSubmit = async () => {
    onClose()
    const reply = await act('fork', isDry ? { dryRun: true } : {}, 'This is the copy: both go on.')
    const { sessionId } = Object(reply) as { readonly sessionId?: string }
    if (sessionId !== undefined) await navigate({ to: '/sessions/$id', params: { id: sessionId } })
  }
  return (
    <Dialog title="Fork this session" submit="Fork" onSubmit={() => void onSubmit()} onClose={onClose}>
      <p>A copy of the whole session as it is now, under new ids: workers, histories, mailboxes, limits. Both go on.</p>
      <label className="check">
        <input type="checkbox" checked={isDry} onChange={({ target }) => setDry(target.checked)} />
        Dry run: tools with effects are not run in the copy
      </label>
    </Dialog>
  )
}

/** Saves the session as a file, which this page reads again. */
async function download(id: string): Promise<void> {
  try {
    const response = await send('GET', `sessions/${id}/export`)
    const address = URL.createObjectURL(await response.blob())
    const link = document.createElement('a')
    link.href = address
    link.download = `session-${id}.jsonl`
    link.click()
    URL.revokeObjectURL(address)
  } catch (error) {
    sayError(error)
  }
}
