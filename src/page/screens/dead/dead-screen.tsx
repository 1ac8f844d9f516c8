/** Duty: the screen of dead letters: what was put aside, what took its node down, and putting it back or dismissing it. */
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { messageLine } from '../../../cli/view/lines/message-line.ts'
import type { DeadLetter } from '../../../client/summaries.ts'
import { change } from '../../api/http.ts'
import { queries, useDeadLetters } from '../../api/queries.ts'
import { useKeys } from '../../app/keys.ts'
import { useTitle } from '../../app/title.tsx'
import { Id } from '../../parts/command.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Empty, Waiting } from '../../parts/empty.tsx'
import { JsonText } from '../../parts/json.tsx'
import { say, sayError } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { Age } from '../../parts/time.tsx'
import { isOpenLetter } from './open-letter.ts'

type Deed = 'redrive' | 'dismiss'

async function handle(letters: readonly DeadLetter[], deed: Deed): Promise<void> {
  let done = 0
  for (const { id, workerId } of letters) {
    try {
      await change('POST', `dead/${id}/${deed}`, { body: { worker: workerId } })
      done++
    } catch (error) {
      sayError(error)
    }
  }
  if (done > 0)
    say({
      text: `${done} ${done === 1 ? 'letter was' : 'letters were'} ${deed === 'redrive' ? 'put back' : 'dismissed'}.`,
    })
  await queries.invalidateQueries({ queryKey: ['dead'] })
}

export function DeadScreen(): ReactNode {
  useTitle('Dead letters')
  const query = useDeadLetters()
  const [isAll, setAll] = useState(false)
  const [chosen, setChosen] = useState(0)
  const [deed, setDeed] = useState<Deed | null>(null)
  const letters = query.data?.letters ?? []
  const open = letters.filter(isOpenLetter)
  const shown = isAll ? letters : open
  const at = Math.min(chosen, shown.length - 1)
  const one = shown[at]
  useKeys('Dead letters', [
    { key: 'j', does: 'next letter', run: () => setChosen(Math.min(shown.length - 1, at + 1)) },
    { key: 'k', does: 'letter before', run: () => setChosen(Math.max(0, at - 1)) },
    { key: 'b', does: 'put it back', run: () => void (one && handle([one], 'redrive')) },
    { key: 'x', does: 'dismiss it', run: () => void (one && handle([one], 'dismiss')) },
  ])
  return (
    <div className="screen-body narrow">
      <div className="buttons">
        <button type="button" className="pill" aria-pressed={isAll} onClick={() => setAll(!isAll)}>
          also those that were dealt with
        </button>
        {open.length > 1 && (
          <>
            <button type="button" className="button" onClick={() => setDeed('redrive')}>
              Put all {open.length} back
            </button>
            <button type="button" className="button" onClick={() => setDeed('dismiss')}>
              Dismiss all
            </button>
          </>
        )}
      </div>
      <Waiting query={query} what="dead letters" />
      {query.data !== undefined && shown.length === 0 && (
        <div className="box">
          <Empty>
            No message was put aside. A message that takes its node down again and again comes here, with what is known
            of it.
          </Empty>
        </div>
      )}
      {shown.map((letter, index) => (
        <LetterCard key={`${letter.workerId} ${letter.id}`} letter={letter} isChosen={index === at} />
      ))}
      {deed !== null && <AllDialog letters={open} deed={deed} onClose={() => setDeed(null)} />}
    </div>
  )
}

function LetterCard({ letter, isChosen }: { readonly letter: DeadLetter; readonly isChosen: boolean }): ReactNode {
  const { id, workerId, sessionId, message, unreadable, killedBy, redrivenAs, dismissed, evidence } = letter
  const [at] = id.split('-')
  return (
    <article className="box approval" data-chosen={isChosen} aria-label={`Dead letter ${id}`}>
      <div className="box-head">
        <h2>
          <Text text={killedBy} isLine />
        </h2>
        <Link to="/sessions/$id" params={{ id: sessionId }} search={{ worker: workerId }}>
          its worker
        </Link>
        <span className="muted">
          put aside <Age since={Number(at)} /> ago
        </span>
        {redrivenAs !== null && <span className="tag">put back</span>}
        {dismissed && <span className="tag">dismissed</span>}
      </div>
      <div className="box-body">
        <p>
          {message === null ? (
            'A step within a run took the node down; the history of its worker has the input.'
          ) : (
            <Text text={messageLine(message)} />
          )}
        </p>
        {unreadable !== undefined && (
          <p className="bad">
            <Text text={unreadable} />
          </p>
        )}
        <details>
          <summary className="muted">Evidence</summary>
          <JsonText value={evidence} />
        </details>
        <div className="buttons">
          {redrivenAs === null && (
            <button type="button" className="button main" onClick={() => void handle([letter], 'redrive')}>
              Put back {isChosen && <kbd>b</kbd>}
            </button>
          )}
          {isOpenLetter(letter) && (
            <button type="button" className="button" onClick={() => void handle([letter], 'dismiss')}>
              Dismiss {isChosen && <kbd>x</kbd>}
            </button>
          )}
          <Id id={id} />
        </div>
      </div>
    </article>
  )
}

interface AllDialogProps {
  readonly letters: readonly DeadLetter[]
  readonly deed: Deed
  readonly onClose: () => void
}

function AllDialog({ letters, deed, onClose }: AllDialogProps): ReactNode {
  const onSubmit = () => {
    onClose()
    void handle(letters, deed)
  }
  const what = deed === 'redrive' ? 'Put back' : 'Dismiss'
  return (
    <Dialog title={`${what} ${letters.length} letters`} submit={what} onSubmit={onSubmit} onClose={onClose}>
      <p>
        {deed === 'redrive'
          ? 'Each goes to the end of the mailbox of its worker, once.'
          : 'They stay as evidence, and can still be put back one by one.'}
      </p>
      <ul>
        {letters.slice(0, 8).map(({ id, killedBy }) => (
          <li key={id} className="cut">
            <Text text={killedBy} isLine />
          </li>
        ))}
        {letters.length > 8 && <li className="muted">and {letters.length - 8} more</li>}
      </ul>
    </Dialog>
  )
}
