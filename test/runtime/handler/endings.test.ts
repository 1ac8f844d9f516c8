/** How one receive may end, and what is recorded then: all of what it asked for, or nothing but its failure. */
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { LimitError, TerminalError } from '../../../src/core/errors.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

const counter = defineWorker({
  state: z.object({ n: z.number() }),
  initial: { n: 0 },
  receive(message, self) {
    self.setState({ n: self.state.n + 1 })
    if (message.kind === 'input' && message.value === 'break') throw new TerminalError('broken on purpose')
    if (message.kind === 'input' && message.value === 'fail') return self.fail('failed on purpose')
    self.reply(self.state.n)
  },
})

describe('receive', () => {
  test('a reply ends the run with its value', async () => {
    await using troupe = await TestTroupe.start({
      workers: { echo: defineWorker({ receive: (message, self) => self.reply({ got: message.value }) }) },
    })
    const value = { text: 'ä\u0000\u{1f600}\t"', list: [1, null, { deep: [] }], empty: {} }
    expect(await troupe.run('echo', value)).toEqual({ status: 'completed', run: 1, value: { got: value } })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a returned thenable is awaited, also if it is no Promise and starts only then', async () => {
    const query = defineWorker({
      receive(_, self) {
        const then = (done: () => void) => queueMicrotask(() => [self.reply('done'), done()])
        const lazy = { then } // oxlint-disable-line unicorn/no-thenable -- clients of databases return such
        return lazy as unknown as Promise<void>
      },
    })
    await using troupe = await TestTroupe.start({ workers: { query } })
    expect(await troupe.run('query')).toMatchObject({ status: 'completed', value: 'done' })
  })

  test('a receive that returns without a reply ends the run with null', async () => {
    await using troupe = await TestTroupe.start({ workers: { quiet: defineWorker({ receive: () => {} }) } })
    expect(await troupe.run('quiet')).toEqual({ status: 'completed', run: 1, value: null })
  })

  test('a value returned by receive is not the result, and a warning says so', async () => {
    const lines: Record<string, unknown>[] = []
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    // On a busy machine a node also reports its own delays.
    const told = () => lines.filter(({ worker }) => worker !== undefined)
    const workers = {
      returns: defineWorker({ receive: () => 'lost' as never }),
      replies: defineWorker({
        receive(_, self) {
          self.reply('kept')
          return 'unused' as never
        },
      }),
      fails: defineWorker({ receive: (_, self) => [self.fail('no')] as never }),
      waits: defineWorker({
        receive: (message, self) => (message.kind === 'input' ? [self.after(0, null)] : self.reply('woke')) as never,
      }),
    }
    await using troupe = await TestTroupe.start({ workers, logger })
    expect(await troupe.run('replies')).toMatchObject({ value: 'kept' })
    expect(await troupe.run('waits')).toMatchObject({ value: 'woke' })
    expect(await troupe.run('fails')).toMatchObject({ failure: { message: 'no' } })
    expect(told()).toEqual([])
    expect(await troupe.run('returns')).toMatchObject({ status: 'completed', value: null })
    expect(told().map(({ msg }) => msg)).toEqual([
      'receive returned a value and did not reply, so the result is null: call self.reply(value) to set it',
    ])
  })

  test('self.log writes with the ids of its worker, even with fields before the message', async () => {
    const told: unknown[] = []
    const logger = pino({ level: 'info' }, { write: (line: string) => void told.push(JSON.parse(line)) })
    const workers = {
      logs: defineWorker({ receive: (_, self) => self.log.info({ order: 17 } as never, 'text' as never) }),
    }
    await using troupe = await TestTroupe.start({ workers, logger })
    const { id } = await troupe.create('logs')
    await troupe.client.sessions.get(id).result()
    expect(told).toContainEqual(expect.objectContaining({ msg: 'text', order: 17, kind: 'logs', session: id }))
  })

  test.each([
    [undefined, 'self.fail was called without a reason: it takes an Error or a text.'],
    ['', 'self.fail was called without a reason: it takes an Error or a text.'],
    [{ code: 7 }, 'self.fail was called with { code: 7 }: it takes an Error or a text.'],
    [null, 'self.fail was called with null: it takes an Error or a text.'],
    [new TypeError('no luck'), 'no luck'],
  ])('self.fail(%j) fails the run, whatever the reason is', async (reason, message) => {
    await using troupe = await TestTroupe.start({
      workers: { quitter: defineWorker({ retries: 0, receive: (_, self) => self.fail(reason as Error) }) },
    })
    const failure = { code: 'run_failed', message, retryable: false }
    expect(await troupe.run('quitter')).toMatchObject({ status: 'failed', failure })
  })

  test('self.fail with an error of troupe fails the run with the code of that error', async () => {
    const quitter = defineWorker({ receive: (_, self) => self.fail(new LimitError('mailbox_full', 'no room')) })
    await using troupe = await TestTroupe.start({ workers: { quitter } })
    expect(await troupe.run('quitter')).toMatchObject({ status: 'failed', failure: { code: 'mailbox_full' } })
  })

  test('self.fail ends the run as failed, without a retry', async () => {
    let calls = 0
    await using troupe = await TestTroupe.start({
      workers: {
        failing: defineWorker({
          receive: (_, self) => {
            calls++
            self.fail('not today')
          },
        }),
      },
    })
    const result = await troupe.run('failing')
    expect(result).toMatchObject({ status: 'failed', run: 1, failure: { code: 'run_failed', message: 'not today' } })
    expect(calls).toBe(1)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('state set by a receive that throws or fails is dropped; state set before a reply is kept (HANDLER-2)', async () => {
    await using troupe = await TestTroupe.start({ workers: { counter } })
    const session = await troupe.create('counter', 'count', { keepOpen: true })
    expect(await session.result({ run: 1 })).toMatchObject({ value: 1 })
    for (const input of ['break', 'fail', 'count']) await session.root.send(input)
    expect(await session.result({ run: 2 })).toMatchObject({
      status: 'failed',
      failure: { message: 'broken on purpose' },
    })
    expect(await session.result({ run: 3 })).toMatchObject({
      status: 'failed',
      failure: { message: 'failed on purpose' },
    })
    expect(await session.result({ run: 4 })).toMatchObject({ status: 'completed', value: 2 })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('spawns, sends and timers of a receive that throws never leave (HANDLER-2)', async () => {
    const seen: unknown[] = []
    await using troupe = await TestTroupe.start({
      workers: {
        child: defineWorker({
          receive: (message) => {
            seen.push(message.value)
          },
        }),
        thrower: defineWorker({
          receive: (_, self) => {
            const child = self.spawn('child', 'born')
            self.send(child, 'sent')
            self.after(0, 'ticked')
            throw new TerminalError('after all that')
          },
        }),
      },
    })
    const session = await troupe.create('thrower')
    expect(await session.result()).toMatchObject({ status: 'failed', failure: { message: 'after all that' } })
    const { workers } = await session.report()
    expect(workers).toHaveLength(1)
    const { timers } = await expectInvariants(troupe.redis, troupe.namespace)
    expect(timers).toEqual([])
    expect(seen).toEqual([])
  })

  test('the history entry of a message holds everything that receive asked for, and nothing else', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        quiet: defineWorker({ receive: () => {} }),
        asker: defineWorker({
          receive(message, self) {
            if (message.kind !== 'input') return
            const quiet = self.spawn('quiet', 1, { detached: true })
            self.send(quiet, 2)
            self.after(0, 3)
          },
        }),
      },
    })
    const session = await troupe.create('asker')
    expect(await session.result()).toMatchObject({ status: 'completed' })
    const [asked, timer] = await troupe.history(session.rootId)
    const id = expect.any(String)
    const head = { type: 'received', v: expect.any(Number), at: expect.any(Number), run: 1, epoch: expect.any(Number) }
    expect(asked).toEqual({
      ...head,
      message: expect.objectContaining({ kind: 'input' }),
      spawned: [{ call: 1, id, kind: 'quiet', name: 'quiet-1', detached: true }],
      sent: [id],
      timers: [{ id, ms: 0 }],
    })
    expect(timer).toEqual({ ...head, message: expect.objectContaining({ kind: 'timer', value: 3 }) })
  })

  test('state changed in place without setState fails the run, and is not seen by the next receive (HANDLER-3, HANDLER-5)', async () => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('careless', 1, { keepOpen: true })
    await session.root.send(2)
    await troupe.startNode({
      careless: defineWorker<{ list: unknown[] }>({
        initial: { list: [] },
        receive(message, self) {
          if (message.value === 1) (self.state.list as unknown[]).push(message.value)
          self.reply(self.state.list.length)
        },
      }),
    })
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'failed' })
    expect(await session.result({ run: 2 })).toMatchObject({ value: 0 })
  })

  test('a state that nobody has set is null if its definition has no initial one', async () => {
    const seen: unknown[] = []
    const fresh = defineWorker({ receive: (_, self) => void seen.push(self.state) })
    await using troupe = await TestTroupe.start({ workers: { fresh } })
    await troupe.run('fresh')
    expect(seen).toEqual([null])
  })

  test.each([
    ['reply', 'reply', 'replied twice to one message'],
    ['reply', 'fail', 'ended its run twice'],
    ['fail', 'reply', 'replied twice to one message'],
    ['fail', 'fail', 'ended its run twice'],
  ] as const)('a run ends once: %s and then %s fails it', async (first, second, why) => {
    await using troupe = await TestTroupe.start({
      workers: {
        double: defineWorker({
          receive(_, self) {
            self[first]('one')
            self[second]('two')
          },
        }),
      },
    })
    expect(await troupe.run('double')).toMatchObject({
      status: 'failed',
      failure: { code: 'run_failed', message: `double ${why}: a run ends once.` },
    })
  })

  test('self holds the identity of the worker', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        who: defineWorker({
          receive: (
            _,
            { id, name, kind, sessionId, parentId, depth, run, attempt, limits, openChildren, idempotencyKey, ...self },
          ) => {
            void self
            throw new TerminalError(
              JSON.stringify({
                id,
                name,
                kind,
                sessionId,
                parentId,
                depth,
                run,
                attempt,
                limits,
                openChildren,
                idempotencyKey,
              }),
            )
          },
        }),
      },
    })
    const session = await troupe.create('who', 1, { name: 'me', limits: { depth: 2, modelCalls: 7 } })
    const result = await session.result()
    const said = JSON.parse(result.status === 'failed' ? result.failure.message : '{}')
    expect(said).toMatchObject({
      id: session.rootId,
      name: 'me',
      kind: 'who',
      sessionId: session.id,
      parentId: null,
      depth: 0,
      run: 1,
      attempt: 1,
      openChildren: 0,
      limits: { depth: 2, workers: 200, children: 20, mailbox: 1_000, modelCalls: 7 },
    })
    expect(said.idempotencyKey).toContain(session.rootId)
  })

  test('self.log writes its text with the worker that logs it', async () => {
    const told: Record<string, unknown>[] = []
    const logger = pino({ level: 'debug' }, { write: (line: string) => void told.push(JSON.parse(line)) })
    const levels = ['debug', 'info', 'warn', 'error'] as const
    const teller = defineWorker({
      receive(_, self) {
        for (const level of levels) self.log[level](`at ${level}`, { note: level.length })
      },
    })
    await using troupe = await TestTroupe.start({ workers: { teller }, logger })
    const session = await troupe.create('teller')
    await session.result()
    const from = { session: session.id, worker: session.rootId, kind: 'teller', run: 1 }
    expect(told.filter(({ note }) => note !== undefined)).toMatchObject(
      levels.map((level) => ({ ...from, msg: `at ${level}`, note: level.length })),
    )
  })
})
