/** A job { ask, answer, by } of any BullMQ producer answers an ask, once, or fails with the reason why it cannot. */
import type { Job } from 'bullmq'
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { newId } from '../../src/core/ids.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { Producer } from './support/producer.ts'

const asker = defineWorker({
  receive(message, self) {
    if (message.kind !== 'input') return self.reply(message)
    self.ask({ signal: 'paid' }, message.value as object)
  },
})

async function openAsk(troupe: TestTroupe, options: object = {}) {
  const session = await troupe.create('asker', options)
  const [ask] = await waitUntil('an ask is open', async () => {
    const asks = await session.asks({ state: 'any' })
    return asks.length > 0 && asks
  })
  return { session, id: ask?.id as string }
}

async function failureOf(producer: Producer, job: Job): Promise<string | undefined> {
  await waitUntil('the job has failed', () => job.isFailed())
  return (await producer.queue.getJob(job.id as string))?.failedReason
}

describe('a job with an ask', () => {
  test('a job with an ask answers it, in any partition, and its return value names who goes on', async () => {
    await using troupe = await TestTroupe.connect({ partitions: 2 })
    await troupe.startNode({ asker })
    await using producer = new Producer(troupe)
    const found = new Set<string>()
    await waitUntil('asks of both partitions were answered', async () => {
      const { session, id } = await openAsk(troupe)
      const done = await producer.submit({ ask: id, answer: { ok: true }, by: 'the shop', reason: 'it came' })
      expect(done).toEqual({ askId: id, sessionId: session.id, workerId: session.rootId })
      const answer = { id, status: 'answered', value: { ok: true }, by: 'the shop', reason: 'it came' }
      expect(await session.result()).toMatchObject({ value: answer })
      return found.add(id.slice(-3)).size === 2
    })
  })

  test('a job with an ask may answer null, and says itself that a job answered if it names nobody', async () => {
    await using troupe = await TestTroupe.start({ workers: { asker } })
    await using producer = new Producer(troupe)
    const { session, id } = await openAsk(troupe)
    await producer.submit({ ask: id, answer: null })
    expect(await session.result()).toMatchObject({ value: { value: null, by: 'a submitted job' } })
  })

  test('an answer that is delivered twice answers once (SUBMIT-1)', async () => {
    await using troupe = await TestTroupe.start({ workers: { asker } })
    await using producer = new Producer(troupe)
    const { session, id } = await openAsk(troupe)
    const job = await producer.queue.add('x', { ask: id, answer: 1, by: 'ada' }, { jobId: 'hook-1' })
    const first = await producer.completed(job)
    expect(await session.result()).toMatchObject({ value: { value: 1 } })
    await job.retry('completed')
    expect(await producer.completed(job)).toEqual(first)
    await job.remove()
    expect(await producer.submit({ ask: id, answer: 1, by: 'ada' }, { jobId: 'hook-1' })).toEqual(first)
    await (await producer.queue.getJob('hook-1'))?.remove()
    const other = await producer.queue.add('x', { ask: id, answer: 2, by: 'ada' }, { jobId: 'hook-1' })
    expect(await failureOf(producer, other)).toMatch(/^ask_answered: .* otherwise under this idempotency key/)
  })

  test('a job with an ask has keys of its own: no caller meets the answer of a job under the same key', async () => {
    await using troupe = await TestTroupe.start({ workers: { asker } })
    await using producer = new Producer(troupe)
    const { id } = await openAsk(troupe)
    await producer.submit({ ask: id, answer: 1 }, { jobId: 'hook-1' })
    const asCaller = troupe.client.asks.answer(id, 1, { by: 'a submitted job', idempotencyKey: 'submit:hook-1' })
    await expect(asCaller).rejects.toMatchObject({ code: 'ask_answered' })
  })

  test('an answer to an ask that is not known yet is tried again, as often as its producer said', async () => {
    await using troupe = await TestTroupe.connect()
    await troupe.startNode({})
    await using producer = new Producer(troupe)
    const once = await producer.queue.add('x', { ask: newId(0), answer: 1 })
    expect(await failureOf(producer, once)).toMatch(/^ask_not_found: ask .* is not known/)
    const often = await producer.queue.add('x', { ask: newId(0), answer: 1 }, { attempts: 2 })
    expect(await failureOf(producer, often)).toMatch(/^ask_not_found/)
    expect((await producer.queue.getJob(often.id as string))?.attemptsMade).toBe(2)
  })
})

const ended = {
  answered: async (troupe: TestTroupe) => {
    const { id } = await openAsk(troupe)
    await troupe.client.asks.answer(id, 'yes', { by: 'ada' })
    return { ask: id, answer: 1 }
  },
  expired: async (troupe: TestTroupe) => {
    const { session, id } = await openAsk(troupe, { expiresMs: 0 })
    await session.result()
    return { ask: id, answer: 1 }
  },
  withdrawn: async (troupe: TestTroupe) => {
    const { session, id } = await openAsk(troupe)
    await session.cancel()
    return { ask: id, answer: 1 }
  },
  options: async (troupe: TestTroupe) => ({
    ask: (await openAsk(troupe, { options: ['yes', 'no'] })).id,
    answer: 'perhaps',
  }),
}

test.each([
  ['an ask that was answered', ended.answered, /^ask_answered: ask \S+ was answered by ada at /],
  ['an ask that expired', ended.expired, /^ask_expired: ask \S+ expired at /],
  ['an ask that was withdrawn', ended.withdrawn, /^ask_withdrawn: ask \S+ was withdrawn: the run/],
  ['an answer that is none of the options', ended.options, /^input_invalid: .* must be one of: yes, no/],
  ['an id that is none', () => ({ ask: 'nonsense', answer: 1 }), /^input_invalid: "nonsense" is not an ask id/],
  ['an id of another partition', () => ({ ask: newId(7), answer: 1 }), /^ask_not_found: .* in namespace/],
  ['no answer', () => ({ ask: newId(0) }), /^input_invalid: .*answer.* is missing.*\{"ask", "answer", "by"\?/],
  ['an ask that is no text', () => ({ ask: 7, answer: 1 }), /^input_invalid: .*ask/],
  ['an unknown field', () => ({ ask: newId(0), answer: 1, key: 'a' }), /^input_invalid: .*key/],
  ['a kind as well', () => ({ ask: newId(0), answer: 1, kind: 'asker' }), /^input_invalid: .*kind/],
  ['a name that is too long', () => ({ ask: newId(0), answer: 1, by: 'x'.repeat(300) }), /^input_invalid: by of/],
])('a job for %s fails at once with its reason', async (_, dataOf, reason) => {
  await using troupe = await TestTroupe.start({ workers: { asker } })
  await using producer = new Producer(troupe)
  const job = await producer.queue.add('x', await dataOf(troupe))
  expect(await failureOf(producer, job)).toMatch(reason)
})
