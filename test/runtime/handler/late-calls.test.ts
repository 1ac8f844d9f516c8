/** Code that goes on after its `receive` has returned, and a `receive` that returns without a result, concern only their own run. */
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { defineWorker, type HandlerWorker, type Self } from '../../../src/core/definition/define-worker.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

describe('after receive has returned', () => {
  test.each<[string, (self: Self) => unknown]>([
    ['spawn', (self) => self.send(self.spawn('careless', 'late'), 'late')],
    ['send', (self) => self.send(self.id, 'late')],
    ['reply', (self) => self.reply('late')],
    ['fail', (self) => self.fail('late')],
    ['after', (self) => self.after(Number.NaN, 'late')],
    ['ask', (self) => self.ask('late')],
    ['step', (self) => self.step('late', () => expect.fail('it began'))],
    ['setState', (self) => self.setState('late')],
    ['blob', (self) => self.blob('late')],
    ['state', (self) => Object.assign(self, { state: 'late' })],
  ])(
    'self is closed after receive has returned: a late %s has no effect, and ends neither its node nor another run (SELF-2)',
    async (call, ask) => {
      const lines: { msg: string; stack?: string; level: number; worker?: string }[] = []
      const logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
      const asked = Promise.withResolvers<void>()
      await using troupe = await TestTroupe.start({
        logger,
        workers: {
          careless: defineWorker({
            // Nothing catches what the timer or the promise throws: the process of this test would end.
            receive(_, self) {
              setTimeout(() => {
                ask(self)
                void Promise.resolve().then(() => ask(self))
                setImmediate(asked.resolve)
              }, 1)
            },
          }),
          echo: defineWorker({ receive: (message, self) => self.reply(message.value) }),
        },
      })
      const session = await troupe.create('careless')
      expect(await session.result()).toMatchObject({ status: 'completed', value: null })
      await asked.promise
      expect(await troupe.run('echo', 1)).toMatchObject({ value: 1 })
      expect(lines[0]).toMatchObject({
        level: 50,
        worker: session.rootId,
        msg: `worker careless (${session.rootId}) of session ${session.id}: self.${call} was called after receive had returned: await everything before it returns. It has no effect.`,
        stack: expect.stringMatching(/^Error: [\s\S]*\n +at .*late-calls\.test\.ts:\d+/) as string,
      })
      expect(await troupe.history(session.rootId)).toHaveLength(2)
    },
  )

  test('a late call while its turn goes on is recorded with the next step, as a warning of its run', async () => {
    const late = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('careless', 'first', { keepOpen: true })
    await session.root.send('second')
    await troupe.startNode({
      careless: defineWorker({
        async receive(message, self) {
          if (message.value === 'second') await late.promise
          else
            setImmediate(() => {
              self.setState('late')
              late.resolve()
            })
          self.reply(self.state)
        },
      }),
    })
    expect(await session.result({ run: 2 })).toMatchObject({ value: null })
    await session.close()
    const events = await Array.fromAsync(session.events({ after: '0-0' }))
    expect(events.filter(({ type }) => type === 'run.warned')).toMatchObject([
      { details: { run: 1, warning: expect.stringMatching(/^self\.setState was called after/) as string } },
    ])
  })

  test.each<[string, HandlerWorker<null>, string | null]>([
    ['returns', { receive: () => {} }, 'without a reply'],
    ['returns a value', { receive: () => 7 as never }, 'returned a value'],
    ['replies with null', { receive: (_, self) => self.reply(null) }, null],
    ['fails', { receive: (_, self) => self.fail('no') }, null],
  ])(
    'a receive that %s brings a warning in log and event if nobody set its result (HANDLER-6)',
    async (_, worker, warning) => {
      const lines: { msg: string; worker?: string; level: number }[] = []
      const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
      await using troupe = await TestTroupe.start({ workers: { worker: defineWorker(worker) }, logger })
      const session = await troupe.create('worker')
      const events = await Array.fromAsync(session.events({ after: '0-0' }))
      const expected = expect.stringContaining(warning ?? '') as string
      expect(events.filter(({ type }) => type === 'run.warned')).toMatchObject(
        warning === null ? [] : [{ workerId: session.rootId, details: { run: 1, warning: expected } }],
      )
      const warned = lines.filter(({ msg }) => msg.includes('the result is null'))
      expect(warned).toMatchObject(warning === null ? [] : [{ level: 40, worker: session.rootId, msg: expected }])
    },
  )

  test('a run that a message of another worker began needs no reply: nobody waits for it', async () => {
    const lines: string[] = []
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
    const done = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.start({
      logger,
      workers: {
        boss: defineWorker({
          receive(_, self) {
            self.spawn('listener', 'go', { detached: true })
            self.reply('sent')
          },
        }),
        listener: defineWorker({ receive: () => done.resolve() }),
      },
    })
    expect(await troupe.run('boss')).toMatchObject({ value: 'sent' })
    await done.promise
    expect(lines.filter((line) => line.includes('the result is null'))).toEqual([])
  })
})
