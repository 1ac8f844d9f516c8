/** Duty: ask for the address and the wishes of a new endpoint. If the server refuses something, the dialog says so, and nothing that was typed is lost. */
import { type ReactNode, useState } from 'react'
import type { AddWebhook, NoticeType, WebhookWithSecret } from '../../../client/webhook/webhook.ts'
import { noticeTypes, noticeTypesAtStart } from '../../../core/webhook/notice.ts'
import { change } from '../../api/http.ts'
import { queries } from '../../api/queries.ts'
import { Dialog } from '../../parts/dialog/dialog.tsx'
import { messageOf } from '../../parts/dialog/notes.tsx'
import { Text } from '../../parts/text/text.tsx'
import { wordsOfTypes } from './notice-words.ts'

interface AddDialogProps {
  readonly onAdded: (added: WebhookWithSecret) => void
  readonly onClose: () => void
}

export function AddDialog({ onAdded, onClose }: AddDialogProps): ReactNode {
  const [url, setUrl] = useState('')
  const [types, setTypes] = useState<readonly NoticeType[]>(noticeTypesAtStart)
  const [kinds, setKinds] = useState('')
  const [names, setNames] = useState('')
  const [hasResult, setHasResult] = useState(false)
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const onSubmit = async () => {
    setBusy(true)
    setProblem('')
    const body: AddWebhook = {
      url: url.trim(),
      types,
      ...listIn('kinds', kinds),
      ...listIn('names', names),
      ...(hasResult && { include: 'result' }),
    }
    try {
      const added = await change<WebhookWithSecret>('POST', 'webhooks', { body, isOnce: true })
      await queries.invalidateQueries({ queryKey: ['webhooks'] })
      onAdded(added)
    } catch (error) {
      setProblem(messageOf(error))
      setBusy(false)
    }
  }
  const toggle = (type: NoticeType) =>
    setTypes(noticeTypes.filter((one) => (one === type ? !types.includes(one) : types.includes(one))))
  return (
    <Dialog
      title="Add an endpoint"
      submit="Add"
      onSubmit={() => void onSubmit()}
      onClose={onClose}
      isBlocked={isBusy || url.trim() === '' || types.length === 0}
    >
      <p className="muted">An address that gets a signed request for each of these, from now on.</p>
      <Field label="Address" value={url} onChange={setUrl} placeholder="https://example.com/hooks/troupe" />
      <fieldset className="plain-set labelled">
        <legend className="label">It is told when</legend>
        {noticeTypes.map((type) => (
          <label key={type} className="check">
            <input type="checkbox" checked={types.includes(type)} onChange={() => toggle(type)} />
            <span>
              {wordsOfTypes[type]} <code className="muted">{type}</code>
            </span>
          </label>
        ))}
      </fieldset>
      <Field label="Only of these kinds, with commas between (may be left out)" value={kinds} onChange={setKinds} />
      <Field label="Only sessions with these names (may be left out)" value={names} onChange={setNames} />
      <label className="check">
        <input type="checkbox" checked={hasResult} onChange={({ target }) => setHasResult(target.checked)} />
        Also what came of it: the result, the question, the evidence
      </label>
      {problem !== '' && (
        <p className="bad" role="alert">
          <Text text={problem} />
        </p>
      )}
    </Dialog>
  )
}

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (text: string) => void
  readonly placeholder?: string
}

function Field({ label, value, onChange, placeholder }: FieldProps): ReactNode {
  return (
    <label className="labelled">
      <span className="label">{label}</span>
      <input
        className="field"
        value={value}
        placeholder={placeholder}
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  )
}

function listIn(field: 'kinds' | 'names', text: string): Partial<Record<'kinds' | 'names', readonly string[]>> {
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean)
  return words.length === 0 ? {} : { [field]: words }
}
