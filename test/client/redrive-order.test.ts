/** Putting back several dead letters, by letters and answers that are given by hand. */
import { expect, test } from 'vitest'
import { DeadLetters, type DeadLettersPlace } from '../../src/client/dead-letters.ts'
import { TransientError } from '../../src/core/errors.ts'
import { newId, rootIdOf } from '../../src/core/ids.ts'
import { encodeInput } from '../../src/core/message.ts'
import type { Bell } from '../../src/core/ports.ts'
import type { SessionStore } from '../../src/store/session-store.ts'

const worker = rootIdOf(newId(0))
const bell: Bell = { id: 'b', pool: 'default' }

function lettersWith(redrive: (letter: string) => Promise<unknown>, rung: unknown[] = []) {
  const rows = ['1-0', '2-0', '3-0'].map((id) => ({
    id,
    fields: { worker, mail: encodeInput(null, '1') },
    redriven: null,
  }))
  const store = { partition: 0, redrive: (_: string, letter: string) => redrive(letter) } as unknown as SessionStore
  const inspect = { deadLetters: async () => rows.slice(-1), deadLettersBehind: async () => rows }
  const place = { inspect, store } as unknown as DeadLettersPlace
  return new DeadLetters([place], { ring: (...given) => void rung.push(given) }, () => place.inspect)
}

test('several letters are put back oldest first, and a bell is rung for each', async () => {
  const [asked, rung]: [string[], unknown[]] = [[], []]
  const letters = lettersWith(async (letter) => ({ kind: 'ok', position: asked.push(letter), bells: [bell] }), rung)
  expect(await letters.redrive({ all: true })).toMatchObject([
    { letterId: '1-0', messageId: 'user-1' },
    { letterId: '2-0', messageId: 'user-2' },
    { letterId: '3-0', messageId: 'user-3' },
  ])
  expect(asked).toEqual(['1-0', '2-0', '3-0'])
  expect(rung).toEqual(asked.map(() => [0, [bell]]))
})

test('a Redis that goes away meanwhile is no refusal of a letter', async () => {
  const away = new TransientError('Redis is away', { code: 'store_unavailable' })
  const letters = lettersWith(() => Promise.reject(away))
  await expect(letters.redrive({ all: true })).rejects.toBe(away)
})
