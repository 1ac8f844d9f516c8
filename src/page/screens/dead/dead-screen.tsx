/** Duty: the screen of dead letters: what was put aside, what took its node down, and putting it back or dismissing it. */

import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { DeadLetter } from '../../../client/summaries.ts'
import { count } from '../../../words/amounts.ts'
import { messageLine } from '../../../words/lines/message-line.ts'
import { nameAndKind } from '../../../words/worker-name.ts'
import { change } from '../../api/http.ts'
import { lettersMost, queries, useDeadLetters, useOpenLetters } from '../../api/queries.ts'
import { useKeys } from '../../keys.ts'
import { BatchDialog } from '../../parts/dialog/batch-dialog.tsx'
import { doWithEach } from '../../parts/dialog/do-with-each.ts'
import { useChosen } from '../../parts/list/chosen.ts'
import { useInSight } from '../../parts/list/in-sight.ts'
import { PickBar, PickBox, type Picked, pickKeys, usePicked } from '../../parts/list/picked.tsx'
import { Pill } from '../../parts/list/pills.tsx'
import { Empty, Lacking, Waiting } from '../../parts/state/empty.tsx'
import { Id } from '../../parts/text/command.tsx'
import { JsonText } from '../../parts/text/json.tsx'
import { Text } from '../../parts/text/text.tsx'
import { Age } from '../../parts/text/time.tsx'
import { useTitle } from '../../parts/text/title.tsx'
import { isOpenLetter } from './open-letter.ts'

type Deed = 'redrive' | 'dismiss'

async function handle(letters: readonly DeadLetter[], deed: Deed): Promise<void> {
  await doWithEach(
    letters,
    ({ id, workerId }) => change('POST', `dead/${id}/${deed}`, { body: { worker: workerId } }),
    ({ length }) => ({
      text: `${count(length, 'letter')} ${length === 1 ? 'was' : 'were'} ${deed === 'redrive' ? 'put back' : 'dismissed'}.`,
    }),
  )
  await queries.invalidateQueries({ queryKey: ['dead'] })
}

const idOf = ({ id, workerId }: DeadLetter) => `${workerId} ${id}`

/** The newest letters, and the open ones even if they are older. */
function withOpen(newest: readonly DeadLetter[], open: readonly DeadLetter[]): readonly DeadLetter[] {
  const known = new Set(newest.map(idOf))
  return [...newest, ...open.filter((letter) => !known.has(idOf(letter)))]
}

export function DeadScreen(): ReactNode {
  useTitle('Dead letters')
  const query = useOpenLetters()
  const [isAll, setAll] = useState(false)
  const { letters: open = [], away = [] } = query.data ?? {}
  const all = useDeadLetters(isAll).data?.letters ?? []
  const shown = isAll ? withOpen(all, open) : open
  const { row: one, move } = useChosen(shown, idOf)
  const screen = useInSight<HTMLDivElement>(one && idOf(one))
  const picked = usePicked(open, idOf)
  useKeys('Dead letters', [
    { key: 'j', does: 'next letter', run: () => move(1) },
    { key: 'k', does: 'letter before', run: () => move(-1) },
    { key: 'b', does: 'put it back', run: () => void (one && handle([one], 'redrive')) },
    { key: 'x', does: 'dismiss it', run: () => void (one && handle([one], 'dismiss')) },
    ...pickKeys(picked, one),
    { key: 'Escape', does: 'pick none', run: picked.clear },
  ])
  return (
    <div ref={screen} className="screen-body narrow">
      <div className="buttons">
        <Pill isOn={isAll} onPress={() => setAll(!isAll)}>
          also those that were dealt with
        </Pill>
        {open.length > 1 && (
          <label className="check">
            <input type="checkbox" checked={picked.isAll} onChange={picked.toggleAll} />
            Pick all {open.length}
          </label>
        )}
      </div>
      <Waiting query={query} what="dead letters" />
      {open.length === lettersMost && (
        <p className="muted">These are the {lettersMost} newest that wait for somebody; there may be more.</p>
      )}
      <Lacking away={away} />
      {query.data !== undefined && away.length + shown.length === 0 && (
        <div className="box">
          <Empty>
            No message was put aside. A message that takes its node down again and again comes here, with what is known
            of it.
          </Empty>
        </div>
      )}
      {shown.map((letter) => (
        <LetterCard key={idOf(letter)} letter={letter} isChosen={letter === one}>
          {open.length > 1 && isOpenLetter(letter) && <PickBox picked={picked} row={letter} name={letter.killedBy} />}
        </LetterCard>
      ))}
      <Batch picked={picked} />
    </div>
  )
}

interface LetterCardProps {
  readonly letter: DeadLetter
  readonly isChosen: boolean
  /** Shown at the beginning of the card's head. */
  readonly children: ReactNode
}

function LetterCard({ letter, isChosen, children }: LetterCardProps): ReactNode {
  const { id, workerId, sessionId, message, unreadable, redrivenAs, dismissed, evidence } = letter
  const [at] = id.split('-')
  return (
    <article className="box approval" data-chosen={isChosen} aria-label={`Dead letter ${id}`}>
      <div className="box-head">
        {children}
        <h2>
          <Text text={whoseText(letter)} isLine />
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
          <Text text={whyText(letter)} />
        </p>
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

/** Whose letter it is, as the evidence says. */
function whoseText({ evidence: { name, kind }, killedBy }: DeadLetter): string {
  return typeof name === 'string' && typeof kind === 'string' ? nameAndKind(name, kind) : killedBy
}

function whyText({ evidence: { starts, lastWords }, killedBy }: DeadLetter): string {
  const often = typeof starts === 'number' ? `${count(starts, 'start')} of its worker` : 'Starts of its worker'
  const last = typeof lastWords === 'string' ? ` The last of them: ${lastWords}.` : ''
  return `${often} recorded nothing: each time ${killedBy} was next.${last}`
}

/** What can be done with all picked letters at once. */
function Batch({ picked }: { readonly picked: Picked<DeadLetter> }): ReactNode {
  const [deed, setDeed] = useState<Deed | null>(null)
  const { rows } = picked
  const onSubmit = () => {
    if (deed !== null) void handle(rows, deed)
    picked.clear()
  }
  const what = deed === 'redrive' ? 'Put back' : 'Dismiss'
  return (
    <>
      <PickBar picked={picked}>
        <button type="button" className="button main" onClick={() => setDeed('redrive')}>
          Put {rows.length} back
        </button>
        <button type="button" className="button" onClick={() => setDeed('dismiss')}>
          Dismiss {rows.length}
        </button>
      </PickBar>
      {deed !== null && (
        <BatchDialog
          title={`${what} ${count(rows.length, 'letter')}`}
          submit={what}
          names={rows.map(({ killedBy }) => killedBy)}
          onSubmit={onSubmit}
          onClose={() => setDeed(null)}
        >
          <p>
            {deed === 'redrive'
              ? 'Each goes to the end of the mailbox of its worker, once.'
              : 'They stay as evidence, and can still be put back one by one.'}
          </p>
        </BatchDialog>
      )}
    </>
  )
}
