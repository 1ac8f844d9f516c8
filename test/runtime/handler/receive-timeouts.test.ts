/** timeoutMs: what becomes of a receive that takes longer. */
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

describe('timeoutMs', () => {
  test('a receive that takes longer is aborted and tried again', async () => {
    const reasons: unknown[] = []
    await using troupe = await TestTroupe.start({
      policy: { retryBackoffMs: 1 },
      workers: {
        stuck: defineWorker({
          timeoutMs: 50,
          retries: 1,
          receive: (_, self) =>
            new Promise((_resolve, reject) => {
              self.signal.addEventListener('abort', () => {
                reasons.push(self.signal.reason)
                reject(new Error('another reason'))
              })
            }),
        }),
      },
    })
    expect(await troupe.run('stuck')).toMatchObject({
      status: 'failed',
      failure: { code: 'deadline_exceeded', attempt: 2, message: expect.stringContaining('50 ms') },
    })
    expect(reasons).toMatchObject([{ code: 'deadline_exceeded' }, { code: 'deadline_exceeded' }])
  })

  test('a receive that has returned in time does not learn later that its time is over', async () => {
    const signals: AbortSignal[] = []
    const later = Promise.withResolvers<void>()
    const quick = defineWorker({
      timeoutMs: 20,
      receive(_, self) {
        signals.push(self.signal)
        // Timers fire in the order of their time.
        setTimeout(later.resolve, 40)
        self.reply('in time')
      },
    })
    await using troupe = await TestTroupe.start({ workers: { quick } })
    expect(await troupe.run('quick')).toMatchObject({ value: 'in time' })
    await later.promise
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  })

  test('a receive that ignores its signal does not hold its slot, and nothing it does later is recorded', async () => {
    const gate = Promise.withResolvers<void>()
    const late = Promise.withResolvers<void>()
    const lines: string[] = []
    const logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
    await using troupe = await TestTroupe.start({
      concurrency: 1,
      logger,
      workers: {
        deaf: defineWorker({
          timeoutMs: 50,
          retries: 0,
          async receive(_, self) {
            await gate.promise
            self.reply('too late')
            late.resolve()
          },
        }),
        echo: defineWorker({ receive: (message, self) => self.reply(message.value) }),
      },
    })
    const session = await troupe.create('deaf')
    expect(await session.result()).toMatchObject({ status: 'failed', failure: { code: 'deadline_exceeded' } })
    expect(await troupe.run('echo', 1)).toMatchObject({ value: 1 })
    gate.resolve()
    const message =
      'self.reply was called after receive had taken longer than its timeoutMs: let it end when self.signal fires.'
    await late.promise
    expect(lines.filter((line) => line.includes(message))).toHaveLength(1)
    expect((await troupe.history(session.rootId)).map(({ type }) => type)).toEqual(['received', 'failed'])
  })
})
