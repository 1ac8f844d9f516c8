/** Duty: read an exported session that somebody drops on the page, or chooses, and show it. */
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { queries } from '../api/queries.ts'
import { openSessionFile, readSessionFile, useSessionFile } from '../api/session-file.ts'
import { sayError } from '../parts/dialog/notes.tsx'
import { Text } from '../parts/text/text.tsx'
import { Age } from '../parts/text/time.tsx'

export function DropFile(): ReactNode {
  const [isOver, setOver] = useState(false)
  const navigate = useNavigate()
  useEffect(() => {
    const onDrag = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      setOver(event.type === 'dragover')
    }
    const onDrop = (event: DragEvent) => {
      const [file] = event.dataTransfer?.files ?? []
      setOver(false)
      if (file === undefined) return
      event.preventDefault()
      void show(file, (id) => void navigate({ to: '/sessions/$id', params: { id } }))
    }
    addEventListener('dragover', onDrag)
    addEventListener('dragleave', onDrag)
    addEventListener('drop', onDrop)
    return () => {
      removeEventListener('dragover', onDrag)
      removeEventListener('dragleave', onDrag)
      removeEventListener('drop', onDrop)
    }
  }, [navigate])
  return isOver ? <div className="drop">Drop an exported session to read it here. Nothing of it is sent.</div> : null
}

async function show(file: File, go: (id: string) => void): Promise<void> {
  try {
    const read = readSessionFile(file.name, await file.text())
    openSessionFile(read)
    queries.clear()
    go(read.report.session.id)
  } catch (error) {
    sayError(error)
  }
}

/** Says that a session is read from a file. */
export function FileNotice({ id }: { readonly id: string }): ReactNode {
  const file = useSessionFile()
  const navigate = useNavigate()
  if (file?.report.session.id !== id) return null
  const close = () => {
    openSessionFile(null)
    queries.clear()
    void navigate({ to: '/sessions' })
  }
  return (
    <div className="holdup">
      <span>
        From the file <Text text={file.name} isLine />
        {file.exportedAt !== null && (
          <>
            , exported <Age since={file.exportedAt} /> ago
          </>
        )}
        . Nothing of it changes.
        {file.unreadable > 0 && ` ${file.unreadable} lines cannot be read.`}
      </span>
      <button type="button" className="button" onClick={close}>
        Close the file
      </button>
    </div>
  )
}
