/** A tail that lags is told what was trimmed meanwhile (E-a), and one that does not is told nothing of it: by answers of the test. */
import { EventEmitter } from 'node:events'
import { setImmediate as later } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { EventTail } from '../../src/store/event/event-tail.ts'
import { partitionKeys } from '../../src/store/keys.ts'
import type { Redis } from '../../src/store/redis/redis.ts'
import { waitUntil } from '../support/wait-until.ts'

type Entries = [id: string, flat: string[]][]

const entries = (...numbers: number[]): Entries => numbers.map((number) => [`${number}-0`, ['session', `${number}`]])

interface Stream {
  /** What each read gives, one after the other; an error is thrown. */
  readonly reads: readonly (Entries | Error)[]
  readonly newest?: string
  /** Which entry is still there when it is asked for. */
  readonly isKept?: boolean
  /** What XINFO says. */
  readonly info?: readonly unknown[]
  /** Whether a sweep noted that it trimmed events. */
  readonly isNoted?: boolean
}

/** Whether it was told of entries that are gone: after which, and before which entry. */
async function trimmedIn({ reads, newest, isKept = false, info = [], isNoted = false }: Stream, isLost = false) {
  const left = [...reads]
  const connection = Object.assign(new EventEmitter(), {
    xrevrange: async () => (newest === undefined ? [] : [[newest, []]]),
    async xread() {
      // As over a network: who asked to be told listens by then.
      await later()
      const next = left.shift()
      if (next === undefined) return new Promise(() => {})
      if (next instanceof Error) throw next
      return [['events', next]]
    },
    xrange: async (_: string, id: string) => (isKept ? [[id, []]] : []),
    xinfo: async () => info,
    hexists: async () => (isNoted ? 1 : 0),
  })
  const told: string[] = []
  const keys = partitionKeys('{x.0}')
  const tail = new EventTail(connection as unknown as Redis, keys, 5_000, (after) => told.push(`trimmed ${after}`))
  const listening = tail.listen(({ id }) => void told.push(id))
  if (isLost) connection.emit('close')
  await listening
  const count = reads.reduce((total, read) => total + (read instanceof Error ? 0 : read.length), 0)
  await waitUntil('all is told', () => told.filter((one) => !one.startsWith('trimmed')).length === count)
  return told.filter((one) => one.startsWith('trimmed'))
}

const page = entries(...Array.from({ length: 500 }, (_, index) => index + 10))

test('a reader of a full page lags: more may be trimmed before the next one', async () => {
  expect(await trimmedIn({ newest: '9-0', reads: [page, entries(900)] })).toEqual(['trimmed 509-0'])
  expect(await trimmedIn({ newest: '9-0', reads: [page, entries(510), entries(511)] })).toEqual(['trimmed 509-0'])
  expect(await trimmedIn({ newest: '9-0', reads: [page, entries(900)], isKept: true })).toEqual([])
})

test('a reader of less than a page does not lag, and asks for nothing', async () => {
  expect(await trimmedIn({ newest: '9-0', reads: [page.slice(1), entries(900)] })).toEqual([])
})

test('a reader that failed to read, or lost the connection, lags', async () => {
  const failed = [new Error('LOADING Redis is loading'), entries(20)]
  expect(await trimmedIn({ newest: '9-0', reads: failed })).toEqual(['trimmed 9-0'])
  expect(await trimmedIn({ newest: '9-0', reads: [entries(20)] }, true)).toEqual(['trimmed 9-0'])
})

test.each<[string, Partial<Stream>, string[]]>([
  ['and nothing was ever trimmed', { info: ['length', 1, 'entries-added', 1] }, []],
  ['and some were trimmed since', { info: ['length', 1, 'entries-added', 7] }, ['trimmed 0-0']],
  ['of a Redis that cannot tell, as before 7.0, and no sweep took any', { info: ['length', 1] }, []],
  [
    'of a Redis that was too old to tell when a sweep took some',
    { info: ['length', 1, 'entries-added', 1], isNoted: true },
    ['trimmed 0-0'],
  ],
  ['of a Redis that cannot tell, and a sweep took some', { info: ['length', 1], isNoted: true }, ['trimmed 0-0']],
])('who began before the first entry, %s', async (_, stream, told) => {
  expect(await trimmedIn({ reads: [entries(20)], ...stream }, true)).toEqual(told)
})
