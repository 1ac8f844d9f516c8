/** Duty: what an agent knows, from the node's memory and the stored history: reads only what the node has not seen. */
import { ContextContainer } from '../../core/history/context-container.ts'
import { decodeEntry } from '../../core/history/entry.ts'
import type { Turn } from '../turn/turn.ts'
import { type HistoryCache, type KnownHistory, textBytes } from './history-cache.ts'

export async function loadHistory(turn: Turn, cache: HistoryCache): Promise<KnownHistory> {
  const { grant, host } = turn
  if (grant.commitId === '' && grant.version === 0) return empty(turn)
  const cached = cache.take(grant)
  if (cached?.isWhole) return cached.known
  if (cached && cached.known.length > 0) {
    const { known } = cached
    const [last, ...rest] = await host.store.readHistory(grant.workerId, known.length - 1)
    if (last === known.lastJson) return extend(turn, known, rest)
  }
  return extend(turn, empty(turn), await host.store.readHistory(grant.workerId, 0))
}

function empty({ grant }: Turn): KnownHistory {
  const { sessionId, workerId, name, kind, parentId, depth } = grant
  const container = new ContextContainer({ sessionId, workerId, name, kind, parentId, depth })
  return { container, length: 0, bytes: 0, lastJson: '' }
}

function extend(turn: Turn, known: KnownHistory, entries: readonly string[]): KnownHistory {
  const { container } = known
  const before = container.passedOver
  let { bytes } = known
  for (const json of entries) {
    bytes += textBytes(json)
    container.apply(decodeEntry(json))
  }
  if (container.passedOver > before) {
    const { grant, host } = turn
    const what = { entries: container.passedOver - before }
    host.workerLog(grant, grant.run).warn('entries of the history could not be read and were passed over', what)
  }
  return { container, length: known.length + entries.length, bytes, lastJson: entries.at(-1) ?? known.lastJson }
}
