/** `self.step` does something at most once in a run: what it returned is recorded before the next step begins. */
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { defineWorker, type Self } from '../../../src/core/definition/define-worker.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import type { TurnStore } from '../../../src/core/ports/ports.ts'
import { changedStore } from '../../support/changed-store.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

describe('a step', () => {
  test('a recorded step is not done again by the next attempt, which gets the recorded value (HANDLER-STEPS-1)', async () => {
    const done: string[] = []
    const buyer = defineWorker({
      async receive(message, self) {
        const charge = await self.step('charge', (key) => {
          done.push(`charge ${key}`)
          return { id: 'c1', at: self.attempt }
        })
        const mail = await self.step('mail', async (key) => {
          done.push(`mail ${key}`)
          await Promise.resolve()
          if (self.attempt === 1) throw new Error('no line')
          return undefined
        })
        self.reply({ charge, mail, value: message.value })
      },
    })
    await using troupe = await TestTroupe.start({ workers: { buyer } })
    const session = await troupe.create('buyer', 7)
    expect(await session.result()).toMatchObject({ value: { charge: { id: 'c1', at: 1 }, mail: null, value: 7 } })
    const key = (name: string) => `${name} ${session.rootId}/1/step/${name}`
    expect(done).toEqual([key('charge'), key('mail'), key('mail')])
    expect(await troupe.history(session.rootId)).toMatchObject([
      { type: 'step', name: 'charge', value: { id: 'c1', at: 1 }, run: 1 },
      { type: 'attemptFailed' },
      { type: 'step', name: 'mail', value: null },
      { type: 'received' },
      { type: 'completed' },
    ])
    const events = await Array.fromAsync(session.events({ after: '0-0', transient: false }))
    expect(events.filter(({ type }) => type === 'step.recorded').map(({ details }) => details)).toEqual([
      { name: 'charge' },
      { name: 'mail' },
    ])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a step is recorded before the next one begins', async () => {
    const lengths: number[] = []
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('counts')
    await troupe.startNode({
      counts: defineWorker({
        async receive(_, self) {
          for (const name of ['a', 'b', 'c'])
            await self.step(name, async () => void lengths.push((await troupe.history(session.rootId)).length))
          self.reply(null)
        },
      }),
    })
    await session.result()
    expect(lengths).toEqual([0, 1, 2])
  })

  test('a recorded step belongs to its run: later messages of the run get its value, and the next run does it again', async () => {
    let done = 0
    const workers = {
      waits: defineWorker({
        async receive(message, self) {
          const value = await self.step('once', () => ++done)
          if (message.kind === 'input') self.after(0, null)
          else self.reply(value)
        },
      }),
    }
    await using troupe = await TestTroupe.start({ workers })
    const session = await troupe.create('waits', 1, { keepOpen: true })
    expect(await session.result({ run: 1 })).toMatchObject({ value: 1 })
    await session.root.send(2)
    expect(await session.result({ run: 2 })).toMatchObject({ value: 2 })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a recorded step is found however many entries the run has had since', async () => {
    let done = 0
    const clock = defineWorker<number>({
      initial: 0,
      async receive(_, self) {
        if (self.state === 0 || self.state === 150) await self.step('first', () => ++done)
        self.setState(self.state + 1)
        if (self.state > 150) self.reply(done)
        else self.after(0, null)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { clock } })
    const session = await troupe.create('clock')
    // 150 turns, one after the other.
    expect(await awaitResult(session)).toMatchObject({ value: 1 })
  })

  test('a step of a receive whose history could not be read once does not keep later steps from reading it', async () => {
    const done: string[] = []
    const stubborn = defineWorker({
      async receive(_, self) {
        const step = (name: string) => self.step(name, () => done.push(name)).catch(() => 'not read')
        const values = [await step('a'), await step('b')]
        if (self.attempt === 1) throw new Error('no line')
        self.reply(values)
      },
    })
    let fails = true
    const aroundTurns = (turns: TurnStore) =>
      changedStore(turns, {
        async readHistory(workerId, from) {
          if (!fails) return turns.readHistory(workerId, from)
          fails = false
          throw new Error('no line')
        },
      })
    await using troupe = await TestTroupe.start({ workers: { stubborn }, aroundTurns })
    const session = await troupe.create('stubborn')
    expect(await session.result()).toMatchObject({ status: 'completed', value: ['not read', 2] })
    expect(done).toEqual(['a', 'b'])
  })

  test('a step runs beside others of the same receive', async () => {
    const workers = {
      both: defineWorker({
        async receive(_, self) {
          self.reply(await Promise.all(['a', 'b', 'c'].map((name) => self.step(name, () => name))))
        },
      }),
    }
    await using troupe = await TestTroupe.start({ workers })
    const session = await troupe.create('both')
    expect(await session.result()).toMatchObject({ value: ['a', 'b', 'c'] })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  const wrong: readonly [string, (self: Self) => unknown, RegExp][] = [
    [
      'a name twice',
      async (self) => (await self.step('a', () => 1)) + (await self.step('a', () => 2)),
      /step\("a"\) twice/,
    ],
    ['an empty name', (self) => self.step('', () => 1), /step takes a name/],
    ['a name that is no text', (self) => self.step(7 as never, () => 1), /step takes a name/],
    ['a long name', (self) => self.step('x'.repeat(65), () => 1), /1 to 64 bytes/],
    ['no function', (self) => self.step('a', 7 as never), /step takes a function that does "a", not 7/],
    ['a Map as value', (self) => self.step('a', () => new Map([[1, 2]])), /value of step "a" is a Map/],
    ['a function as value', (self) => self.step('a', () => () => 1), /value of step "a" cannot be written as JSON/],
    [
      'an error that is not to be retried',
      (self) => self.step('a', () => Promise.reject(new TerminalError('no'))),
      /^no$/,
    ],
  ]
  test.each(wrong)('a step with %s fails the run, with a sentence that says so', async (_, ask, message) => {
    let received = 0
    const workers = {
      wrong: defineWorker({
        async receive(_, self) {
          received++
          self.reply(await ask(self))
        },
      }),
    }
    await using troupe = await TestTroupe.start({ workers })
    expect(await troupe.run('wrong')).toMatchObject({
      status: 'failed',
      failure: { message: expect.stringMatching(message) as string },
    })
    expect(received).toBe(1)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a step whose value was recorded cannot be changed, and a cancel between steps lets no later one begin', async () => {
    const began: string[] = []
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('stopped')
    const over = Promise.withResolvers<void>()
    await troupe.startNode({
      stopped: defineWorker({
        async receive(_, self) {
          try {
            const first = await self.step('first', () => ({ list: [1] }))
            expect(Object.isFrozen(first.list)).toBe(true)
            await self.step('second', async () => {
              began.push('second')
              const aborted = new Promise((resolve) => self.signal.addEventListener('abort', resolve, { once: true }))
              await session.cancel('enough')
              await aborted
            })
            began.push('third')
          } finally {
            over.resolve()
          }
        },
      }),
    })
    expect(await session.result()).toMatchObject({ status: 'cancelled' })
    await over.promise
    expect(began).toEqual(['second'])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('steps of a run that is cancelled while it waits are forgotten with the run', async () => {
    const workers = {
      waits: defineWorker({
        async receive(_, self) {
          await self.step('first', () => 1)
          self.after(3_600_000, null)
        },
      }),
    }
    await using troupe = await TestTroupe.start({ workers })
    const session = await troupe.create('waits')
    const steps = () => troupe.redis.hget(`{${troupe.namespace}.0}:w:${session.rootId}`, 'steps')
    await waitUntil('the worker is parked', async () => (await session.report()).workers[0]?.status === 'parked')
    expect(await steps()).toBe('1')
    await session.cancel('enough')
    expect(await session.result()).toMatchObject({ status: 'cancelled' })
    await waitUntil('the worker is terminal', async () => (await session.report()).workers[0]?.status === 'terminal')
    expect(await steps()).toBe('0')
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a step does not begin once its run is cancelled', async () => {
    let done = 0
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('stopped')
    const [received, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await troupe.startNode({
      stopped: defineWorker({
        async receive(_, self) {
          received.resolve()
          await new Promise((resolve) => self.signal.addEventListener('abort', resolve, { once: true }))
          await self.step('charge', () => ++done).finally(over.resolve)
        },
      }),
    })
    await received.promise
    await session.cancel('enough')
    expect(await session.result()).toMatchObject({ status: 'cancelled' })
    await over.promise
    expect(done).toBe(0)
  })

  test('a step that nobody awaits does not begin after receive has returned', async () => {
    let done = 0
    const lines: string[] = []
    const logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
    const workers = {
      hurries: defineWorker({
        receive(_, self) {
          void self.step('late', () => ++done)
          self.reply(1)
        },
      }),
    }
    await using troupe = await TestTroupe.start({ workers, logger })
    expect(await troupe.run('hurries')).toMatchObject({ value: 1 })
    expect(await waitUntil('it is logged', () => lines[0])).toContain(
      'self.step \\"late\\" was to begin after receive had returned',
    )
    expect(done).toBe(0)
  })

  test('a step that nobody awaits, and that ends after receive has returned, is not recorded and harms no other run', async () => {
    const gate = Promise.withResolvers<void>()
    const workers = {
      forgets: defineWorker({
        async receive(_, self) {
          const began = Promise.withResolvers<void>()
          void self.step('fails', () => Promise.reject(new Error('nobody catches this')))
          void self.step('late', () => {
            began.resolve()
            return gate.promise
          })
          await began.promise
          self.reply(1)
        },
      }),
      echo: defineWorker({ receive: (message, self) => self.reply(message.value) }),
    }
    await using troupe = await TestTroupe.start({ workers })
    const session = await troupe.create('forgets')
    expect(await session.result()).toMatchObject({ value: 1 })
    gate.resolve()
    expect(await troupe.run('echo', 2)).toMatchObject({ value: 2 })
    expect((await troupe.history(session.rootId)).map(({ type }) => type)).toEqual(['received', 'completed'])
  })
})
