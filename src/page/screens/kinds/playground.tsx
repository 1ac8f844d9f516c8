/** Duty: begin a session of a kind, from a form that its input's schema describes; and the same as a command, curl and code. */
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, type SubmitEvent, useState } from 'react'
import type { KindSummary } from '../../../client/summaries.ts'
import { change } from '../../api/http.ts'
import { dropDraft, useDraft } from '../../parts/dialog/draft.ts'
import { say, sayError } from '../../parts/dialog/notes.tsx'
import { emptyValue, type Schema, SchemaForm } from '../../parts/dialog/schema-form.tsx'
import { Copy } from '../../parts/text/command.tsx'
import { Text } from '../../parts/text/text.tsx'

/** `input`: JSON Schema of its input, where its node has registered one. */
type PlayedKind = KindSummary & { readonly input?: Schema }

export interface Order {
  readonly kind: string
  readonly input: unknown
  readonly name?: string
  readonly keepOpen?: true
}

const anyText: Schema = { type: 'string', description: 'a text, or a JSON value' }

export function Playground({ kind }: { readonly kind: PlayedKind }): ReactNode {
  const schema = kind.input ?? anyText
  // An input is written for one schema.
  const draft = `input of ${kind.kind} ${JSON.stringify(schema)}`
  const [value, setValue] = useDraft<unknown>(draft, emptyValue(schema))
  const [name, setName] = useState('')
  const [keepsOpen, setKeepsOpen] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const navigate = useNavigate()
  const order: Order = {
    kind: kind.kind,
    input: kind.input === undefined ? readInput(value) : value,
    ...(name.trim() !== '' && { name: name.trim() }),
    ...(keepsOpen && { keepOpen: true }),
  }
  const isBlocked = isBusy || value === undefined || value === ''
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isBlocked) return
    setBusy(true)
    try {
      const { sessionId, warning } = await change<{ readonly sessionId: string; readonly warning: string | null }>(
        'POST',
        'sessions',
        { body: order, isOnce: true },
      )
      dropDraft(draft)
      if (warning !== null) say({ text: warning, ms: 10_000 })
      await navigate({ to: '/sessions/$id', params: { id: sessionId } })
    } catch (error) {
      sayError(error)
      setBusy(false)
    }
  }
  return (
    <form className="box-body" onSubmit={(event) => void onSubmit(event)}>
      {kind.description !== '' && (
        <p className="muted">
          <Text text={kind.description} />
        </p>
      )}
      <SchemaForm schema={schema} value={value} onChange={setValue} label="Input" />
      <label className="labelled">
        <span className="label">Name of the session (may be left out)</span>
        <input className="field" maxLength={64} value={name} onChange={({ target }) => setName(target.value)} />
      </label>
      <label className="check">
        <input type="checkbox" checked={keepsOpen} onChange={({ target }) => setKeepsOpen(target.checked)} />
        Keep it open: a conversation that takes further messages
      </label>
      <div className="buttons">
        <button type="submit" className="button main" disabled={isBlocked}>
          Start
        </button>
      </div>
      <Elsewhere order={order} />
    </form>
  )
}

/** The value as JSON if it is JSON, else the text. */
function readInput(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

function Elsewhere({ order }: { readonly order: Order }): ReactNode {
  const forms = { 'command line': commandOf(order), curl: curlOf(order), TypeScript: codeOf(order) }
  return (
    <details>
      <summary className="muted">The same elsewhere</summary>
      {Object.entries(forms).map(([name, text]) => (
        <section key={name} className="elsewhere">
          <h3>
            {name} <Copy text={text} what={name} />
          </h3>
          <pre className="code">
            <Text text={text} />
          </pre>
        </section>
      ))}
    </details>
  )
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function commandOf({ kind, input, name, keepOpen }: Order): string {
  const text = typeof input === 'string' ? input : JSON.stringify(input)
  const flags = [name === undefined ? '' : ` --name ${quoted(name)}`, keepOpen ? ' --keep-open' : '']
  return `troupe run ${kind} ${quoted(text)}${flags.join('')}`
}

function curlOf(order: Order): string {
  const address = new URL('v1/sessions', document.baseURI)
  return `curl ${address.href} -H 'content-type: application/json' -d ${quoted(JSON.stringify(order))}`
}

function codeOf(order: Order): string {
  return `const session = await troupe.sessions.create(${JSON.stringify(order, null, 2)})`
}
