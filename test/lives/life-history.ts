/** Duty: what the history of a life gives: the conversation, its prompt, and whether an undo of a summary is exact (LIFE-3). */
import { ContextContainer } from '../../src/core/history/context-container.ts'
import type { Entry } from '../../src/core/history/entry.ts'
import { countingEntries, type PlacedEntry } from '../../src/core/history/undone.ts'

const expanded: Entry = { type: 'expanded', v: 1, at: 1, run: 1, epoch: 1 }

export function placed(entries: readonly Entry[]): readonly PlacedEntry[] {
  return entries.map((entry, position) => ({ position, entry }))
}

/** The context that the entries which count make. */
export function folded(items: readonly PlacedEntry[]): ContextContainer {
  const container = new ContextContainer({
    sessionId: 's',
    workerId: 'w',
    name: 'agent',
    kind: 'agent',
    parentId: null,
    depth: 0,
  })
  for (const { entry } of countingEntries(items)) container.apply(structuredClone(entry))
  return container
}

/** Is this an entry that makes prompts shorter, and that can be taken back? */
export function isShortening({ entry: { type } }: PlacedEntry): boolean {
  return type === 'compacted' || type === 'cleared'
}

/** Does the prompt, as JSON, hold this text of a user? */
export function isIn(promptJson: string, text: string): boolean {
  return text.trim() === '' || promptJson.includes(JSON.stringify(text.replace(/^(?=\[Prev)/gm, '> ')).slice(1, -1))
}

/** LIFE-3 */
export function undoFaults(items: readonly PlacedEntry[]): string[] {
  const shortened = items.filter(isShortening)
  if (shortened.length === 0) return []
  const plain = promptOf(items.filter((item) => !isShortening(item) && item.entry.type !== 'expanded'))
  const undone = promptOf(expandedAfter(items, shortened.length))
  const faults = undone === plain ? [] : [`the prompt without its summaries is another: ${undone} ${plain}`]
  for (const { position, entry } of shortened) {
    const before = promptOf(items.slice(0, position))
    const again = promptOf(expandedAfter(items.slice(0, position + 1), 1))
    if (again !== before) faults.push(`undo of ${entry.type} does not give the prompt that was before`)
  }
  return faults
}

function promptOf(items: readonly PlacedEntry[]): string {
  return JSON.stringify(folded(items).history.prompt())
}

function expandedAfter(items: readonly PlacedEntry[], times: number): readonly PlacedEntry[] {
  const more = Array.from({ length: times }, (_, index) => ({ position: items.length + index, entry: expanded }))
  return [...items, ...more]
}
