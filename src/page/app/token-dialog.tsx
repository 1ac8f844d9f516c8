/** Duty: ask for the token that the server wants. */
import { type ReactNode, useState } from 'react'
import { setToken } from '../api/http.ts'
import { queries } from '../api/queries.ts'
import { Dialog } from '../parts/dialog/dialog.tsx'
import { Text } from '../parts/text/text.tsx'

interface TokenDialogProps {
  readonly why: string
  readonly onGiven: () => void
  readonly onClose: () => void
}

export function TokenDialog({ why, onGiven, onClose }: TokenDialogProps): ReactNode {
  const [text, setText] = useState('')
  const onSubmit = () => {
    setToken(text)
    onGiven()
    void queries.invalidateQueries()
  }
  return (
    <Dialog
      title="This server wants a token"
      onClose={onClose}
      submit="Use it"
      onSubmit={onSubmit}
      isBlocked={text.trim() === ''}
    >
      <p className="muted">
        <Text text={why} />
      </p>
      <label className="labelled">
        <span className="label">Token; this tab keeps it until it is closed</span>
        <input
          className="field mono"
          type="password"
          autoComplete="off"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </label>
    </Dialog>
  )
}
