/** Duty: one approval: who asks, what would run with which arguments, since when; and the decision about it. */
import { Link } from '@tanstack/react-router'
import type { ReactNode, SubmitEvent } from 'react'
import type { Approval } from '../../../client/person/approvals.ts'
import { isObject } from '../../../core/check/is-object.ts'
import { formatTime } from '../../../words/duration.ts'
import { escapeLine } from '../../../words/text/escape.ts'
import { nameAndKind } from '../../../words/worker-name.ts'
import { dropDraft, useDraft } from '../../parts/dialog/draft.ts'
import { type Schema, SchemaForm } from '../../parts/dialog/schema-form.tsx'
import { Changes } from '../../parts/text/changes.tsx'
import { JsonText } from '../../parts/text/json.tsx'
import { Text } from '../../parts/text/text.tsx'
import { Age } from '../../parts/text/time.tsx'
import { decide, useChoices } from './decisions.ts'

export type Mode = 'look' | 'edit' | 'deny'

interface CardProps {
  readonly approval: Approval
  readonly mode: Mode
  readonly onMode: (mode: Mode) => void
  readonly isChosen?: boolean
  /** True within its session, where it does not say which session it belongs to. */
  readonly isInSession?: boolean
  /** Shown at the beginning of the card's head. */
  readonly children?: ReactNode
}

export function ApprovalCard(props: CardProps): ReactNode {
  const { approval, mode, onMode, isChosen = false, isInSession = false, children } = props
  const { id, tool, sessionId, workerId, workerName, workerKind, why, again, askedAt, expiresAt } = approval
  const choice = useChoices().get(id)
  const isDecided = choice !== undefined
  return (
    <article
      className="box approval"
      data-chosen={isChosen}
      data-decided={isDecided}
      aria-label={`Approval of ${escapeLine(tool)}`}
    >
      <div className="box-head">
        {children}
        <h2 className="mono">
          <Text text={tool} isLine />
        </h2>
        {!isInSession && (
          <Link to="/sessions/$id" params={{ id: sessionId }} search={{ worker: workerId }}>
            <Text text={nameAndKind(workerName ?? '', workerKind ?? '')} isLine />
          </Link>
        )}
        <span className="muted">
          asked <Age since={askedAt} /> ago
        </span>
        {expiresAt !== null && <Expiry at={expiresAt} />}
      </div>
      <div className="box-body">
        <p className="muted">
          A person is asked, because <Text text={why} isLine />.{' '}
          {again !== null && (
            <span className="tag warn">
              asked again: <Text text={again} isLine />
            </span>
          )}
        </p>
        {mode === 'edit' ? <Edit approval={approval} onMode={onMode} /> : <JsonText value={approval.arguments} />}
        {choice?.arguments !== undefined && <Changes before={approval.arguments} after={choice.arguments} />}
        {mode === 'deny' && <Deny approval={approval} onMode={onMode} />}
        {mode === 'look' && !isDecided && <Buttons approval={approval} onMode={onMode} isChosen={isChosen} />}
        {isDecided && <p className="muted">Decided. It can be taken back for a few seconds: u</p>}
      </div>
    </article>
  )
}

function Expiry({ at }: { readonly at: number }): ReactNode {
  return (
    <span className="tag warn">
      expires <time dateTime={new Date(at).toISOString()}>{formatTime(at)}</time>
    </span>
  )
}

type PartProps = Pick<CardProps, 'approval' | 'onMode'>

function Buttons({ approval, onMode, isChosen }: PartProps & { readonly isChosen: boolean }): ReactNode {
  const key = (name: string) => isChosen && <kbd>{name}</kbd>
  return (
    <div className="buttons">
      <button type="button" className="button main" onClick={() => decide([approval], { decision: 'approve' })}>
        Approve {key('a')}
      </button>
      <button type="button" className="button" onClick={() => onMode('edit')}>
        Edit {key('e')}
      </button>
      <button type="button" className="button harsh" onClick={() => onMode('deny')}>
        Deny {key('d')}
      </button>
      {!approval.eachTime && (
        <button
          type="button"
          className="button plain"
          onClick={() => decide([approval], { decision: 'approve', trust: 'tool' })}
        >
          Approve, and trust the tool in this session
        </button>
      )}
    </div>
  )
}

function Edit({ approval, onMode }: PartProps): ReactNode {
  // If the call changes, the edit was of another one.
  const draft = `arguments ${approval.id} ${approval.hash}`
  const [value, setValue] = useDraft<unknown>(draft, approval.arguments)
  const isSame = JSON.stringify(value) === JSON.stringify(approval.arguments)
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault()
    decide([approval], { decision: 'approve', arguments: value })
    onMode('look')
  }
  return (
    <form className="labelled-group" onSubmit={onSubmit}>
      <SchemaForm schema={argumentsSchema(approval)} value={value} onChange={setValue} label="Arguments" />
      {value !== undefined && !isSame && <Changes before={approval.arguments} after={value} />}
      <div className="buttons">
        <button type="submit" className="button main" disabled={value === undefined || isSame}>
          Approve with these arguments
        </button>
        <GiveUp draft={draft} onMode={onMode} />
      </div>
    </form>
  )
}

function GiveUp({ draft, onMode }: Pick<CardProps, 'onMode'> & { readonly draft: string }): ReactNode {
  const onClick = () => {
    dropDraft(draft)
    onMode('look')
  }
  return (
    <button type="button" className="button" onClick={onClick}>
      Cancel
    </button>
  )
}

/** The schema of the answer has that of the arguments in it. */
function argumentsSchema({ schema }: Approval): Schema {
  const properties = schema?.properties
  const found = isObject(properties) ? properties.arguments : undefined
  return isObject(found) ? found : {}
}

function Deny({ approval, onMode }: PartProps): ReactNode {
  const draft = `denial ${approval.id}`
  const [reason, setReason] = useDraft(draft, '')
  const onSend = () => {
    decide([approval], { decision: 'deny', ...(reason.trim() !== '' && { reason: reason.trim() }) })
    onMode('look')
  }
  return (
    <>
      <label className="labelled">
        <span className="label">Why not? The model reads it. (May be left out.)</span>
        <textarea
          className="field"
          rows={2}
          // biome-ignore lint/a11y/noAutofocus: the reader has just asked for it
          autoFocus
          value={reason}
          onChange={({ target }) => setReason(target.value)}
        />
      </label>
      <div className="buttons">
        <button type="button" className="button harsh" onClick={onSend}>
          Deny
        </button>
        <GiveUp draft={draft} onMode={onMode} />
      </div>
    </>
  )
}
