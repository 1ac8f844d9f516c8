/** Duty: show the secret of an endpoint, once: it is kept nowhere on this page. */
import type { ReactNode } from 'react'
import type { WebhookWithSecret } from '../../../client/webhook/webhook.ts'
import { Dialog } from '../../parts/dialog/dialog.tsx'
import { Command } from '../../parts/text/command.tsx'
import { Text } from '../../parts/text/text.tsx'

interface SecretDialogProps {
  readonly webhook: Pick<WebhookWithSecret, 'url' | 'secret'>
  readonly onClose: () => void
}

export function SecretDialog({ webhook: { url, secret }, onClose }: SecretDialogProps): ReactNode {
  return (
    <Dialog title="The secret of this endpoint" onClose={onClose}>
      <p>
        <span className="mono">
          <Text text={url} isLine />
        </span>{' '}
        verifies with it that a request comes from here.
      </p>
      <Command text={secret} />
      <p className="muted">Nobody can show it again. Who loses it rotates it, and gets another one.</p>
    </Dialog>
  )
}
