/** self.ask: a worker waits for somebody outside without a slot, and goes on with the answer. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** A handler that asks once, and replies with the answer as it came. */
const asker = defineWorker({
  receive(message, self) {
    if (message.kind === 'input') self.ask('May I?', { options: ['yes', 'no'] })
    else self.reply(message)
  },
})

async function openAsk(troupe: TestTroupe) {
  return waitUntil('an ask is open', async () => (await troupe.client.asks.list())[0])
}

describe('an ask', () => {
  test('an ask parks its worker, is listed in the inbox, and its answer ends the wait', async () => {
    await using troupe = await TestTroupe.start({ workers: { asker } })
    const session = await troupe.create('asker')
    const ask = await openAsk(troupe)
    expect(ask).toMatchObject({
      kind: 'question',
      state: 'open',
      question: 'May I?',
      options: ['yes', 'no'],
      workerKind: 'asker',
      sessionId: session.id,
      expiresAt: null,
      answer: null,
    })
    await waitUntil('it is parked', async () => (await session.root.report()).status === 'parked')
    await expectInvariants(troupe.redis, troupe.namespace)
    await troupe.client.asks.answer(ask.id, 'yes', { by: 'ada', reason: 'it is safe' })
    const answer = { kind: 'answer', id: ask.id, status: 'answered', value: 'yes', by: 'ada', reason: 'it is safe' }
    expect(await session.result()).toMatchObject({ status: 'completed', value: answer })
    expect(await troupe.client.asks.list()).toEqual([])
    expect(await session.asks({ state: 'any' })).toMatchObject([
      { id: ask.id, state: 'answered', answer: { value: 'yes', by: 'ada', reason: 'it is safe' } },
    ])
    expect((await troupe.client.audit()).findings).toEqual([])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('an ask is in the report and the list of its session: who waits for whom, and since when', async () => {
    const boss = defineWorker({
      receive(message, self) {
        if (message.kind === 'input') self.spawn('asker', null)
        else self.reply(message.value)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { boss, asker } })
    const session = await troupe.create('boss')
    const { id, askedAt } = await openAsk(troupe)
    const child = await waitUntil('the child is parked', async () => {
      const { workers } = await session.report()
      return workers.find(({ kind, status }) => kind === 'asker' && status === 'parked')
    })
    const openAsks = [{ id, kind: 'question', question: 'May I?', askedAt }]
    expect(child).toMatchObject({ waitsFor: 'a person to answer "May I?"', waitsSince: askedAt, openAsks })
    expect(child).toMatchObject({ state: 'waiting', activity: 'waiting' })
    const listed = async () => (await troupe.client.sessions.list())[0]
    expect(await listed()).toMatchObject({ openAsks: 1, askedAt })
    await troupe.client.asks.answer(id, 'yes')
    await session.result()
    expect(await listed()).toMatchObject({ openAsks: 0, askedAt: null })
  })

  test('an answer that cannot be read is shown as an answer, and hides nothing else', async () => {
    await using troupe = await TestTroupe.start({ workers: { asker } })
    const session = await troupe.create('asker')
    const { id } = await openAsk(troupe)
    await waitUntil('it is parked', async () => (await session.root.report()).status === 'parked')
    const keys = await troupe.redis.keys(`*:ask:${id}`)
    await troupe.redis.set(keys[0] as string, 'x')
    expect(await session.root.report()).toMatchObject({ waitsFor: 'an answer' })
    expect(await troupe.client.sessions.list()).toMatchObject([{ openAsks: 1 }])
  })

  test('an ask is answered once: of ten answers at one moment one counts, and nine say who answered', async () => {
    await using troupe = await TestTroupe.start({ workers: { asker } })
    const session = await troupe.create('asker')
    const { id } = await openAsk(troupe)
    const answers = Array.from({ length: 10 }, (_, number) =>
      troupe.client.asks.answer(id, number % 2 === 0 ? 'yes' : 'no', { by: `person ${number}` }),
    )
    const settled = await Promise.allSettled(answers)
    const refused = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    const result = (await session.result()) as unknown as { value: { by: string } }
    expect(refused.length).toBe(9)
    for (const error of refused)
      expect(error).toMatchObject({ code: 'ask_answered', message: expect.stringContaining(`by ${result.value.by} `) })
  })

  test('an ask takes the same answer under the same key again, and refuses another', async () => {
    await using troupe = await TestTroupe.start({ workers: { asker } })
    const session = await troupe.create('asker')
    const { id } = await openAsk(troupe)
    const answer = (value: string) => troupe.client.asks.answer(id, value, { idempotencyKey: 'hook-1' })
    expect(await answer('yes')).toMatchObject({ askId: id, again: false })
    expect(await answer('yes')).toMatchObject({ askId: id, again: true })
    await expect(answer('no')).rejects.toMatchObject({ code: 'ask_answered' })
    expect(await session.result()).toMatchObject({ value: { value: 'yes' } })
  })

  test('an ask that expires gives its worker the value for that case, and a late answer is refused', async () => {
    const waiter = defineWorker({
      receive(message, self) {
        if (message.kind === 'input') self.ask('Still there?', { expiresMs: 50, onExpiry: 'nobody' })
        else self.reply(message)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { waiter } })
    const session = await troupe.create('waiter')
    expect(await session.result()).toMatchObject({
      value: { kind: 'answer', status: 'expired', value: 'nobody', by: null },
    })
    const [ask] = await session.asks({ state: 'expired' })
    await expect(troupe.client.asks.answer(ask?.id as string, 1)).rejects.toMatchObject({ code: 'ask_expired' })
    expect((await troupe.client.audit()).findings).toEqual([])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test("an ask with onExpiry 'fail' fails its run, which names the ask, and cannot be retried", async () => {
    const received: string[] = []
    const strict = defineWorker({
      receive(message, self) {
        received.push(message.kind)
        if (message.kind === 'input') self.ask('Ship it?', { expiresMs: 20, onExpiry: 'fail' })
        else self.reply(null)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { strict } })
    const session = await troupe.create('strict')
    const result = await session.result()
    const [ask] = await session.asks({ state: 'expired' })
    const message = `nobody answered ask ${ask?.id} ("Ship it?") in the 20 ms that it was open, and its onExpiry is 'fail'`
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'ask_expired', message, retryable: false } })
    expect(received).toEqual(['input'])
    await expect(session.retry()).rejects.toThrow(`ask ${ask?.id} has expired, and nobody can answer it`)
    expect((await troupe.client.audit()).findings).toEqual([])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test("an ask with onExpiry 'fail' takes an answer in time like any other", async () => {
    const strict = defineWorker({
      receive(message, self) {
        if (message.kind === 'input') self.ask('Ship it?', { expiresMs: 60_000, onExpiry: 'fail' })
        else self.reply(message)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { strict } })
    const session = await troupe.create('strict')
    await troupe.client.asks.answer((await openAsk(troupe)).id, 'yes')
    expect(await session.result()).toMatchObject({ value: { status: 'answered', value: 'yes' } })
  })

  test('an ask is withdrawn with its run, by a reply or by a cancel', async () => {
    const hasty = defineWorker({
      receive(message, self) {
        if (message.kind === 'timer') return self.reply('done without it')
        self.ask('Anybody?')
        self.after(20, null)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { hasty, asker } })
    const ended = await troupe.create('hasty')
    await ended.result()
    const cancelled = await troupe.create('asker')
    const open = await openAsk(troupe)
    expect(open.sessionId).toBe(cancelled.id)
    await cancelled.cancel()
    await expect(troupe.client.asks.answer(open.id, 'yes')).rejects.toMatchObject({ code: 'ask_withdrawn' })
    await cancelled.result()
    for (const session of [ended, cancelled]) {
      const [ask] = await waitUntil('it is withdrawn', async () => {
        const asks = await session.asks({ state: 'withdrawn' })
        return asks.length > 0 && asks
      })
      await expect(troupe.client.asks.answer(ask?.id as string, 'yes')).rejects.toMatchObject({ code: 'ask_withdrawn' })
    }
    expect(await troupe.client.asks.list()).toEqual([])
    expect((await troupe.client.audit()).findings).toEqual([])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('an ask checks an answer against its schema or its options before it is given', async () => {
    const picky = defineWorker({
      receive(message, self) {
        if (message.kind === 'input') self.ask({ signal: 'paid' }, { schema: z.object({ amount: z.number().min(1) }) })
        else self.reply(message.value)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { picky } })
    const session = await troupe.create('picky')
    const { id, kind, schema } = await openAsk(troupe)
    expect({ kind, schema }).toMatchObject({ kind: 'signal', schema: { type: 'object' } })
    for (const wrong of ['yes', {}, { amount: 0 }])
      await expect(troupe.client.asks.answer(id, wrong)).rejects.toMatchObject({ code: 'input_invalid' })
    await troupe.client.asks.answer(id, { amount: 3 })
    expect(await session.result()).toMatchObject({ value: { amount: 3 } })
  })

  test('an ask of an unknown id is refused as unknown', async () => {
    await using troupe = await TestTroupe.start({ workers: { asker } })
    const session = await troupe.create('asker')
    await expect(troupe.client.asks.answer(session.rootId, 'yes')).rejects.toMatchObject({ code: 'ask_not_found' })
    await expect(troupe.client.asks.answer(session.id, 'yes')).rejects.toThrow(
      `troupe ask list --session ${session.id}`,
    )
    await expect(troupe.client.asks.answer('nonsense', 'yes')).rejects.toMatchObject({ code: 'input_invalid' })
  })
})

test.each([
  ['an empty question', (ask: (question: never, options?: never) => unknown) => ask('' as never), /takes a question/],
  ['a question that is no text', (ask: (question: never) => unknown) => ask(7 as never), /takes a question/],
  [
    'an unknown option',
    (ask: (question: never, options: never) => unknown) => ask('?' as never, { expires: 1 } as never),
    /does not know the option/,
  ],
  [
    'options and a schema',
    (ask: (question: never, options: never) => unknown) =>
      ask('?' as never, { options: ['a'], schema: z.string() } as never),
    /not both/,
  ],
  [
    'onExpiry without expiresMs',
    (ask: (question: never, options: never) => unknown) => ask('?' as never, { onExpiry: 1 } as never),
    /only with expiresMs/,
  ],
])('self.ask refuses %s and says what is wrong', async (_what, call, words) => {
  const wrong = defineWorker({
    retries: 0,
    receive(_message, self) {
      call(self.ask as never)
    },
  })
  await using troupe = await TestTroupe.start({ workers: { wrong } })
  expect(await troupe.run('wrong')).toMatchObject({
    status: 'failed',
    failure: { message: expect.stringMatching(words) },
  })
})
