/**
 * Duty: keys of the whole page and of its screens, and the list that `?` shows.
 * PAGE-KEYS-1 A key does nothing while somebody writes, or holds Ctrl, Alt or Meta down. A key that two parts want goes to the one that was shown last.
 */
import { useEffect, useRef, useSyncExternalStore } from 'react'

export interface Key {
  /** As `KeyboardEvent.key`; two keys after each other with a blank: `g s`. */
  readonly key: string
  /** What it does, for the list. */
  readonly does: string
  readonly run: () => void
}

interface Group {
  readonly title: string
  readonly keys: readonly Key[]
}

let groups: readonly { readonly current: Group }[] = []
const listeners = new Set<() => void>()
let first: string | null = null

function change(next: typeof groups): void {
  groups = next
  for (const listener of listeners) listener()
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || isWriting(event.target)) return
  // A dialog has the keys for itself.
  if (document.querySelector('dialog[open]') !== null) return
  const pressed = first === null ? event.key : `${first} ${event.key}`
  first = null
  const all = groups.toReversed().flatMap(({ current }) => current.keys)
  const found = all.find(({ key }) => key === pressed)
  if (found !== undefined) {
    event.preventDefault()
    found.run()
  } else if (all.some(({ key }) => key.startsWith(`${pressed} `))) first = pressed
}

export function listenToKeys(): void {
  addEventListener('keydown', onKey)
}

/** These keys work as long as the part that calls this is shown. */
export function useKeys(title: string, keys: readonly Key[]): void {
  const group = useRef<Group>({ title, keys })
  group.current = { title, keys }
  useEffect(() => {
    change([...groups, group])
    return () => change(groups.filter((other) => other !== group))
  }, [])
}

/** The groups of keys that work now. */
export function useKeyGroups(): readonly Group[] {
  const now = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => groups,
  )
  return now.map(({ current }) => current)
}
