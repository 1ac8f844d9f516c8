/** Odd values of authors: each has a clear meaning, or a clear error, and none floods the log. */
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { failureMessageCharsMax, toFailure } from '../../../src/core/worker/run/failure.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

test.each([-1, -0.4, Number.NEGATIVE_INFINITY])('a timer after %d ms fires at once', async (ms) => {
  const early = defineWorker({
    receive: (message, self) => (message.kind === 'input' ? self.after(ms, 'now') : self.reply(message.value)),
  })
  await using troupe = await TestTroupe.start({ workers: { early } })
  expect(await troupe.run('early')).toMatchObject({ value: 'now' })
})

test.each([['1000'], [Number.NaN], [null], [{ ms: 1 }]])(
  'the value %j of retryAfterMs is refused by name',
  async (retryAfterMs) => {
    let received = 0
    const busy = defineWorker({
      receive() {
        received++
        throw new TransientError('busy', { retryAfterMs: retryAfterMs as number })
      },
    })
    await using troupe = await TestTroupe.start({ workers: { busy } })
    expect(await troupe.run('busy')).toMatchObject({
      status: 'failed',
      failure: {
        code: 'input_invalid',
        message: expect.stringMatching(/^retryAfterMs takes a number of milliseconds, not /) as string,
      },
    })
    expect(received).toBe(1)
  },
)

test('an error with a message of megabytes is cut in log, history and result, at a whole character', async () => {
  const lines: string[] = []
  const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  const long = defineWorker({
    retries: 2,
    receive() {
      throw new Error('\u{1f600}'.repeat(1_500_000))
    },
  })
  await using troupe = await TestTroupe.start({ workers: { long }, logger })
  const result = await troupe.run('long')
  expect(result.status).toBe('failed')
  expect(JSON.stringify(result).length).toBeLessThan(5_000)
  expect(lines.join('').length).toBeLessThan(200_000)
  for (const before of ['', 'x']) {
    const { message } = toFailure(new Error(before + '\u{1f600}'.repeat(failureMessageCharsMax)), 'handler', 1, 0)
    expect(message.isWellFormed()).toBe(true)
  }
})
