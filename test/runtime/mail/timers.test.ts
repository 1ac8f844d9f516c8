/** Durable timers: they fire once, several at a time, outlive their node, and go with their run. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { policy } from '../../../src/core/policy.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { hourMs, makeTimersDue } from '../../support/time/due-timers.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

describe('self.after', () => {
  test('the run receives the timer after the time, and is parked until then', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        waiter: defineWorker<number>({
          initial: 0,
          receive(message, self) {
            if (message.kind === 'input') {
              self.setState(Date.now())
              self.after(message.value as number, { note: 'tick' })
            } else self.reply({ kind: message.kind, value: message.value, waitedMs: Date.now() - self.state })
          },
        }),
      },
    })
    const woken = { kind: 'timer', value: { note: 'tick' } }
    const soon = await troupe.run('waiter', 100)
    expect(soon).toMatchObject({ status: 'completed', value: woken })
    expect((soon as { value: { waitedMs: number } }).value.waitedMs).toBeGreaterThanOrEqual(95)
    const session = await troupe.create('waiter', hourMs)
    const root = await waitUntil('it is parked', async () => {
      const report = await session.root.report()
      return report.status === 'parked' && report
    })
    expect(root).toMatchObject({
      lifecycle: 'busy',
      run: 'ProcessingUserMessage',
      waitsFor: 'a timer',
      node: null,
    })
    await makeTimersDue(troupe)
    expect(await session.result()).toMatchObject({ status: 'completed', value: woken })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('each of several timers fires at its time, though the next sweep is far away', async () => {
    const waiter = defineWorker<number>({
      initial: 0,
      receive(message, self) {
        if (message.kind === 'input') for (const ms of [10, 400]) self.after(ms, ms)
        else if (self.state === 1) self.reply('both')
        else self.setState(1)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { waiter }, policy: { sweepEveryMs: 600_000 } })
    expect(await troupe.run('waiter')).toMatchObject({ status: 'completed', value: 'both' })
  })

  test('a timer of a handler fires at its time, and so does the retry that one asks for, though the next sweep is far away', async () => {
    const waiter = defineWorker({
      receive(message, self) {
        if (message.kind === 'input') self.after(20, null)
        else if (self.attempt === 1) throw new TransientError('not yet', { retryAfterMs: 20 })
        else self.reply('in time')
      },
    })
    await using troupe = await TestTroupe.start({ workers: { waiter }, policy: { sweepEveryMs: 600_000 } })
    const session = await troupe.create('waiter')
    expect(await awaitResult(session)).toMatchObject({ value: 'in time' })
  })

  test('several timers fire in the order they are due', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        waiter: defineWorker<unknown[]>({
          initial: [],
          receive(message, self) {
            if (message.kind === 'input') for (const ms of [400, 0, 200]) self.after(ms, ms)
            else {
              self.setState([...self.state, message.value])
              if (self.state.length === 3) self.reply(self.state)
            }
          },
        }),
      },
    })
    expect(await troupe.run('waiter')).toMatchObject({ status: 'completed', value: [0, 200, 400] })
    const { timers } = await expectInvariants(troupe.redis, troupe.namespace)
    expect(timers).toEqual([])
  })

  test('timers that are open when the run ends are dropped with it', async () => {
    const seen: unknown[] = []
    await using troupe = await TestTroupe.start({
      workers: {
        hasty: defineWorker({
          receive(message, self) {
            seen.push(message.value)
            if (message.value === 'begin') {
              self.after(0, 'soon')
              self.after(50, 'later')
            } else self.reply('ended')
          },
        }),
      },
    })
    const session = await troupe.create('hasty', 'begin', { keepOpen: true })
    expect(await session.result({ run: 1 })).toMatchObject({ value: 'ended' })
    const { timers, workers } = await expectInvariants(troupe.redis, troupe.namespace)
    expect(timers).toEqual([])
    expect(workers.get(session.rootId)?.timers).toEqual([])
    await session.root.send('again')
    expect(await session.result({ run: 2 })).toMatchObject({ value: 'ended' })
    expect(seen).toEqual(['begin', 'soon', 'again'])
  })

  test('a timer of a node that has stopped fires on another', async () => {
    const workers = {
      waiter: defineWorker({
        receive(message, self) {
          if (message.kind === 'input') self.after(hourMs, null)
          else self.reply('woken')
        },
      }),
    }
    await using troupe = await TestTroupe.connect()
    const first = await troupe.startNode(workers)
    const session = await troupe.create('waiter')
    await waitUntil('it is parked', async () => (await session.root.report()).status === 'parked')
    await first.stop()
    await troupe.startNode(workers)
    await makeTimersDue(troupe)
    expect(await session.result()).toMatchObject({ status: 'completed', value: 'woken' })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a timer wakes a run that waits for a child, and the run goes on waiting for the child', async () => {
    const gate = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.start({
      workers: {
        patient: defineWorker<unknown[]>({
          initial: [],
          receive(message, self) {
            if (message.kind === 'input') {
              self.spawn('gated', null)
              self.after(0, 'tick')
              return
            }
            if (message.kind === 'timer') gate.resolve()
            self.setState([...self.state, message.value])
            if (self.state.length === 2) self.reply(self.state)
          },
        }),
        gated: defineWorker({
          async receive(_, self) {
            await gate.promise
            self.reply('child')
          },
        }),
      },
    })
    expect(await troupe.run('patient')).toMatchObject({ status: 'completed', value: ['tick', 'child'] })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a timer that comes while another message is received is received after it', async () => {
    const seen: string[] = []
    await using troupe = await TestTroupe.connect()
    const busy = defineWorker({
      async receive(message, self) {
        seen.push(message.kind)
        if (message.kind === 'input') {
          self.spawn('echo', null)
          self.after(hourMs, null)
        } else if (message.kind === 'timer') self.reply('both')
        else {
          await makeTimersDue(troupe)
          await waitUntil('the timer has come', async () => {
            const { mailbox } = await troupe.client.workers.get(self.id).report()
            return mailbox.signals === 1
          })
        }
      },
    })
    await troupe.startNode({ busy, echo: defineWorker({ receive: (_, self) => self.reply(null) }) })
    expect(await troupe.run('busy')).toMatchObject({ status: 'completed', value: 'both' })
    expect(seen).toEqual(['input', 'result', 'timer'])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('an impossible time is an error at the call', async () => {
    await using troupe = await TestTroupe.start({
      workers: { waiter: defineWorker({ receive: (message, self) => self.after(message.value as number, null) }) },
    })
    for (const ms of [-1, 1e15, null]) {
      expect(await troupe.run('waiter', ms)).toMatchObject({ status: 'failed', failure: { code: 'input_invalid' } })
    }
    const session = await troupe.create('waiter', policy.timerMsMax)
    await waitUntil('the longest wait is waited for', async () => (await session.root.report()).waitsFor === 'a timer')
  })
})
