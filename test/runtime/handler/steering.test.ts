/** Messages that come while a handler is busy: its run receives them at once, at the end of a receive, or in place of its rest. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { expectSound, isParked, resultOf } from '../../support/person/approvals.ts'
import { notedSteers } from '../../support/person/noted-steers.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** Waits for a timer that never comes, and replies with what steered it. */
const waiting = defineWorker({
  receive(message, self) {
    if (message.kind !== 'input') return
    if (message.when === undefined) self.after(600_000, null)
    else self.reply({ when: message.when, value: message.value })
  },
})

describe('a run of a handler', () => {
  test.each(['steer', 'interrupt'] as const)(
    'a run of a handler that waits receives a message sent with %s, in the same run',
    async (when) => {
      await using troupe = await TestTroupe.start({ workers: { waiting } })
      const session = await troupe.create('waiting', 'go')
      await isParked(session)
      await session.root.send('queued')
      expect(await session.root.send('now', { when })).toMatchObject({ position: 2, steers: true })
      expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed', value: { when, value: 'now' } })
      await waitUntil('the queued one has begun a run', async () => (await session.root.report()).status === 'parked')
      expect(await session.root.mailbox()).toEqual([])
      await session.root.send('end', { when })
      expect(await session.result({ run: 2 })).toMatchObject({ value: { value: 'end' } })
      await expectSound(troupe)
    },
  )

  test('a run of a handler can be interrupted in its receive: its requests are dropped, and the message comes next', async () => {
    const begun = Promise.withResolvers<void>()
    const long = defineWorker({
      async receive(message, self) {
        if (message.kind !== 'input') return
        if (message.when !== undefined) return self.reply(`${message.when}: ${message.value as string}`)
        self.after(600_000, null)
        begun.resolve()
        await new Promise((_resolve, reject) => {
          self.signal.addEventListener('abort', () => reject(self.signal.reason as Error))
        })
      },
    })
    await using troupe = await TestTroupe.start({ workers: { long } })
    const session = await troupe.create('long', 'go')
    await begun.promise
    await session.root.send('stop', { when: 'interrupt' })
    expect(await resultOf(session)).toMatchObject({ status: 'completed', value: 'interrupt: stop' })
    const received = (await troupe.history(session.rootId)).filter(({ type }) => type === 'received')
    expect(received).toMatchObject([{ interrupted: true }, { message: { when: 'interrupt' } }])
    expect(received[0]).not.toHaveProperty('timers')
    await expectSound(troupe)
  })

  test('a run of a handler is interrupted too if its receive reads its signal only after the message came', async () => {
    const begun = Promise.withResolvers<void>()
    const { noted, aroundTurns } = notedSteers()
    const late = defineWorker({
      async receive(message, self) {
        if (message.kind !== 'input') return
        if (message.when !== undefined) return self.reply(self.signal.aborted ? 'aborted' : 'whole')
        begun.resolve()
        await noted
        self.signal.throwIfAborted()
        self.reply('not interrupted')
      },
    })
    await using troupe = await TestTroupe.start({ workers: { late }, aroundTurns })
    const session = await troupe.create('late', 'go')
    await begun.promise
    await session.root.send('stop', { when: 'interrupt' })
    expect(await resultOf(session)).toMatchObject({ status: 'completed', value: 'whole' })
    await expectSound(troupe)
  })

  test('a receive that returns without the reply that its kind must give fails the run, although a message interrupted it', async () => {
    const [begun, heard] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const silent = defineWorker({
      output: z.string(),
      async receive(message, self) {
        if (message.kind === 'input' && message.value === 'stop') return self.reply('stopped')
        self.signal.addEventListener('abort', () => heard.resolve())
        begun.resolve()
        await heard.promise
      },
    })
    await using troupe = await TestTroupe.start({ workers: { silent } })
    const session = await troupe.create('silent', 'go', { keepOpen: true })
    await begun.promise
    await session.root.send('stop', { when: 'interrupt' })
    expect(await session.result({ run: 1 })).toMatchObject({
      status: 'failed',
      failure: { message: expect.stringContaining('ended without a reply') },
    })
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: 'stopped' })
    await expectSound(troupe)
  })

  test('a run of a handler fails if the receive of an interrupting message throws: that message is retried like any other', async () => {
    const attempts: number[] = []
    const failing = defineWorker({
      retry: { most: 1, baseMs: 1 },
      receive(message, self) {
        if (message.kind !== 'input') return
        if (message.when === undefined) return self.after(600_000, null)
        attempts.push(self.attempt)
        throw new TransientError('the till is closed')
      },
    })
    await using troupe = await TestTroupe.start({ workers: { failing } })
    const session = await troupe.create('failing', 'go')
    await isParked(session)
    await session.root.send('stop', { when: 'interrupt' })
    expect(await resultOf(session)).toMatchObject({ status: 'failed', failure: { message: 'the till is closed' } })
    expect(attempts).toEqual([1, 2])
    await expectSound(troupe)
  })

  test('a run of a handler does not fail by a message that does not fit its kind: that message begins its own run', async () => {
    const strict = defineWorker({
      input: z.string(),
      receive(message, self) {
        if (message.kind !== 'input') self.reply(message.kind)
        else if (message.when === undefined) self.after(600_000, null)
        else self.reply(message.value)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { strict } })
    const session = await troupe.create('strict', 'go', { keepOpen: true })
    await isParked(session)
    await session.root.send(7, { when: 'steer' })
    await session.root.send('fits', { when: 'steer' })
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed', value: 'fits' })
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'failed', failure: { code: 'input_invalid' } })
    await expectSound(troupe)
  })

  test('a run of a handler receives what another worker sends to steer it', async () => {
    const sender = defineWorker({
      receive(message, self) {
        if (message.kind !== 'input') return
        self.send(message.value as string, 'from a worker', { when: 'steer' })
        self.reply('sent')
      },
    })
    await using troupe = await TestTroupe.start({ workers: { waiting, sender } })
    const session = await troupe.create('waiting', 'go')
    await isParked(session)
    await troupe.run('sender', session.rootId)
    expect(await resultOf(session)).toMatchObject({ value: { when: 'steer', value: 'from a worker' } })
    await expectSound(troupe)
  })
})
