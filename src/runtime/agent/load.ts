/**
 * Duty: build what an agent knows from the node's memory and the stored history, reading only entries that the node has not seen.
 * LOAD-1 A kept history is extended only if its last entry still stands at its position in the stored history (CACHE-2).
 */
import { ContextContainer } from '../../core/history/context-container.ts'
import { decodeEntry } from '../../core/history/entry.ts'
import { changesWhatCounts, countingEntries } from '../../core/history/undone.ts'
import type { Turn } from '../turn/turn.ts'
import { type HistoryCache, type KnownHistory, textBytes } from './history-cache.ts'

export async function loadHistory(turn: Turn, cache: HistoryCache): Promise<KnownHistory> {
  const { assignment } = turn
  if (assignment.commitId === '' && assignment.version === 0) return empty(turn)
  const cached = cache.take(assignment)
  if (cached?.isWhole) return cached.known
  if (cached && cached.known.length > 0) {
    const { known } = cached
    const [last, ...rest] = await read(turn, known.length - 1)
    if (last === known.lastJson && !rest.some(changesWhatCounts)) return extend(turn, known, rest)
  }
  return extend(turn, empty(turn), await read(turn, 0))
}

function read({ assignment, host }: Turn, from: number): Promise<readonly string[]> {
  return host.store.readHistory(assignment.workerId, from)
}

function empty({ assignment }: Turn): KnownHistory {
  const { sessionId, workerId, name, kind, parentId, depth } = assignment
  const container = new ContextContainer({ sessionId, workerId, name, kind, parentId, depth })
  return { container, length: 0, bytes: 0, lastJson: '' }
}

/** Adds the entries that follow on the known history. */
function extend(turn: Turn, known: KnownHistory, entries: readonly string[]): KnownHistory {
  const { container } = known
  const before = container.passedOver
  let { bytes } = known
  for (const json of entries) bytes += textBytes(json)
  if (entries.some(changesWhatCounts)) {
    const items = entries.map((json, index) => ({ position: known.length + index, entry: decodeEntry(json) }))
    for (const { entry } of countingEntries(items)) container.apply(entry)
  } else for (const json of entries) container.apply(decodeEntry(json))
  if (container.passedOver > before) {
    const { assignment, host } = turn
    const what = { entries: container.passedOver - before }
    host
      .workerLog(assignment, assignment.run)
      .warn('entries of the history could not be read and were passed over', what)
  }
  const length = known.length + entries.length
  return { ...known, length, bytes, lastJson: entries.at(-1) ?? known.lastJson }
}
