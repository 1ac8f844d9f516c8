/** Tries of a message: by class of the error, on a durable timer, with the last failure in sight. */
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { CancelledError, InputError, TerminalError, TransientError } from '../../../src/core/errors.ts'
import { partitionKeys } from '../../../src/store/keys.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const soon = { retryAfterMs: 1 }
/** Longer than a test lasts: it fires when the test makes it due. */
const hourMs = 3_600_000

/** Once the message of a child waits for its retry: has the timer of this run fire, and then the retry. */
async function fireBoth(troupe: TestTroupe, workerId: string): Promise<void> {
  const { timers } = partitionKeys(troupe.tag)
  const retry = `${workerId}:retry`
  await waitUntil('it waits for its retry', async () => (await troupe.redis.zscore(timers, retry)) !== null)
  const [timer = ''] = (await troupe.redis.zrange(timers, 0, '-1')).filter((member) => member !== retry)
  for (const due of [timer, retry]) {
    await troupe.redis.zadd(timers, 'XX', 1, due)
    await waitUntil('it has fired', async () => (await troupe.redis.zscore(timers, due)) !== '1')
  }
}

describe('a receive that throws', () => {
  test('a receive that throws is tried again with the same message and the next attempt, until it succeeds', async () => {
    const attempts: unknown[] = []
    await using troupe = await TestTroupe.start({
      workers: {
        flaky: defineWorker({
          receive(message, self) {
            attempts.push([message.id, message.value, self.attempt, self.idempotencyKey])
            if (self.attempt < 3) throw new TransientError('not yet', soon)
            self.reply(self.attempt)
          },
        }),
      },
    })
    const session = await troupe.create('flaky', 'x')
    expect(await session.result()).toMatchObject({ status: 'completed', value: 3 })
    expect(attempts).toHaveLength(3)
    expect(new Set(attempts.map((one) => (one as unknown[])[0])).size).toBe(1)
    expect(new Set(attempts.map((one) => (one as unknown[])[3])).size).toBe(1)
    expect(attempts.map((one) => (one as unknown[])[2])).toEqual([1, 2, 3])
    expect((await troupe.history(session.rootId)).map(({ type }) => type)).toEqual([
      'attemptFailed',
      'attemptFailed',
      'received',
      'completed',
    ])
    expect((await session.root.report()).lastFailure).toBeNull()
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a receive that throws fails the run after the retries of its definition, with the number of the last attempt', async () => {
    let attempts = 0
    await using troupe = await TestTroupe.start({
      workers: {
        flaky: defineWorker({
          retries: 1,
          receive() {
            attempts++
            throw new TransientError(`attempt ${attempts}`, soon)
          },
        }),
      },
    })
    const session = await troupe.create('flaky')
    expect(await session.result()).toMatchObject({
      status: 'failed',
      failure: { code: 'handler_failed', message: 'attempt 2', attempt: 2, origin: 'handler', retryable: true },
    })
    expect(attempts).toBe(2)
    const report = await session.report()
    expect(report.session).toMatchObject({ state: 'failed', failure: { message: 'attempt 2' } })
    expect(report.workers[0]).toMatchObject({
      lifecycle: 'idleFailed',
      state: 'inactiveFailed',
      run: 'Failed',
      lastFailure: { message: 'attempt 2', attempt: 2 },
    })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a receive that throws waits for its next attempt without a slot, and shows the failure of the last one', async () => {
    const done: unknown[] = []
    await using troupe = await TestTroupe.start({
      concurrency: 1,
      workers: {
        flaky: defineWorker({
          receive(_, self) {
            if (self.attempt === 1) throw new TransientError('wait for it', { retryAfterMs: 60_000 })
          },
        }),
        other: defineWorker({ receive: (message) => void done.push(message.value) }),
      },
    })
    const session = await troupe.create('flaky')
    const root = await waitUntil('it waits for its retry', async () => {
      const report = await session.root.report()
      return report.status === 'parked' && report
    })
    expect(root).toMatchObject({
      lifecycle: 'busy',
      state: 'waiting',
      run: 'TransientFailure',
      node: null,
      lastFailure: { message: 'wait for it', attempt: 1, retryable: true },
    })
    expect(root.waitsFor).toContain('retry after 1 failed attempt')
    expect(await troupe.run('other', 'meanwhile')).toMatchObject({ status: 'completed' })
    expect(done).toEqual(['meanwhile'])
  })

  test('a receive that throws waits longer after each failure, by the times of the node', async () => {
    await using troupe = await TestTroupe.start({
      policy: { retryBackoffMs: 40 },
      workers: {
        flaky: defineWorker({
          receive() {
            throw new Error('a plain error is retried')
          },
        }),
      },
    })
    const session = await troupe.create('flaky')
    expect(await session.result()).toMatchObject({
      status: 'failed',
      failure: { code: 'handler_failed', message: 'a plain error is retried', attempt: 4 },
    })
    const waits = (await troupe.history(session.rootId)).flatMap((entry) =>
      entry.type === 'attemptFailed' ? [entry.retryMs] : [],
    )
    expect(waits).toHaveLength(3)
    for (const [index, ms] of waits.entries()) {
      expect(ms).toBeGreaterThanOrEqual(20 * 2 ** index)
      expect(ms).toBeLessThanOrEqual(40 * 2 ** index)
    }
  })

  test.each([
    ['TerminalError', () => new TerminalError('no'), 'run_failed'],
    ['InputError', () => new InputError('no'), 'input_invalid'],
    ['CancelledError', () => new CancelledError('no'), 'cancelled'],
  ])('a receive that throws a %s is not tried again', async (_, make, code) => {
    let attempts = 0
    await using troupe = await TestTroupe.start({
      workers: {
        firm: defineWorker({
          receive() {
            attempts++
            throw make()
          },
        }),
      },
    })
    expect(await troupe.run('firm')).toMatchObject({
      status: 'failed',
      failure: { code, attempt: 1, retryable: false },
    })
    expect(attempts).toBe(1)
  })

  test('a thrown value need not be an Error', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        odd: defineWorker({
          retries: 0,
          receive(message) {
            throw message.value
          },
        }),
      },
    })
    expect(await troupe.run('odd', 'a word')).toMatchObject({ failure: { message: 'a word' } })
    expect(await troupe.run('odd', { a: 1 })).toMatchObject({
      failure: { message: expect.stringContaining('{"a":1}') },
    })
    expect(await troupe.run('odd', null)).toMatchObject({ status: 'failed' })
  })

  test('a receive that throws is logged for its author, with its stack', async () => {
    const lines: Record<string, unknown>[] = []
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    // On a busy machine a node also reports its own delays.
    const told = () => lines.filter(({ worker }) => worker !== undefined)
    const workers = {
      own: defineWorker({
        retries: 0,
        receive() {
          throw new RangeError('a slip')
        },
      }),
      known: defineWorker({
        receive() {
          throw new TerminalError('on purpose')
        },
      }),
    }
    await using troupe = await TestTroupe.start({ workers, logger })
    const { rootId: worker } = await troupe.create('own')
    await waitUntil('it is told', () => told().length === 1)
    await troupe.run('known')
    expect(told()).toMatchObject([
      {
        msg: 'receive failed',
        session: expect.any(String),
        worker,
        run: 1,
        kind: 'own',
        attempt: 1,
        of: 1,
        error: 'a slip',
      },
      // The worker is not tried again, so the line names no wait.
      { msg: 'receive failed', kind: 'known', attempt: 1, of: 1, error: 'on purpose' },
    ])
    expect(told().map(({ stack }) => stack)).toEqual([
      expect.stringMatching(/^RangeError: a slip\n/),
      expect.stringMatching(/^TerminalError: on purpose\n/),
    ])
  })

  test('a receive that throws in a run that goes on leaves no last failure when the next attempt succeeds', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        flaky: defineWorker({
          receive(message, self) {
            if (message.kind === 'input') return self.after(0, 'tick')
            if (self.attempt === 1) throw new TransientError('not yet', soon)
            self.reply('done')
          },
        }),
      },
    })
    const session = await troupe.create('flaky')
    expect(await session.result()).toMatchObject({ status: 'completed', value: 'done' })
    expect((await session.root.report()).lastFailure).toBeNull()
  })

  test('failed attempts at a timer are counted apart from those at a message that waits for its retry', async () => {
    const seen: unknown[] = []
    await using troupe = await TestTroupe.start({
      workers: {
        echo: defineWorker({ receive: (_, self) => self.reply('child') }),
        flaky: defineWorker({
          receive(message, self) {
            seen.push([message.kind, self.attempt])
            if (message.kind === 'input') {
              self.spawn('echo', null)
              self.after(hourMs, 'tick')
            } else if (message.kind === 'result' && self.attempt === 1) {
              throw new TransientError('not yet', { retryAfterMs: hourMs })
            } else if (message.kind === 'result') self.reply('done')
          },
        }),
      },
    })
    const session = await troupe.create('flaky')
    await fireBoth(troupe, session.rootId)
    expect(await session.result()).toMatchObject({ status: 'completed', value: 'done' })
    expect(seen).toEqual([
      ['input', 1],
      ['result', 1],
      ['timer', 1],
      ['result', 2],
    ])
  })

  test('a receive that throws has as many attempts if a timer that came between is tried again too', async () => {
    const seen: unknown[] = []
    await using troupe = await TestTroupe.start({
      workers: {
        echo: defineWorker({ receive: (_, self) => self.reply('child') }),
        flaky: defineWorker({
          retries: 1,
          receive(message, self) {
            seen.push([message.kind, self.attempt])
            if (message.kind === 'input') {
              self.spawn('echo', null)
              self.after(hourMs, 'tick')
            } else if (message.kind === 'result') throw new TransientError('never', { retryAfterMs: hourMs })
            else if (self.attempt === 1) throw new TransientError('not yet', soon)
          },
        }),
      },
    })
    const session = await troupe.create('flaky')
    await fireBoth(troupe, session.rootId)
    expect(await session.result()).toMatchObject({ status: 'failed', failure: { message: 'never', attempt: 2 } })
    expect(seen).toEqual([
      ['input', 1],
      ['result', 1],
      ['timer', 1],
      ['timer', 2],
      ['result', 2],
    ])
  })

  test('failed attempts at a message that still waits are gone when another message ends the run', async () => {
    let failures = 0
    await using troupe = await TestTroupe.start({
      workers: {
        echo: defineWorker({ receive: (_, self) => self.reply('child') }),
        flaky: defineWorker({
          retries: 1_000,
          receive(message, self) {
            if (message.kind === 'input') self.spawn('echo', null)
            if (message.kind === 'result') {
              failures++
              throw new TransientError('not yet', { retryAfterMs: 50 })
            }
            if (failures === 0) self.after(20, 'tick')
            else self.reply('by the timer')
          },
        }),
      },
    })
    const session = await troupe.create('flaky')
    expect(await session.result()).toMatchObject({ status: 'completed', value: 'by the timer' })
    expect((await session.root.report()).lastFailure).toBeNull()
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('the last failure goes when the next run starts, not before', async () => {
    const gate = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.start({
      workers: {
        moody: defineWorker({
          async receive(message, self) {
            if (message.value === 'fail') return self.fail('bad mood')
            await gate.promise
            self.reply('fine')
          },
        }),
      },
    })
    const session = await troupe.create('moody', 'fail', { keepOpen: true })
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'failed' })
    expect(await session.root.report()).toMatchObject({
      lifecycle: 'idleFailed',
      lastFailure: { code: 'run_failed', message: 'bad mood' },
    })
    await session.root.send('work')
    await waitUntil('the next run has started', async () => (await session.root.report()).status === 'running')
    expect(await session.root.report()).toMatchObject({ lifecycle: 'busy', state: 'working', lastFailure: null })
    gate.resolve()
    expect(await session.result({ run: 2 })).toMatchObject({ value: 'fine' })
    expect(await session.root.report()).toMatchObject({ lifecycle: 'idle', state: 'inactive', lastFailure: null })
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})

test.each([10.5, -5])('a wait of %d ms that a handler asks for is made one that can be kept', async (retryAfterMs) => {
  let attempts = 0
  const moody = defineWorker({
    receive(_message, self) {
      if (++attempts === 1) throw new TransientError('later', { retryAfterMs })
      self.reply(self.attempt)
    },
  })
  await using troupe = await TestTroupe.start({ workers: { moody } })
  expect(await troupe.run('moody')).toMatchObject({ status: 'completed', value: 2 })
  // Started a second time by its timer, and not because its lease had ended.
  expect(attempts).toBe(2)
})

test('a wait of NaN ms fails the run with a sentence that names it', async () => {
  const moody = defineWorker({
    retries: 0,
    receive() {
      throw new TransientError('later', { retryAfterMs: Number.NaN })
    },
  })
  await using troupe = await TestTroupe.start({ workers: { moody } })
  expect(await troupe.run('moody')).toMatchObject({
    status: 'failed',
    failure: { message: expect.stringContaining('retryAfterMs') },
  })
})
