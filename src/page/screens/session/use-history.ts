/**
 * Duty: the history of one worker as the page has read it: the newest entries first, earlier ones when somebody asks, new ones as they come.
 * HISTORY-PAGE-1 It never reads a whole history at once. Its entries have no gaps.
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import type { HistoryItem } from '../../../client/worker.ts'
import { get, isFinal } from '../../api/http.ts'
import { useRefresh } from '../../api/liveness.ts'

const pageSize = 100
/** New entries come in pieces of this many at most. */
const newMost = 1_000
/** A read that failed is made again after so long. */
const failedMs = 2_000

export interface LoadedHistory {
  readonly items: readonly HistoryItem[]
  readonly hasEarlier: boolean
  readonly isLoading: boolean
  readonly error: Error | null
  readonly loadEarlier: () => void
}

async function read(workerId: string, after: number, limit: number): Promise<readonly HistoryItem[]> {
  return (
    await get<{ readonly entries: readonly HistoryItem[] }>(`workers/${workerId}/history`, { query: { after, limit } })
  ).entries
}

/**
 * The history of one worker. To show another worker, React must make the component anew: give it the worker's id as `key`.
 * `length`: how many entries the history has, as the newest report says.
 * `changes` grows when something of the worker was recorded. `onRead`: called when new entries were read. Entries that a silent server did not give
 * are asked for again.
 */
export function useHistory(workerId: string, length: number, changes: number, onRead: () => void): LoadedHistory {
  const [items, setItems] = useState<readonly HistoryItem[] | undefined>()
  const [error, setError] = useState<Error | null>(null)
  const againMs = useRefresh(failedMs)
  const last = useRef<number | undefined>(undefined)
  const isBusy = useRef(false)
  const isWanted = useRef(false)

  const readNew = useCallback(
    async (length: number) => {
      isWanted.current = true
      if (isBusy.current) return
      isBusy.current = true
      while (isWanted.current) {
        isWanted.current = false
        const isFirst = last.current === undefined
        const after = last.current ?? Math.max(-1, length - 1 - pageSize)
        const found = await read(workerId, after, isFirst ? pageSize : newMost).catch((reason: Error) => reason)
        setError(found instanceof Error ? found : null)
        if (found instanceof Error) break
        last.current = found.at(-1)?.position ?? after
        if (found.length > 0 || isFirst) setItems((before = []) => joined(before, found))
        if (found.length === newMost) isWanted.current = true
      }
      isBusy.current = false
      onRead()
    },
    [workerId, onRead],
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change is the reason to read
  useEffect(() => {
    void readNew(length)
  }, [length, changes, readNew])
  useEffect(() => {
    if (error === null || againMs === false || isFinal(error)) return
    const timer = setTimeout(() => void readNew(length), againMs)
    return () => clearTimeout(timer)
  }, [error, againMs, length, readNew])

  const first = items?.[0]?.position ?? 0
  const loadEarlier = () => {
    const after = Math.max(-1, first - 1 - pageSize)
    read(workerId, after, first - 1 - after).then((found) => setItems((before = []) => joined(before, found)), setError)
  }
  return {
    items: items ?? [],
    hasEarlier: first > 0,
    isLoading: items === undefined && error === null,
    error,
    loadEarlier,
  }
}

/** Both lists in the order of their positions, each entry once. */
function joined(before: readonly HistoryItem[], found: readonly HistoryItem[]): readonly HistoryItem[] {
  const [first, last] = [before[0]?.position, before.at(-1)?.position]
  if (first === undefined || last === undefined) return found
  return [
    ...found.filter(({ position }) => position < first),
    ...before,
    ...found.filter(({ position }) => position > last),
  ]
}
