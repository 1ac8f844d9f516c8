/** The histories that a node keeps in memory: never used when they are out of date, and never larger than the limit. */
import { getHeapStatistics, type HeapInfo } from 'node:v8'
import { describe, expect, test, vi } from 'vitest'
import type { Assignment } from '../../../../src/core/ports/ports.ts'
import { HistoryCache, type KnownHistory } from '../../../../src/runtime/agent/history-cache.ts'
import type { TurnOutcome } from '../../../../src/runtime/turn/turn-state.ts'

// Another file may have loaded the cache without the mock.
vi.hoisted(() => void vi.resetModules())
vi.mock('node:v8', { spy: true })

const assignmentOf = (workerId: string, more: Partial<Assignment> = {}) =>
  ({ workerId, commitId: '1:n:1', version: 3, ...more }) as Assignment
const outcome = (more: Partial<TurnOutcome> = {}): TurnOutcome => ({
  over: 'ended',
  aborted: false,
  commitId: '1:n:1',
  version: 3,
  ...more,
})
/** A history that takes this many kilobytes of memory: 3 000 bytes for a worker, 200 for an entry, and the text. */
const known = (kilobytes: number, length = 1) =>
  ({ bytes: kilobytes * 1_000 - 3_000 - length * 200, length, lastJson: '{}' }) as KnownHistory

describe('the kept history of a worker', () => {
  test('the kept history of a worker is used once, as complete, if the last commit belongs to the turn that kept it (CACHE-1)', () => {
    const cache = new HistoryCache(100_000)
    const one = known(10)
    cache.give('w', outcome(), one)
    expect(cache.take(assignmentOf('other'))).toBeNull()
    expect(cache.take(assignmentOf('w'))).toEqual({ known: one, isWhole: true })
    expect(cache.take(assignmentOf('w'))).toBeNull()
  })

  test.each<[string, Partial<Assignment>]>([
    ['another commit', { commitId: '2:m:1' }],
    ['another version', { version: 4 }],
  ])('the kept history of a worker may be incomplete if the record has %s', (_, more) => {
    const cache = new HistoryCache(100_000)
    cache.give('w', outcome(), known(10))
    expect(cache.take(assignmentOf('w', more))).toMatchObject({ isWhole: false })
  })

  test.each<[string, Partial<TurnOutcome>]>([
    ['is not over', { over: undefined }],
    ['was fenced', { over: 'fenced' }],
    ['heard no answer', { over: 'unreachable' }],
    ['was cancelled', { aborted: true }],
  ])('the kept history of a worker is dropped if its turn %s, because nobody knows what was recorded', (_, more) => {
    const cache = new HistoryCache(100_000)
    cache.give('w', outcome(more), known(10))
    expect(cache.take(assignmentOf('w'))).toBeNull()
  })

  test('the cache keeps the newest history of a worker', () => {
    const cache = new HistoryCache(100_000)
    const [first, second] = [known(10), known(20)]
    cache.give('w', outcome(), first)
    cache.give('w', outcome(), second)
    expect(cache.take(assignmentOf('w'))?.known).toBe(second)
  })
})

describe('the memory of the cache', () => {
  const kept = (cache: HistoryCache, ...ids: string[]) => ids.filter((id) => cache.take(assignmentOf(id)) !== null)

  test('the memory of the cache stays within its limit: it drops the oldest histories first (CACHE-3)', () => {
    const cache = new HistoryCache(100_000)
    for (const id of ['a', 'b', 'c']) cache.give(id, outcome(), known(40))
    expect(kept(cache, 'a', 'b', 'c')).toEqual(['b', 'c'])
  })

  test('the memory of the cache counts memory, which is more than the text if there are many short entries', () => {
    const cache = new HistoryCache(100_000)
    const [short, long] = [known(60, 280), known(60, 1)]
    expect([short.bytes, long.bytes]).toEqual([1_000, 56_800])
    cache.give('a', outcome(), short)
    cache.give('b', outcome(), short)
    expect(kept(cache, 'a', 'b')).toEqual(['b'])
  })

  test('the memory of the cache is by default at most an eighth of the heap limit', () => {
    vi.mocked(getHeapStatistics).mockReturnValue({ heap_size_limit: 800_007 } as HeapInfo)
    const cache = new HistoryCache()
    cache.give('a', outcome(), known(100))
    cache.give('b', outcome(), known(101))
    expect(kept(cache, 'a', 'b')).toEqual(['a'])
  })

  test('a history may fill the limit of the cache exactly', () => {
    const cache = new HistoryCache(100_000)
    for (const id of ['a', 'b']) cache.give(id, outcome(), known(50))
    cache.give('whole', outcome(), known(100))
    expect(kept(cache, 'a', 'b', 'whole')).toEqual(['whole'])
    for (const id of ['a', 'b']) cache.give(id, outcome(), known(50))
    expect(kept(cache, 'a', 'b')).toEqual(['a', 'b'])
  })

  test('a history that alone exceeds the limit of the cache is not kept, and no other is dropped for it', () => {
    const cache = new HistoryCache(100_000)
    cache.give('a', outcome(), known(10))
    cache.give('long', outcome(), known(101))
    expect(kept(cache, 'a', 'long')).toEqual(['a'])
  })

  test('the memory of the cache is free again when a history is taken or replaced', () => {
    const cache = new HistoryCache(100_000)
    cache.give('a', outcome(), known(60))
    expect(kept(cache, 'a')).toEqual(['a'])
    cache.give('b', outcome(), known(60))
    cache.give('b', outcome(), known(50))
    cache.give('c', outcome(), known(50))
    expect(kept(cache, 'b', 'c')).toEqual(['b', 'c'])
  })
})
