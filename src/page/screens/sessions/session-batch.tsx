/** Duty: what can be done with several sessions at once: pause, resume, retry, cancel; each only with those that it fits. */
import { type ReactNode, useState } from 'react'
import type { ListedSession } from '../../../client/summaries.ts'
import { count } from '../../../words/amounts.ts'
import { change } from '../../api/http.ts'
import { queries } from '../../api/queries.ts'
import { BatchDialog } from '../../parts/dialog/batch-dialog.tsx'
import { doWithEach } from '../../parts/dialog/do-with-each.ts'
import { PickBar, type Picked } from '../../parts/list/picked.tsx'
import { wasCancelled } from '../session/session-actions.tsx'

type Sessions = readonly ListedSession[]
type Deed = 'pause' | 'resume' | 'retry' | 'cancel'

const fits: Readonly<Record<Deed, (session: ListedSession) => boolean>> = {
  pause: ({ state, paused }) => state === 'active' && paused === null,
  resume: ({ state, paused }) => state === 'active' && paused !== null,
  retry: ({ state }) => state === 'failed',
  cancel: ({ state }) => state === 'active',
}

const doneWords: Readonly<Record<Deed, (sessions: string, isOne: boolean) => string>> = {
  pause: (sessions, isOne) => `${sessions} ${isOne ? 'is' : 'are'} paused.`,
  resume: (sessions, isOne) => `${sessions} ${isOne ? 'goes' : 'go'} on.`,
  retry: (sessions, isOne) => `${sessions} ${isOne ? 'goes' : 'go'} on at the failed step.`,
  cancel: (sessions, isOne) => `${sessions} ${isOne ? 'was' : 'were'} cancelled.`,
}

const backOf: Partial<Record<Deed, Deed>> = { pause: 'resume', resume: 'pause' }

async function handle(sessions: Sessions, deed: Deed, body: object = {}): Promise<void> {
  const back = backOf[deed]
  await doWithEach(
    sessions,
    async ({ id, name }) => {
      const reply = await change('POST', `sessions/${id}/${deed}`, { body })
      if (deed === 'cancel' && !wasCancelled(reply)) throw new Error(`session ${name} had ended before.`)
    },
    (done) => ({
      text: doneWords[deed](count(done.length, 'session'), done.length === 1),
      ...(back !== undefined && { undo: () => void handle(done, back) }),
    }),
  )
  await queries.invalidateQueries({ queryKey: ['sessions'] })
}

export function SessionBatch({ picked }: { readonly picked: Picked<ListedSession> }): ReactNode {
  const [asked, setAsked] = useState<'retry' | 'cancel' | null>(null)
  const button = (deed: Deed, name: string, onClick: (sessions: Sessions) => void, look = '') => {
    const sessions = picked.rows.filter(fits[deed])
    return (
      <button
        type="button"
        className={`button ${look}`}
        disabled={sessions.length === 0}
        onClick={() => onClick(sessions)}
      >
        {name} {sessions.length > 0 && sessions.length}
      </button>
    )
  }
  const atOnce = (sessions: Sessions, deed: 'pause' | 'resume') => {
    void handle(sessions, deed)
    picked.clear()
  }
  return (
    <>
      <PickBar picked={picked}>
        {button('pause', 'Pause', (sessions) => atOnce(sessions, 'pause'))}
        {button('resume', 'Resume', (sessions) => atOnce(sessions, 'resume'))}
        {button('retry', 'Retry', () => setAsked('retry'))}
        {button('cancel', 'Cancel', () => setAsked('cancel'), 'harsh')}
      </PickBar>
      {asked !== null && <Question picked={picked} deed={asked} onClose={() => setAsked(null)} />}
    </>
  )
}

interface QuestionProps {
  readonly picked: Picked<ListedSession>
  readonly deed: 'retry' | 'cancel'
  readonly onClose: () => void
}

function Question({ picked, deed, onClose }: QuestionProps): ReactNode {
  const [reason, setReason] = useState('')
  const [sessions] = useState(() => picked.rows.filter(fits[deed]))
  const isCancel = deed === 'cancel'
  const onSubmit = () => {
    void handle(sessions, deed, isCancel && reason.trim() !== '' ? { reason: reason.trim() } : {})
    picked.clear()
  }
  const what = isCancel ? 'Cancel' : 'Retry'
  return (
    <BatchDialog
      title={`${what} ${count(sessions.length, 'session')}`}
      submit={`${what} ${count(sessions.length, 'session')}`}
      names={sessions.map(({ name }) => name)}
      isTyped={isCancel}
      isHarsh={isCancel}
      onSubmit={onSubmit}
      onClose={onClose}
    >
      <p>
        {isCancel
          ? 'From now on none of their workers starts, spawns or records anything. This cannot be taken back.'
          : 'Each goes on at the step that failed, with the history that it has. No recorded step is repeated.'}
      </p>
      {isCancel && (
        <label className="labelled">
          <span className="label">Why? (May be left out.)</span>
          <input className="field" value={reason} onChange={({ target }) => setReason(target.value)} />
        </label>
      )}
    </BatchDialog>
  )
}
