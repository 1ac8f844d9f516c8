/** Duty: short notes at the edge of the page: what came of a change, with a way back where there is one. */
import { type ReactNode, useSyncExternalStore } from 'react'
import { Text } from './text.tsx'

export interface Note {
  readonly text: string
  readonly kind?: 'good' | 'bad'
  /** How long it stays. An error stays until somebody takes it away. */
  readonly ms?: number
  readonly undo?: () => void
}

interface Shown extends Note {
  readonly id: number
}

let notes: readonly Shown[] = []
let nextId = 0
const listeners = new Set<() => void>()

function set(next: readonly Shown[]): void {
  notes = next
  for (const listener of listeners) listener()
}

/** Shows a note, and returns a function that takes it away. */
export function say(note: Note): () => void {
  const id = nextId++
  const close = () => set(notes.filter((other) => other.id !== id))
  set([...notes.slice(-3), { ...note, id }])
  if (note.kind !== 'bad') setTimeout(close, note.ms ?? 4_000)
  return close
}

export function sayError(error: unknown): void {
  say({ text: error instanceof Error ? error.message : String(error), kind: 'bad' })
}

export function Notes(): ReactNode {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => notes,
  )
  return (
    <div className="notes" role="status">
      {shown.map((note) => (
        <NoteBox key={note.id} note={note} />
      ))}
    </div>
  )
}

function NoteBox({ note }: { readonly note: Shown }): ReactNode {
  const close = () => set(notes.filter((other) => other.id !== note.id))
  const undo = () => {
    close()
    note.undo?.()
  }
  return (
    <div className="note" data-kind={note.kind ?? 'good'}>
      <span>
        <Text text={note.text} />
      </span>
      {note.undo !== undefined && (
        <button type="button" className="button" onClick={undo}>
          Undo <kbd>u</kbd>
        </button>
      )}
      <button type="button" className="copy" onClick={close} aria-label="Close this note">
        ✕
      </button>
    </div>
  )
}
