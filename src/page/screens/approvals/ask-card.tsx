/** Duty: what a worker asks of a person, in its place in the conversation: an approval, or a question with its answer. */
import { type ReactNode, type SubmitEvent, useState } from 'react'
import type { Ask } from '../../../client/person/asks.ts'
import { change } from '../../api/http.ts'
import { queries, useApprovals, useAsks } from '../../api/queries.ts'
import { dropDraft, useDraft } from '../../parts/dialog/draft.ts'
import { sayError } from '../../parts/dialog/notes.tsx'
import { emptyValue, SchemaForm } from '../../parts/dialog/schema-form.tsx'
import { Text } from '../../parts/text/text.tsx'
import { Age } from '../../parts/text/time.tsx'
import { ApprovalCard, type Mode } from './approval-card.tsx'

/** Shows nothing for an ask that is no longer open. */
export function AskCard({ id, session }: { readonly id: string; readonly session: string }): ReactNode {
  const [mode, setMode] = useState<Mode>('look')
  const approval = useApprovals({ session }).data?.approvals.find((one) => one.id === id)
  const ask = useAsks({ session }).data?.asks.find((one) => one.id === id)
  if (approval !== undefined) return <ApprovalCard approval={approval} mode={mode} onMode={setMode} isInSession />
  if (ask === undefined || ask.kind === 'approval') return null
  return <QuestionCard ask={ask} />
}

export function QuestionCard({ ask, children }: { readonly ask: Ask; readonly children?: ReactNode }): ReactNode {
  const { id, question, options, schema, kind, askedAt } = ask
  const draft = `answer to ${id}`
  const [value, setValue] = useDraft<unknown>(draft, schema === null ? '' : emptyValue(schema))
  const [isSent, setSent] = useState(false)
  const send = async (answer: unknown) => {
    setSent(true)
    try {
      await change('POST', `asks/${id}`, { body: { value: answer }, isOnce: true })
      dropDraft(draft)
      await queries.invalidateQueries({ queryKey: ['asks'] })
    } catch (error) {
      setSent(false)
      sayError(error)
    }
  }
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault()
    void send(value)
  }
  return (
    <article className="box approval" data-decided={isSent} aria-label="Question">
      <div className="box-head">
        <h2>
          {kind === 'signal' && 'Waits for the signal '}
          <Text text={question} />
        </h2>
        {children}
        <span className="muted">
          asked <Age since={askedAt} /> ago
        </span>
      </div>
      <div className="box-body">
        {options !== null ? (
          <div className="buttons">
            {options.map((option) => (
              <button key={option} type="button" className="button" disabled={isSent} onClick={() => void send(option)}>
                <Text text={option} isLine />
              </button>
            ))}
          </div>
        ) : (
          <form className="labelled-group" onSubmit={onSubmit}>
            <SchemaForm
              schema={schema ?? { type: kind === 'signal' ? 'any' : 'string' }}
              value={value}
              onChange={setValue}
              label="Answer"
            />
            <div className="buttons">
              <button type="submit" className="button main" disabled={isSent || value === undefined || value === ''}>
                Answer
              </button>
            </div>
          </form>
        )}
      </div>
    </article>
  )
}
