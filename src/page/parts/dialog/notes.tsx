/**
 * Duty: short notes at the edge of the page: what came of a change, with a button that takes it back if that is possible.
 * PAGE-NOTES-1 They lie over nothing that is pressed or written next: not over the composer, nor over what can be done with picked rows.
 */
import { type ReactNode, useLayoutEffect, useRef } from 'react'
import { useNow } from '../../clock.ts'
import { newStore, useStore } from '../../store.ts'
import { Text } from '../text/text.tsx'

export interface Note {
  readonly text: string
  readonly kind?: 'good' | 'bad'
  /** How long the note stays. An error stays until somebody takes it away. */
  readonly ms?: number
  readonly undo?: () => void
}

interface Shown extends Note {
  readonly id: number
}

const notes = newStore<readonly Shown[]>([])
let nextId = 0
const notesMost = 4

function close(id: number): void {
  notes.set(notes.get().filter((note) => note.id !== id))
}

/** Shows a note, and returns a function that takes it away. */
export function say(note: Note): () => void {
  const id = nextId++
  // A note with which something can be taken back is not dropped.
  const older = notes.get().toSpliced(0, Math.max(0, notes.get().length - notesMost + 1))
  const kept = notes.get().filter((one) => one.undo !== undefined || older.includes(one))
  notes.set([...kept, { ...note, id }])
  if (note.kind !== 'bad') setTimeout(() => close(id), note.ms ?? 4_000)
  return () => close(id)
}

/** Takes back what the newest note can take back. */
export function undoNewest(): void {
  const note = notes.get().findLast(({ undo }) => undo !== undefined)
  if (note !== undefined) undo(note)
}

function undo(note: Shown): void {
  close(note.id)
  note.undo?.()
}

export function sayError(error: unknown): void {
  say({ text: messageOf(error), kind: 'bad' })
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export function Notes(): ReactNode {
  const shown = useStore(notes)
  const box = useRef<HTMLDivElement>(null)
  const now = useNow()
  // biome-ignore lint/correctness/useExhaustiveDependencies: with time, what must stay free moves, or another screen is shown
  useLayoutEffect(() => {
    if (box.current !== null && shown.length > 0) box.current.style.marginBottom = `${heightToKeepFree()}px`
  }, [shown, now])
  return (
    <div ref={box} className="notes" role="status">
      {shown.map((note) => (
        <NoteBox key={note.id} note={note} />
      ))}
    </div>
  )
}

/** How far what must stay free (PAGE-NOTES-1) reaches above the lower edge of the screen. */
function heightToKeepFree(): number {
  const edge = document.querySelector('.screen')?.getBoundingClientRect().bottom ?? 0
  const tops = [...document.querySelectorAll('.composer, .pick-bar')].map((one) => one.getBoundingClientRect().top)
  return Math.max(0, edge - Math.min(edge, ...tops))
}

function NoteBox({ note }: { readonly note: Shown }): ReactNode {
  return (
    <div className="note" data-kind={note.kind ?? 'good'}>
      <span>
        <Text text={note.text} />
      </span>
      {note.undo !== undefined && (
        <button type="button" className="button" onClick={() => undo(note)}>
          Undo <kbd>u</kbd>
        </button>
      )}
      <button type="button" className="copy" onClick={() => close(note.id)} aria-label="Close this note">
        ✕
      </button>
    </div>
  )
}
