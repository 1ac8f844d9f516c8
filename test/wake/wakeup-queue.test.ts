/** What a job says, whoever added it, and how several wake-ups become one job and several again. */
import { expect, test } from 'vitest'
import { type Delivery, halve, join, readDelivery, toJobData } from '../../src/wake/wakeup-queue.ts'

const delivery = (id: string, unfit = 0, others: readonly string[] = []): Delivery => ({ id, unfit, others })

test.each([
  [{ wakeup: 'a' }, delivery('a')],
  [{ wakeup: 'a', unfit: 3, others: ['b', 'c'] }, delivery('a', 3, ['b', 'c'])],
  [{ wakeup: 'a', unfit: 'often', others: 'b' }, delivery('a')],
  [{ wakeup: 'a', others: [7, null, 'b'] }, delivery('a', 0, ['b'])],
  [{ wakeup: 'a', others: {} }, delivery('a')],
  [{ wakeup: 7 }, null],
  [{ bell: 'a' }, null],
  [null, null],
  ['a', null],
])('the job data %j are read as %j', (data, expected) => {
  expect(readDelivery(data)).toEqual(expected)
  expect(readDelivery(expected && toJobData(expected))).toEqual(expected)
})

test.each([
  ['names the later one', delivery('a'), delivery('b'), delivery('a', 0, ['b'])],
  ['has the id that may be passed on more often', delivery('a', 3), delivery('b', 1), delivery('b', 1, ['a'])],
  ['names each id once', delivery('a', 0, ['x', 'b']), delivery('b', 0, ['x', 'a']), delivery('a', 0, ['x', 'b'])],
])('a single job for two wake-ups %s (WAKE-9)', (_, one, other, joined) => {
  expect(join(one, other)).toEqual(joined)
})

test('a job names the newest fifty other wake-ups at most (WAKE-9)', () => {
  const ids = Array.from({ length: 60 }, (_, number) => `id ${number}`)
  const joined = ids.map((id) => delivery(id)).reduce((one, other) => join(one, other))
  expect(joined).toEqual(delivery('id 0', 0, ids.slice(10)))
})

test.each([0, 1, 2, 3, 7, 50])(
  'the %i other wake-ups of a job become at most two jobs that name each of them once',
  (count) => {
    const ids = Array.from({ length: count }, (_, number) => `id ${number}`)
    const halves = halve(ids, 8)
    expect(halves.length).toBe(Math.min(count, 2))
    expect(halves.flatMap(({ id, others }) => [...others, id])).toEqual(ids)
    for (const { unfit, others } of halves) {
      expect(unfit).toBe(8)
      expect(others.length).toBeLessThan(Math.ceil(count / 2))
    }
  },
)
