/** Cancelling a session: from the acknowledgement on nothing of it starts (I12); all running turns learn of it, and everything ends. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** Runs until its signal fires, and says so. */
function endless(log: { begun: string[]; aborted: unknown[] }, onAbort: 'throw' | 'return' | 'ignore' = 'throw') {
  return defineWorker({
    receive(message, self) {
      log.begun.push(String(message.value))
      return new Promise<void>((resolve, reject) => {
        self.signal.addEventListener('abort', () => {
          log.aborted.push(self.signal.reason)
          if (onAbort === 'throw') reject(self.signal.reason as Error)
          if (onAbort === 'return') resolve()
        })
      })
    },
  })
}
const newLog = () => ({ begun: [] as string[], aborted: [] as unknown[] })

describe('session.cancel', () => {
  test('session.cancel fires the signal of a running worker at once, and the result is cancelled', async () => {
    const log = newLog()
    // Renewals are far apart: only the cancel notice can be this fast.
    await using troupe = await TestTroupe.start({
      workers: { endless: endless(log) },
      policy: { leaseMs: 600_000, renewEveryMs: 200_000, sweepEveryMs: 200_000 },
    })
    const session = await troupe.create('endless', 'x')
    await waitUntil('it runs', () => log.begun.length === 1)
    await waitUntil(
      'its first renewal is over',
      async () => (await troupe.redis.zcard(`${troupe.tag}:busy:default`)) === 1,
    )
    expect(await session.cancel('enough')).toBe(true)
    await waitUntil('its signal fired', () => log.aborted.length === 1)
    expect(log.aborted).toMatchObject([{ code: 'cancelled' }])
    expect(await session.result()).toEqual({ status: 'cancelled', run: 1 })
    const { session: report } = await session.report()
    expect(report).toMatchObject({ state: 'cancelled', cancelReason: 'enough', failure: null })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a cancel of a session that nothing runs is over at once, even if the next sweep is far away', async () => {
    await using troupe = await TestTroupe.start({ workers: {}, policy: { sweepEveryMs: 600_000 } })
    const session = await troupe.create('nobody')
    expect(await session.cancel()).toBe(true)
    expect(await session.result()).toEqual({ status: 'cancelled', run: 1 })
  })

  test('session.cancel reaches queued, running, parked and idle workers at all depths', async () => {
    const log = newLog()
    await using troupe = await TestTroupe.start({
      concurrency: 3,
      workers: {
        endless: endless(log),
        nest: defineWorker({
          receive(message, self) {
            const depth = message.value as number
            self.spawn('quick', null, { detached: true })
            if (depth > 0) self.spawn('nest', depth - 1)
            else for (let number = 0; number < 5; number++) self.spawn('endless', number)
          },
        }),
        quick: defineWorker({ receive: (_, self) => self.reply(null) }),
      },
    })
    const session = await troupe.create('nest', 3)
    await waitUntil('all slots are taken by endless workers', () => log.begun.length === 3)
    const before = await session.report()
    expect(new Set(before.workers.map(({ status }) => status))).toEqual(
      new Set(['parked', 'running', 'queued', 'idle']),
    )
    await session.cancel()
    expect(await session.result()).toMatchObject({ status: 'cancelled' })
    const { workers } = await expectInvariants(troupe.redis, troupe.namespace)
    expect(workers.size).toBe(13)
    for (const { record } of workers.values()) expect(record.status).toBe('terminal')
    expect(log.begun).toHaveLength(3)
    expect(log.aborted).toHaveLength(3)
  })

  test('nothing that waits in the mailbox is received after a cancel', async () => {
    for (const onAbort of ['throw', 'return'] as const) {
      const log = newLog()
      await using troupe = await TestTroupe.start({
        workers: {
          endless: defineWorker({
            async receive(message, self) {
              log.begun.push(String(message.value))
              await new Promise<void>((resolve) => self.signal.addEventListener('abort', () => resolve()))
              if (onAbort === 'throw') throw self.signal.reason
            },
          }),
        },
      })
      const session = await troupe.create('endless', 'first', { keepOpen: true })
      await waitUntil('it runs', () => log.begun.length === 1)
      await session.root.send('second')
      await session.cancel()
      expect(await session.result()).toMatchObject({ status: 'cancelled' })
      expect(log.begun).toEqual(['first'])
      const { workers } = await expectInvariants(troupe.redis, troupe.namespace)
      expect(workers.get(session.rootId)?.mail.inbox.map(({ message }) => message.value)).toContain('second')
    }
  })

  test('nothing that was handed out with the claim is received after a cancel', async () => {
    const log = newLog()
    const gate = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('endless', 'first', { keepOpen: true })
    await session.root.send('second')
    await session.root.send('third')
    await troupe.startNode({
      endless: defineWorker({
        async receive(message, self) {
          log.begun.push(String(message.value))
          await new Promise<void>((resolve) => self.signal.addEventListener('abort', () => resolve()))
          gate.resolve()
        },
      }),
    })
    await waitUntil('it runs', () => log.begun.length === 1)
    await session.cancel()
    await gate.promise
    expect(await session.result()).toMatchObject({ status: 'cancelled' })
    await expectInvariants(troupe.redis, troupe.namespace)
    expect(log.begun).toEqual(['first'])
  })

  test('a handler that ignores its signal does not delay the end, and its later calls have no effect [1.21]', async () => {
    const log = newLog()
    const gate = Promise.withResolvers<void>()
    const late = Promise.withResolvers<unknown>()
    await using troupe = await TestTroupe.start({
      concurrency: 1,
      workers: {
        deaf: defineWorker({
          async receive(_, self) {
            log.begun.push('deaf')
            await gate.promise
            self.setState({ late: true })
            self.reply('too late')
            late.resolve(null)
          },
        }),
        echo: defineWorker({ receive: (message, self) => self.reply(message.value) }),
      },
    })
    const session = await troupe.create('deaf')
    await waitUntil('it runs', () => log.begun.length === 1)
    await session.cancel()
    expect(await session.result()).toMatchObject({ status: 'cancelled' })
    expect(await troupe.run('echo', 'slot is free')).toMatchObject({ value: 'slot is free' })
    gate.resolve()
    await late.promise
    await expectInvariants(troupe.redis, troupe.namespace)
    expect((await troupe.history(session.rootId)).map(({ type }) => type)).toEqual(['cancelled'])
  })

  test('sends after a cancel are refused with an error that names the worker', async () => {
    const log = newLog()
    await using troupe = await TestTroupe.start({ workers: { endless: endless(log) } })
    const session = await troupe.create('endless', 'x')
    await waitUntil('it runs', () => log.begun.length === 1)
    await session.cancel()
    await expect(session.root.send('more')).rejects.toMatchObject({
      code: expect.stringMatching(/^(session_finished|worker_terminal)$/),
      message: expect.stringContaining(session.rootId),
    })
    await session.result()
    await expect(session.root.send('more')).rejects.toMatchObject({ retryable: false })
  })

  test('a second cancel is the same cancel; a session that ended by itself cannot be cancelled', async () => {
    const log = newLog()
    await using troupe = await TestTroupe.start({
      workers: { endless: endless(log), echo: defineWorker({ receive: (message, self) => self.reply(message.value) }) },
    })
    const session = await troupe.create('endless', 'x')
    expect(await session.cancel('first')).toBe(true)
    expect(await session.cancel('second')).toBe(true)
    await session.result()
    expect((await session.report()).session.cancelReason).toBe('first')
    const done = await troupe.create('echo', 1)
    await done.result()
    expect(await done.cancel()).toBe(false)
    expect(await done.result()).toMatchObject({ status: 'completed' })
  })

  test('a worker that waits for its retry is ended, and its message stays to be read', async () => {
    let tries = 0
    await using troupe = await TestTroupe.start({
      workers: {
        flaky: defineWorker({
          receive() {
            tries++
            throw new TransientError('later', { retryAfterMs: 60_000 })
          },
        }),
      },
    })
    const session = await troupe.create('flaky', 'kept')
    await waitUntil('it waits', async () => (await session.root.report()).waitsFor?.includes('retry'))
    await session.cancel()
    expect(await session.result()).toMatchObject({ status: 'cancelled', run: 1 })
    const { timers } = await expectInvariants(troupe.redis, troupe.namespace)
    expect(timers).toEqual([])
    expect(tries).toBe(1)
    expect((await session.root.mailbox()).map(({ message }) => message.value)).toEqual(['kept'])
  })

  test('a session is cancelled whole even if it has more workers than one batch and cancels overlap', async () => {
    const log = newLog()
    // Batches of two: a run that ends and a cancel of the session come between the batches of another pass.
    await using troupe = await TestTroupe.start({
      concurrency: 40,
      policy: { sweepBatch: 2, sweepEveryMs: 20 },
      workers: {
        endless: endless(log),
        root: defineWorker({
          receive(message, self) {
            if (message.kind !== 'input') return
            self.spawn('sleepy', null)
            for (let number = 0; number < 15; number++) self.spawn('hasty', number)
          },
        }),
        hasty: defineWorker({
          async receive(message, self) {
            if (message.kind === 'input') {
              self.spawn('echo', null)
              self.spawn('sleepy', null)
              self.spawn('sleepy', null)
            } else self.reply(null)
          },
        }),
        echo: defineWorker({ receive: (_, self) => self.reply(null) }),
        sleepy: defineWorker({
          receive: (message, self) => (message.kind === 'input' ? self.after(60_000, null) : undefined),
        }),
      },
    })
    const session = await troupe.create('root')
    await waitUntil('the first children have ended', async () => {
      const { workers } = await session.report()
      return workers.filter(({ kind, runs, status }) => kind === 'hasty' && runs > 0 && status === 'idle').length >= 3
    })
    expect(await session.cancel()).toBe(true)
    expect(await session.result()).toMatchObject({ status: 'cancelled' })
    const { workers } = await expectInvariants(troupe.redis, troupe.namespace)
    const left = [...workers.values()].filter(({ record }) => record.status !== 'terminal')
    expect(left.map(({ record }) => `${record.kind} ${record.status}`)).toEqual([])
  })
})

test.each([undefined, 10_000])(
  'work that an earlier receive left running sees the cancel, with timeoutMs %s',
  async (timeoutMs) => {
    const gate = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    let signal: AbortSignal | undefined
    const worker = defineWorker({
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      async receive(message, self) {
        if (message.value === 'first') {
          signal = self.signal
          self.reply(1)
          return
        }
        begun.resolve()
        await gate.promise
      },
    })
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('worker', 'first', { keepOpen: true })
    await session.root.send('second')
    await troupe.startNode({ worker })
    await begun.promise
    await session.cancel()
    await waitUntil('the signal has fired', () => signal?.aborted === true)
    expect(await session.result()).toMatchObject({ status: 'cancelled' })
    gate.resolve()
  },
)
