/** How waits between tries grow: fixed, evenly, or by doubling. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { RetrySettings } from '../../../../src/core/definition/retry-settings.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { ConfigError, TransientError } from '../../../../src/core/errors.ts'
import type { Entry } from '../../../../src/core/history/entry.ts'
import { type Policy, retryDelayMs } from '../../../../src/core/policy.ts'
import { call, say } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { runOnce } from '../../../support/provider/run-agent.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitResult } from '../../../support/time/await-session.ts'

const grown = {
  fixed: [8, 8, 8, 8],
  linear: [8, 16, 24, 30],
  exponential: [8, 16, 30, 30],
} as const
const cases = Object.entries(grown) as [keyof typeof grown, readonly number[]][]

test.each(cases)('the waits of the strategy %s grow up to the cap [3.5]', (strategy, waits) => {
  const backOff = { strategy, retryBackoffMs: 8, retryBackoffMsMax: 30 }
  expect([1, 2, 3, 4].map((attempt) => retryDelayMs(attempt, 1, backOff))).toEqual(waits)
  expect(retryDelayMs(1_000_000, 1, backOff)).toBe(strategy === 'fixed' ? 8 : 30)
})

const waitsIn = (history: readonly Entry[]) =>
  history.flatMap((entry) => (entry.type === 'attemptFailed' ? [entry.retryMs] : []))

/** Half of each wait is random. */
function expectWaits(waits: readonly number[], full: readonly number[]): void {
  expect(waits).toHaveLength(full.length)
  for (const [index, wait] of waits.entries()) {
    expect(wait).toBeGreaterThanOrEqual(Math.floor((full[index] as number) / 2))
    expect(wait).toBeLessThanOrEqual(full[index] as number)
  }
}

describe.each(cases)('the strategy %s', (strategy, full) => {
  const retry: RetrySettings = { most: 4, strategy, baseMs: 8, capMs: 30 }

  test('a retry strategy holds for the model calls of a kind', async () => {
    const model = recordedModel('test/m', () => new TransientError('overloaded', { code: 'model_overloaded' }))
    const { troupe, result, history } = await runOnce({ instructions: 'x', model, retry })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'model_overloaded', attempt: 5 } })
    expectWaits(waitsIn(history), full)
  })

  test('a retry strategy holds for a tool, whatever its kind says', async () => {
    const flaky = defineTool({
      name: 'flaky',
      description: 'Fails.',
      effect: 'pure',
      retry,
      run: () => {
        throw new TransientError('not now')
      },
    })
    const model = recordedModel('test/m', [call('flaky'), say('No.')])
    const { troupe, result, history } = await runOnce({ instructions: 'x', model, tools: [flaky], retry: { most: 0 } })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed' })
    expectWaits(waitsIn(history), full)
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain('tried 5 times')
  })

  test('a retry strategy holds for the messages of a handler', async () => {
    const flaky = defineWorker({
      retry,
      receive() {
        throw new TransientError('not now')
      },
    })
    await using troupe = await TestTroupe.start({ workers: { flaky } })
    const session = await troupe.create('flaky', 'go', { keepOpen: true })
    expect(await awaitResult(session, { run: 1 })).toMatchObject({ status: 'failed' })
    expectWaits(waitsIn(await troupe.history(session.rootId)), full)
  })
})

test.each([
  [{ most: -1 }, /retry\.most must be a whole number from 0/],
  [{ strategy: 'random' }, /retry\.strategy must be one of fixed, linear, exponential/],
  [{ baseMs: 1.5 }, /retry\.baseMs/],
  [{ capMs: '5' }, /retry\.capMs/],
  [{ base: 5 }, /retry does not know "base"/],
  [5, /retry must be an object/],
])('the retry settings %j are refused for kinds and tools', (retry, message) => {
  const given = retry as RetrySettings
  expect(() => defineWorker({ instructions: 'x', retry: given })).toThrow(message)
  expect(() => defineWorker({ receive: () => {}, retry: given })).toThrow(ConfigError)
  const tool = { name: 't', description: 'T.', effect: 'pure', run: () => 1 } as const
  expect(() => defineTool({ ...tool, retry: given })).toThrow(message)
})

test('a kind with both retries and retry.most is refused, because they say the same', () => {
  expect(() => defineWorker({ instructions: 'x', retries: 1, retry: { most: 2 } })).toThrow(/say the same/)
})

/** How many attempts of a model call fail before its run fails, if they fail with these codes in turn. */
async function attemptsOf(...codes: readonly ('model_overloaded' | 'model_unavailable')[]) {
  return attemptsWith({}, ...codes)
}

async function attemptsWith(policy: Partial<Policy>, ...codes: readonly ('model_overloaded' | 'model_unavailable')[]) {
  let calls = 0
  const model = recordedModel('test/m', () => {
    const code = codes[calls++ % codes.length] ?? 'model_overloaded'
    return new TransientError(code, { code, retryAfterMs: 0 })
  })
  const { troupe, result } = await runOnce({ instructions: 'x', model }, 'go', { modelBackoffMs: 1, ...policy })
  await using _ = troupe
  return result.status === 'failed' ? result.failure.attempt : 0
}

test('a model whose provider is too busy is asked ten times more, and one that does not answer three times', async () => {
  expect(await attemptsOf('model_overloaded')).toBe(11)
  expect(await attemptsOf('model_unavailable')).toBe(4)
})

test('a model call that its provider was too busy for once is tried ten times more in all, whatever else fails', async () => {
  expect(await attemptsOf('model_unavailable', 'model_overloaded')).toBe(11)
})

test('a node that tries all calls more than ten times tries a call as often whose provider was too busy', async () => {
  expect(await attemptsWith({ retries: 12 }, 'model_unavailable', 'model_overloaded')).toBe(13)
})

test('runs that a provider asks to come back at the same moment come back at different ones, and not before it', async () => {
  const model = recordedModel(
    'test/m',
    () => new TransientError('busy', { code: 'model_overloaded', retryAfterMs: 40 }),
  )
  const { troupe, history } = await runOnce({ instructions: 'x', model, retry: { most: 4, baseMs: 20, capMs: 20 } })
  await using _ = troupe
  for (const wait of waitsIn(history)) {
    expect(wait).toBeGreaterThanOrEqual(50)
    expect(wait).toBeLessThanOrEqual(60)
  }
  expect(waitsIn(history)).toHaveLength(4)
})

test('a provider that asks for a longer wait than is left of the run fails it at once, and the sentence says until when', async () => {
  const model = recordedModel(
    'test/m',
    () => new TransientError('overloaded', { code: 'model_overloaded', retryAfterMs: 3_600_000 }),
  )
  const { troupe, result } = await runOnce({ instructions: 'x', model, limits: { runMs: 60_000 } })
  await using _ = troupe
  const message = expect.stringMatching(/asks to be called again at 20.*, which is later than this run waits/) as string
  expect(result).toMatchObject({ status: 'failed', failure: { code: 'model_overloaded', message } })
})
