/** Duty: a dialog of the browser, which holds the focus and closes with Escape. */
import { type ReactNode, type SubmitEvent, useEffect, useId, useRef } from 'react'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  /** With a word, the dialog is a form that can be sent. */
  readonly submit?: string
  readonly onSubmit?: () => void
  readonly isHarsh?: boolean
  readonly isBlocked?: boolean
}

export function Dialog({ title, onClose, children, submit, onSubmit, isHarsh, isBlocked }: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    dialog.current?.showModal()
    // The focus may be on a button at its end: it is read from its beginning.
    dialog.current?.scrollTo(0, 0)
  }, [])
  const onSubmitted = (event: SubmitEvent) => {
    event.preventDefault()
    onSubmit?.()
  }
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onClose={onClose}>
      <form className="dialog-form" onSubmit={onSubmitted}>
        <h1 id={titleId}>{title}</h1>
        {children}
        <div className="buttons">
          {submit !== undefined && (
            <button
              type="submit"
              className={`button ${isHarsh === true ? 'harsh' : 'main'}`}
              disabled={isBlocked === true}
            >
              {submit}
            </button>
          )}
          <button type="button" className="button" onClick={onClose}>
            {submit === undefined ? 'Close' : 'Back'}
          </button>
        </div>
      </form>
    </dialog>
  )
}
