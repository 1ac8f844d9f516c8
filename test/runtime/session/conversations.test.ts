/** Conversations: a session that stays open, a result for each run, and its close. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const adder = defineWorker<number>({
  initial: 0,
  receive(message, self) {
    if (message.value === 'fail') return self.fail('asked to')
    self.setState(self.state + (message.value as number))
    self.reply(self.state)
  },
})

describe('a session that is kept open', () => {
  test('a session that is kept open has a result for each run and remembers its state between them', async () => {
    await using troupe = await TestTroupe.start({ workers: { adder } })
    const session = await troupe.create('adder', 1, { keepOpen: true })
    expect(await session.result()).toEqual({ status: 'completed', run: 1, value: 1 })
    await session.root.send(2)
    expect(await session.result()).toMatchObject({ value: 3, run: 2 })
    await session.root.send('fail')
    expect(await session.result()).toMatchObject({ status: 'failed', run: 3 })
    await session.root.send(4)
    expect(await session.result({ run: 4 })).toMatchObject({ value: 7 })
    for (const [run, value] of [
      [1, 1],
      [2, 3],
      [4, 7],
    ] as const)
      expect(await session.result({ run })).toMatchObject({ run, value })
    expect((await session.report()).session).toMatchObject({ state: 'active', mode: 'conversation', finishedAt: null })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a session that is kept open ends at once when it is closed while idle, and then takes no more input', async () => {
    await using troupe = await TestTroupe.start({ workers: { adder } })
    const session = await troupe.create('adder', 1, { keepOpen: true })
    await session.result()
    await session.close()
    await session.close()
    expect((await session.report()).session).toMatchObject({
      state: 'completed',
      result: { run: 1, status: 'completed' },
    })
    expect(await session.result()).toMatchObject({ status: 'completed', run: 1, value: 1 })
    await expect(session.root.send(2)).rejects.toMatchObject({ code: 'session_finished' })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a session that is closed while busy answers the waiting messages and then ends', async () => {
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.start({
      workers: {
        slow: defineWorker({
          async receive(message, self) {
            begun.resolve()
            await gate.promise
            self.reply(message.value)
          },
        }),
      },
    })
    const session = await troupe.create('slow', 1, { keepOpen: true })
    await begun.promise
    await session.root.send(2)
    await session.close()
    expect((await session.report()).session.state).toBe('active')
    gate.resolve()
    expect(await session.result()).toMatchObject({ status: 'completed', run: 2, value: 2 })
    await waitUntil('it has ended', async () => (await session.report()).session.state === 'completed')
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a session that is closed while a run waits for a child ends with that run', async () => {
    const gate = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.start({
      workers: {
        parent: defineWorker({
          receive: (message, self) =>
            message.kind === 'input' ? void self.spawn('gated', 1) : self.reply(message.value),
        }),
        gated: defineWorker({
          async receive(message, self) {
            await gate.promise
            self.reply(message.value)
          },
        }),
      },
    })
    const session = await troupe.create('parent', 1, { keepOpen: true })
    await waitUntil('it is parked', async () => (await session.root.report()).status === 'parked')
    await session.close()
    expect((await session.report()).session.state).toBe('active')
    gate.resolve()
    expect(await session.result()).toMatchObject({ status: 'completed', value: 1 })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a session that is kept open can be cancelled while idle', async () => {
    await using troupe = await TestTroupe.start({ workers: { adder } })
    const session = await troupe.create('adder', 1, { keepOpen: true })
    await session.result()
    expect(await session.cancel()).toBe(true)
    await waitUntil('it is cancelled', async () => (await session.report()).session.state === 'cancelled')
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed', value: 1 })
    expect((await session.root.report()).status).toBe('terminal')
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})
