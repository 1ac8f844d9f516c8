/** Requests that are repeated under one key. */
import { expect, test } from 'vitest'
import { Answers } from '../../src/api/answers.ts'

test('a request that waits for the first one of its key is begun itself when that fails', async () => {
  const answers = new Answers()
  const first = Promise.withResolvers<string>()
  let begun = 0
  const again = async () => `answer ${++begun}`
  const failing = answers.once('k', 1, () => first.promise)
  const waiting = [answers.once('k', 1, again), answers.once('k', 1, again)]
  first.reject(new Error('its caller has gone'))
  await expect(failing).rejects.toThrow('gone')
  expect(await Promise.all(waiting)).toEqual(['answer 1', 'answer 1'])
  expect(await answers.once('k', 1, again)).toBe('answer 1')
})

test('an answer is kept for a day', async () => {
  const answers = new Answers()
  let begun = 0
  const answer = async () => ++begun
  const day = 86_400_000
  expect([await answers.once('k', 1, answer, 0), await answers.once('k', 1, answer, day - 1)]).toEqual([1, 1])
  expect(await answers.once('k', 1, answer, day)).toBe(2)
})

test('long answers are kept up to 64 MiB together; then the oldest is dropped', async () => {
  const answers = new Answers()
  let begun = 0
  const long = async () => `${++begun}${'x'.repeat(1_048_576)}`
  for (let number = 0; number < 64; number++) await answers.once(`k${number}`, 1, long)
  await answers.once('k63', 1, long)
  expect(begun).toBe(64)
  await answers.once('k0', 1, long)
  expect(begun).toBe(65)
})

test('ten thousand answers are kept; then the oldest is dropped', async () => {
  const answers = new Answers()
  let begun = 0
  const short = async () => ++begun
  const all = Array.from({ length: 10_001 }, (_, number) => answers.once(`k${number}`, 1, short))
  await Promise.all(all)
  await answers.once('k1', 1, short)
  expect(begun).toBe(10_001)
  await answers.once('k0', 1, short)
  expect(begun).toBe(10_002)
})

test.each([
  ['is long', (first: PromiseWithResolvers<string>) => first.resolve('x'.repeat(67_108_864))],
  ['fails', (first: PromiseWithResolvers<string>) => first.reject(new Error('too late'))],
])('an answer that %s and comes after a day, when another one has its place, changes nothing', async (_, end) => {
  const answers = new Answers()
  const day = 86_400_000
  const first = Promise.withResolvers<string>()
  const late = answers.once('k', 1, () => first.promise, 0).catch(() => {})
  const again = async () => 'the second one'
  await answers.once('k', 1, again, day)
  end(first)
  await late
  expect(await answers.once('k', 1, async () => 'a third one', day)).toBe('the second one')
})
