/** Duty: ask before one thing is done with several, by their names and their number; if it can do much harm, the reader types the number. */
import { type ReactNode, useState } from 'react'
import { Text } from '../text/text.tsx'
import { Dialog } from './dialog.tsx'

interface BatchDialogProps {
  readonly title: string
  readonly submit: string
  /** The name of each of them, in words. */
  readonly names: readonly string[]
  readonly isHarsh?: boolean
  /** With five or more of them, the reader types their number. */
  readonly isTyped?: boolean
  readonly isBlocked?: boolean
  readonly onSubmit: () => void
  readonly onClose: () => void
  readonly children?: ReactNode
}

const typedFrom = 5
const namesShown = 8

export function BatchDialog({
  names,
  isTyped = false,
  isBlocked = false,
  children,
  ...dialog
}: BatchDialogProps): ReactNode {
  const [text, setText] = useState('')
  const groups = [...Map.groupBy(names, (name) => name)]
  const mustType = isTyped && names.length >= typedFrom
  const onSubmit = () => {
    dialog.onClose()
    dialog.onSubmit()
  }
  return (
    <Dialog {...dialog} isBlocked={isBlocked || (mustType && text.trim() !== String(names.length))} onSubmit={onSubmit}>
      {names.length > 0 && (
        <ul className="names" aria-label="Of these">
          {groups.slice(0, namesShown).map(([name, { length }]) => (
            <li key={name} className="cut">
              {length > 1 && `${length} × `}
              <Text text={name} isLine />
            </li>
          ))}
          {groups.length > namesShown && <li className="muted">and {groups.length - namesShown} more</li>}
        </ul>
      )}
      {children}
      {mustType && (
        <label className="labelled">
          <span className="label">Type {names.length} to go on</span>
          <input className="field" inputMode="numeric" value={text} onChange={({ target }) => setText(target.value)} />
        </label>
      )}
    </Dialog>
  )
}
