/** Duty: short notes at the edge of the page: what came of a change, with a way back where there is one. */
import type { ReactNode } from 'react'
import { newStore, useStore } from '../store.ts'
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

const notes = newStore<readonly Shown[]>([])
let nextId = 0

function close(id: number): void {
  notes.set(notes.get().filter((note) => note.id !== id))
}

/** Shows a note, and returns a function that takes it away. */
export function say(note: Note): () => void {
  const id = nextId++
  notes.set([...notes.get().slice(-3), { ...note, id }])
  if (note.kind !== 'bad') setTimeout(() => close(id), note.ms ?? 4_000)
  return () => close(id)
}

export function sayError(error: unknown): void {
  say({ text: messageOf(error), kind: 'bad' })
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export function Notes(): ReactNode {
  return (
    <div className="notes" role="status">
      {useStore(notes).map((note) => (
        <NoteBox key={note.id} note={note} />
      ))}
    </div>
  )
}

function NoteBox({ note }: { readonly note: Shown }): ReactNode {
  const undo = () => {
    close(note.id)
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
      <button type="button" className="copy" onClick={() => close(note.id)} aria-label="Close this note">
        ✕
      </button>
    </div>
  )
}
