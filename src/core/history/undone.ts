/**
 * Duty: decide which entries of a history no longer count for what a worker knows, because somebody took turns back from outside.
 * UNDONE-1 Nothing is removed or rewritten. An entry `undone` leaves out what stands between the position that it names and its own; `redone` takes
 *          the last of these back.
 * UNDONE-2 Without such entries nothing is done: most histories have none.
 */
import type { Entry } from './entry.ts'

export interface PlacedEntry {
  readonly position: number
  readonly entry: Entry
}

/** Entries from `from` to before `to` do not count. */
interface Undone {
  readonly from: number
  readonly to: number
  /** System messages among them count all the same. */
  readonly all: boolean
}

function undoneIn(items: readonly PlacedEntry[]): readonly Undone[] {
  const undone: Undone[] = []
  for (const { position, entry } of items) {
    if (entry.type === 'undone') undone.push({ from: entry.from, to: position, all: entry.all === true })
    else if (entry.type === 'redone') undone.pop()
  }
  return undone
}

/** The entries that count, in their order. */
export function countingEntries<Item extends PlacedEntry>(items: readonly Item[]): readonly Item[] {
  const undone = undoneIn(items)
  if (undone.length === 0) return items
  const isUndone = ({ position, entry }: PlacedEntry) =>
    undone.some(({ from, to, all }) => position >= from && position < to && !(all && entry.type === 'system'))
  return items.filter((item) => !isUndone(item))
}

const begins = ['{"type":"undone"', '{"type":"redone"'] as const

/** True for a stored entry that changes which others count. */
export function changesWhatCounts(json: string): boolean {
  return json.startsWith(begins[0]) || json.startsWith(begins[1])
}

const said: ReadonlySet<Entry['type']> = new Set([
  'user',
  'assistant',
  'toolResult',
  'system',
  'error',
  'summary',
  'blank',
])
const changesOnly: ReadonlySet<Entry['type']> = new Set(['undone', 'redone'])

/** Where the last turn begins: what was said in the last run, or was added behind it. Null if there is no turn that can be taken back. */
export function lastTurn(items: readonly PlacedEntry[]): { readonly from: number; readonly run: number } | null {
  const counting = countingEntries(items)
  const last = counting.findLast(({ entry }) => said.has(entry.type))
  const run = last?.entry.run
  if (run === undefined || run === 0) return null
  const beginsTurn = (entry: Entry) => said.has(entry.type) || (entry.type === 'ordered' && entry.order.do === 'run')
  const first = counting.find(({ entry }) => entry.run === run && beginsTurn(entry))
  return first === undefined ? null : { from: first.position, run }
}

/** Where the conversation begins. Null if nothing was said but system messages. */
export function beginningOf(items: readonly PlacedEntry[]): number | null {
  const isSaid = ({ type }: Entry) => said.has(type) && type !== 'system'
  return countingEntries(items).find(({ entry }) => isSaid(entry))?.position ?? null
}

/** The position of the entry `undone` that may be taken back: nothing came behind it. Null if there is none. */
export function lastUndone(items: readonly PlacedEntry[]): number | null {
  const undone = undoneIn(items).at(-1)
  if (undone === undefined) return null
  const cameLater = items.some(({ position, entry }) => position > undone.to && !changesOnly.has(entry.type))
  return cameLater ? null : undone.to
}
