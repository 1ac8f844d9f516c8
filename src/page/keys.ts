/**
 * Duty: keys of the whole page and of its screens, and the list that `?` shows.
 * PAGE-KEYS-1 A key does nothing while somebody writes (but for Escape), or holds Ctrl, Alt or Meta down. A key that two parts want goes to the one that
 *             was shown last. Enter and the space bar stay with the button, link, box or fold that has the focus.
 */
import { useLayoutEffect, useRef } from 'react'
import { newStore, useStore } from './store.ts'

export interface Key {
  /** The key as `KeyboardEvent.key`; two keys after each other with a blank: `g s`. */
  readonly key: string
  /** What the key does, for the list. Empty: the line of another key says it. */
  readonly does: string
  readonly run: () => void
}

interface Group {
  readonly title: string
  readonly keys: readonly Key[]
}

const groups = newStore<readonly { readonly current: Group }[]>([])
let first: string | null = null

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest('input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]') !== null
  )
}

function isOfElement({ key, target, isComposing }: KeyboardEvent): boolean {
  const acts = key === 'Enter' || key === ' '
  if (acts && target instanceof HTMLElement && target.closest('a, button, summary, input') !== null) return true
  return isWriting(target) && (key !== 'Escape' || isComposing)
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || isOfElement(event)) return
  // A dialog has the keys for itself.
  if (document.querySelector('dialog[open]') !== null) return
  const pressed = first === null ? event.key : `${first} ${event.key}`
  first = null
  const all = groups
    .get()
    .toReversed()
    .flatMap(({ current }) => current.keys)
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
  // The keys work before the part is painted: whoever sees it may press a key at once.
  useLayoutEffect(() => {
    groups.set([...groups.get(), group])
    return () => groups.set(groups.get().filter((other) => other !== group))
  }, [])
}

/** The groups of keys that work now. */
export function useKeyGroups(): readonly Group[] {
  return useStore(groups).map(({ current }) => current)
}
