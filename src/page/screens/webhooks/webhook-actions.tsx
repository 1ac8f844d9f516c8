/** Duty: what can be done with an endpoint: test it, disable and enable it, give it another secret, remove it. */
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Webhook, WebhookWithSecret } from '../../../client/webhook/webhook.ts'
import { change } from '../../api/http.ts'
import { queries } from '../../api/queries.ts'
import { useKeys } from '../../keys.ts'
import { Dialog } from '../../parts/dialog/dialog.tsx'
import { say, sayError } from '../../parts/dialog/notes.tsx'
import { Text } from '../../parts/text/text.tsx'
import { SecretDialog } from './secret-dialog.tsx'

const undoMs = 10_000

/** Reads again everything that is shown of endpoints. */
function readAgain(): Promise<void> {
  return queries.invalidateQueries({ predicate: ({ queryKey: [path] }) => String(path).startsWith('webhooks') })
}

async function set(id: string, deed: 'enable' | 'disable'): Promise<void> {
  try {
    await change('POST', `webhooks/${id}/${deed}`)
    const back = deed === 'enable' ? 'disable' : 'enable'
    say({
      text: deed === 'enable' ? 'It gets notices of what happens from now on.' : 'It gets no notices any more.',
      ms: undoMs,
      undo: () => void set(id, back),
    })
    await readAgain()
  } catch (error) {
    sayError(error)
  }
}

async function test(id: string): Promise<void> {
  try {
    await change('POST', `webhooks/${id}/test`)
    say({ text: 'A node sends it a test: the deliveries below say what comes of it.' })
    await readAgain()
  } catch (error) {
    sayError(error)
  }
}

export function WebhookActions({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { id, state } = webhook
  const [asked, setAsked] = useState<'rotate' | 'remove' | null>(null)
  const isDisabled = state === 'disabled'
  const toggle = () => void set(id, isDisabled ? 'enable' : 'disable')
  const key = (name: string) => <kbd>{name}</kbd>
  useKeys('Endpoint', [
    { key: 't', does: 'send a test', run: () => void test(id) },
    { key: 'D', does: 'disable, enable', run: toggle },
    { key: 'R', does: 'another secret', run: () => setAsked('rotate') },
    { key: 'X', does: 'remove it', run: () => setAsked('remove') },
  ])
  return (
    <div className="buttons">
      <button type="button" className="button main" disabled={isDisabled} onClick={() => void test(id)}>
        Send a test {key('t')}
      </button>
      <button type="button" className="button" onClick={toggle}>
        {isDisabled ? 'Enable' : 'Disable'} {key('D')}
      </button>
      <button type="button" className="button" onClick={() => setAsked('rotate')}>
        Rotate its secret {key('R')}
      </button>
      <button type="button" className="button harsh" onClick={() => setAsked('remove')}>
        Remove {key('X')}
      </button>
      {asked === 'rotate' && <RotateDialog webhook={webhook} onClose={() => setAsked(null)} />}
      {asked === 'remove' && <RemoveDialog webhook={webhook} onClose={() => setAsked(null)} />}
    </div>
  )
}

interface DialogProps {
  readonly webhook: Webhook
  readonly onClose: () => void
}

function RotateDialog({ webhook: { id }, onClose }: DialogProps): ReactNode {
  const [atOnce, setAtOnce] = useState(false)
  const [rotated, setRotated] = useState<WebhookWithSecret | null>(null)
  const onSubmit = async () => {
    try {
      // The second of two rotations would end the secret that receivers have.
      const reply = await change<WebhookWithSecret>('POST', `webhooks/${id}/rotate`, { body: { atOnce }, isOnce: true })
      setRotated(reply)
      await readAgain()
    } catch (error) {
      onClose()
      sayError(error)
    }
  }
  if (rotated !== null) return <SecretDialog webhook={rotated} onClose={onClose} />
  return (
    <Dialog title="Give it another secret" submit="Rotate" onSubmit={() => void onSubmit()} onClose={onClose}>
      <p>For 24 hours requests have signatures of both secrets, so that the receiver can change to the new one.</p>
      <label className="check">
        <input type="checkbox" checked={atOnce} onChange={({ target }) => setAtOnce(target.checked)} />
        The former one ends now: somebody else may know it
      </label>
    </Dialog>
  )
}

function RemoveDialog({ webhook: { id, url }, onClose }: DialogProps): ReactNode {
  const navigate = useNavigate()
  const onSubmit = async () => {
    onClose()
    try {
      await change('DELETE', `webhooks/${id}`)
      say({ text: `Removed: nothing more is sent to ${url}.` })
      await navigate({ to: '/webhooks' })
      await readAgain()
    } catch (error) {
      sayError(error)
    }
  }
  return (
    <Dialog title="Remove this endpoint" submit="Remove" isHarsh onSubmit={() => void onSubmit()} onClose={onClose}>
      <p className="mono">
        <Text text={url} isLine />
      </p>
      <p>Nothing more is sent to it, also of what is on its way. This cannot be taken back.</p>
    </Dialog>
  )
}
