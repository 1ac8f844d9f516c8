/** Duty: write to a worker: a message for its next run, or one that steers or interrupts the run in progress. */
import { type KeyboardEvent, type ReactNode, type SubmitEvent, useContext, useState } from 'react'
import type { WorkerReport } from '../../../../client/report.ts'
import type { SessionState } from '../../../../client/session/session-state.ts'
import type { Sent } from '../../../../client/summaries.ts'
import type { SendTime } from '../../../../core/worker/message/steer.ts'
import { change } from '../../../api/http.ts'
import { draftOf, useDraft } from '../../../parts/dialog/draft.ts'
import { say, sayError } from '../../../parts/dialog/notes.tsx'
import { SessionContext } from '../session-context.ts'

interface ComposerProps {
  readonly worker: WorkerReport
  readonly isAgent: boolean
}

export function Composer({ worker: { id, status, lifecycle }, isAgent }: ComposerProps): ReactNode {
  const draft = `message to ${id}`
  const [text, setText] = useDraft(draft, '')
  const [isBusy, setBusy] = useState(false)
  const session = useContext(SessionContext).report?.session
  const isPaused = session?.paused != null
  const isAtWork = lifecycle === 'busy'
  const isBlocked = isBusy || text.trim() === ''
  const send = async (when: SendTime) => {
    if (isBlocked) return
    setBusy(true)
    try {
      const value = isAgent ? text : jsonOrText(text)
      const sent = await change<Sent>('POST', `workers/${id}/messages`, { body: { input: value, when }, isOnce: true })
      // Whoever has gone on writing keeps that.
      const written = draftOf(draft, '')
      setText(written.startsWith(text) ? written.slice(text.length) : written)
      say({ text: isPaused ? sentToPaused(sent) : sentText(sent, when, isAtWork) })
    } catch (error) {
      sayError(error)
    }
    setBusy(false)
  }
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault()
    void send('queue')
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    void send('queue')
  }
  const closed = closedText(session?.state, status === 'terminal', isAgent)
  if (closed !== null) return <p className="composer muted">{closed}</p>
  return (
    <form className="composer" onSubmit={onSubmit}>
      <textarea
        className="field"
        rows={Math.min(8, text.split('\n').length)}
        value={text}
        placeholder={
          isAgent ? 'Write to it. Enter sends, Shift+Enter begins a new line.' : 'A message: JSON, or a text.'
        }
        aria-label="Message"
        onChange={({ target }) => setText(target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="buttons">
        <button type="submit" className="button main" disabled={isBlocked}>
          Send
        </button>
        {isAtWork && <AtOnce isBlocked={isBlocked} send={(when) => void send(when)} />}
      </div>
    </form>
  )
}

/** For a worker that is at work: it need not wait for the next run. */
function AtOnce({
  isBlocked,
  send,
}: {
  readonly isBlocked: boolean
  readonly send: (when: SendTime) => void
}): ReactNode {
  const button = (when: SendTime, name: string, title: string) => (
    <button type="button" className="button" disabled={isBlocked} title={title} onClick={() => send(when)}>
      {name}
    </button>
  )
  return (
    <>
      {button('steer', 'Steer', 'The run in progress receives it next')}
      {button('interrupt', 'Interrupt', 'What the run does now ends at once')}
    </>
  )
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function sentToPaused({ warning }: Sent): string {
  return warning ?? 'Sent: it is received once the session is resumed.'
}

/** Why it takes no message; null if it does. */
function closedText(state: SessionState | undefined, isCancelled: boolean, isAgent: boolean): string | null {
  if (state === 'failed') return 'The session has failed, and takes no message. Retry it, and it goes on.'
  if (state !== undefined && state !== 'active')
    return isAgent
      ? 'The session has ended, and takes no message. Branch off at a message above, and a new one goes on from there.'
      : 'The session has ended, and takes no message any more.'
  return isCancelled ? 'This worker was cancelled, and takes no message any more.' : null
}

function sentText({ steers, warning }: Sent, when: SendTime, isAtWork: boolean): string {
  if (warning !== null) return warning
  if (steers) return when === 'interrupt' ? 'Sent: the run is interrupted.' : 'Sent: the run in progress receives it.'
  return isAtWork ? 'Sent: it is received in the next run.' : 'Sent.'
}
