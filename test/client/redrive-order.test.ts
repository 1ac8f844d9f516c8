/** Putting back several dead letters, by letters and answers that are given by hand. */
import { expect, test } from 'vitest'
import { DeadLetters, type DeadLettersPlace } from '../../src/client/letter/dead-letters.ts'
import { TransientError } from '../../src/core/errors.ts'
import { newId, rootIdOf } from '../../src/core/ids.ts'
import type { Wakeup } from '../../src/core/ports/wake.ts'
import { encodeInput } from '../../src/core/worker/message/message.ts'
import type { DeadRow } from '../../src/store/person/letter-store.ts'
import type { SessionStore } from '../../src/store/session/session-store.ts'

const worker = rootIdOf(newId(0))
const submission = { by: {}, create: () => Promise.reject(new Error('no session is begun here')) }
const wakeup: Wakeup = { id: 'b', pool: 'default' }

function row(id: string, of = worker): DeadRow {
  return { id, fields: { worker: of, mail: encodeInput(null, '1') }, redriven: null, isDismissed: false }
}

function lettersWith(redrive: (letter: string) => Promise<unknown>, wakeCalls: unknown[] = [], second = row('2-0')) {
  const rows = [row('1-0'), second, row('3-0')]
  const store = { partition: 0, redrive: (_: string, letter: string) => redrive(letter) } as unknown as SessionStore
  const letters = { newestLetters: async () => rows.slice(-1), lettersBehind: async () => rows }
  const place = { letters, store } as unknown as DeadLettersPlace
  return new DeadLetters(
    [place],
    { wake: (...given) => void wakeCalls.push(given) },
    { ...submission, store: () => place.store },
  )
}

test('several letters are put back oldest first, and a wake-up is sent for each', async () => {
  const [asked, wakeCalls]: [string[], unknown[]] = [[], []]
  const letters = lettersWith(
    async (letter) => ({ kind: 'ok', position: asked.push(letter), wakeups: [wakeup] }),
    wakeCalls,
  )
  expect(await letters.redrive({ all: true })).toMatchObject([
    { letterId: '1-0', messageId: 'inbox-1' },
    { letterId: '2-0', messageId: 'inbox-2' },
    { letterId: '3-0', messageId: 'inbox-3' },
  ])
  expect(asked).toEqual(['1-0', '2-0', '3-0'])
  expect(wakeCalls).toEqual(asked.map(() => [0, [wakeup]]))
})

test('letters of all partitions are listed newest first, and no more than asked for', async () => {
  const placeOf = (ids: readonly string[]) => {
    const rows = ids.map((id) => row(id))
    return { letters: { newestLetters: async () => rows } } as unknown as DeadLettersPlace
  }
  const places = [placeOf(['5-0', '2-0']), placeOf(['9-0', '3-0'])]
  const letters = new DeadLetters(
    places,
    { wake() {} },
    {
      ...submission,
      store: () => (places[0] as DeadLettersPlace).store,
    },
  )
  const ids = async (limit: number) => (await letters.list({ limit })).map(({ id }) => id)
  expect(await ids(100)).toEqual(['9-0', '5-0', '3-0', '2-0'])
  expect(await ids(3)).toEqual(['9-0', '5-0', '3-0'])
})

test('a letter that holds no message is passed over when others are put back', async () => {
  const asked: string[] = []
  const letters = lettersWith(async (letter) => ({ kind: 'ok', position: asked.push(letter), wakeups: [] }), [], {
    ...row('2-0'),
    fields: { worker },
  })
  expect((await letters.redrive({ all: true })).map(({ letterId }) => letterId)).toEqual(['1-0', '3-0'])
  expect(asked).toEqual(['1-0', '3-0'])
})

test('two letters with one id in two partitions: an error names both workers, and naming a worker takes its letter', async () => {
  const [first, second] = [rootIdOf(newId(0)), rootIdOf(newId(1))]
  const wakeCalls: unknown[] = []
  const places = [first, second].map((of, partition) => {
    const redrive = async (workerId: string) => ({ kind: 'ok', position: workerId === of ? 4 : 0, wakeups: [wakeup] })
    return { letters: { letter: async () => row('1-0', of) }, store: { partition, redrive } }
  }) as unknown as readonly DeadLettersPlace[]
  const placeOf = (id: string) => (places[id === second ? 1 : 0] as DeadLettersPlace).store
  const letters = new DeadLetters(
    places,
    { wake: (...given) => void wakeCalls.push(given) },
    { ...submission, store: placeOf },
  )
  const told = `a dead letter 1-0 of each of these workers: ${first}, ${second}. Name the worker, too (workerId).`
  await expect(letters.redrive({ letter: '1-0' })).rejects.toThrow(told)
  expect(wakeCalls).toEqual([])
  expect(await letters.redrive({ letter: '1-0', workerId: second })).toMatchObject([
    { workerId: second, messageId: 'inbox-4' },
  ])
  expect(wakeCalls).toEqual([[1, [wakeup]]])
})

test('a Redis that goes away during a redrive is no refusal of a letter', async () => {
  const away = new TransientError('Redis is away', { code: 'store_unavailable' })
  const letters = lettersWith(() => Promise.reject(away))
  await expect(letters.redrive({ all: true })).rejects.toBe(away)
})
