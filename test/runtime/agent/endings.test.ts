/** How an agent's run may end without an answer, and which failures are retried first. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { TerminalError, TransientError } from '../../../src/core/errors.ts'
import { call, say, together } from '../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { runOnce, tool } from '../../support/provider/run-agent.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

describe('a model that fails', () => {
  test('a model whose failure may pass is asked again with the same key', async () => {
    const model = recordedModel('test/m', [
      new TransientError('busy', { code: 'model_overloaded', retryAfterMs: 5 }),
      new TransientError('gone', { code: 'model_unavailable' }),
      say('fine'),
    ])
    const { troupe, result, history, session } = await runOnce({ instructions: 'x', model })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'fine' } })
    expect(new Set(model.requests.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
    expect(history.map(({ type }) => type)).toEqual([
      'user',
      'attemptFailed',
      'attemptFailed',
      'assistant',
      'completed',
    ])
    expect((await session.report()).workers[0]).toMatchObject({ lastFailure: null, run: 'Idle', state: 'inactive' })
  })

  test('a model with a final failure fails the run at once, and the worker lives on [3.6, 4.14]', async () => {
    const model = recordedModel('test/m', [new TerminalError('401', { code: 'model_refused' }), say('again')])
    const { troupe, result, session } = await runOnce({ instructions: 'x', model })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'model_refused', origin: 'model', attempt: 1 } })
    expect((await session.report()).workers[0]).toMatchObject({ lifecycle: 'idleFailed', run: 'Failed' })
    await session.root.send('go on')
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: { text: 'again' } })
  })

  test.each([
    ['366 days', 366 * 86_400_000],
    ['more than a date can hold', 1e300],
  ])('a model that fails and asks for a wait of %s fails the run, with the date', async (_what, retryAfterMs) => {
    const date = () => new Date(Math.min(Date.now() + retryAfterMs, 8.64e15)).toISOString().split('T')[0]
    const today = date()
    const model = recordedModel('test/m', [new TransientError('busy', { code: 'model_overloaded', retryAfterMs })])
    const { troupe, result, history } = await runOnce({ instructions: 'x', model })
    await using _ = troupe
    expect(result).toMatchObject({
      status: 'failed',
      failure: { code: 'model_overloaded', attempt: 1, retryable: true },
    })
    const message = result.status === 'failed' ? result.failure.message : ''
    const [, told] = /^busy – it asks to be called again at ([-+\d]+)/.exec(message) ?? []
    // The day may have ended meanwhile.
    expect([today, date()]).toContain(told)
    expect(history.map(({ type }) => type)).toEqual(['user', 'failed'])
  })

  test('a model that fails is asked again after growing delays, even if the provider asks for no wait [1.50]', async () => {
    const hasty = new TransientError('busy', { code: 'model_overloaded', retryAfterMs: 0 })
    const model = recordedModel('test/m', [
      hasty,
      new TransientError('busy', { code: 'model_overloaded' }),
      say('fine'),
    ])
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model }) },
      policy: { retryBackoffMs: 1, modelBackoffMs: 40 },
    })
    const session = await troupe.create('agent', 'go', { keepOpen: true })
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed' })
    const history = await troupe.history(session.rootId)
    const waits = history.flatMap((entry) => (entry.type === 'attemptFailed' ? [entry.retryMs] : []))
    expect(waits).toHaveLength(2)
    expect(waits[0]).toBeGreaterThanOrEqual(20)
    expect(waits[1]).toBeGreaterThanOrEqual(40)
  })

  test('a model that fails too often fails the run with the last failure [1.11, 4.14]', async () => {
    const model = recordedModel('test/m', () => new TransientError('gone', { code: 'model_unavailable' }))
    const { troupe, result, history } = await runOnce({ instructions: 'x', model, retries: 2 })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'model_unavailable', attempt: 3 } })
    expect(history.map(({ type }) => type)).toEqual(['user', 'attemptFailed', 'attemptFailed', 'failed'])
    expect(model.requests).toHaveLength(3)
  })

  test('a model that fails after a failed tool has all its attempts, because those of the tool do not count', async () => {
    let tries = 0
    const flaky = tool('flaky', () => {
      if (++tries === 1) throw new TransientError('try later', { retryAfterMs: 1 })
      return 'now'
    })
    const busy = () => new TransientError('busy', { retryAfterMs: 1 })
    const model = recordedModel('test/m', [busy(), call('flaky'), busy(), say('fine')])
    const { troupe, result, history } = await runOnce({ instructions: 'x', model, tools: [flaky], retries: 1 })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'fine' } })
    const failures = history.flatMap((entry) => (entry.type === 'attemptFailed' ? [entry.failure] : []))
    expect(failures.map(({ origin, attempt }) => [origin, attempt])).toEqual([
      ['model', 1],
      ['tool', 1],
      ['model', 1],
    ])
  })

  test('a model that fails and then sends a blank reply leaves no failure in the record when it answers', async () => {
    const model = recordedModel('test/m', [new TransientError('busy', { retryAfterMs: 1 }), say(''), say('fine')])
    const { troupe, result, session } = await runOnce({ instructions: 'x', model })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'fine' } })
    expect((await session.root.report()).lastFailure).toBeNull()
  })

  test('a model with blank replies is asked again with the nudge, three times [2.5]', async () => {
    const model = recordedModel('test/m', () => say('  '))
    const { troupe, result, history } = await runOnce({ instructions: 'x', model, nudge: 'Say something.' })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'model_blank' } })
    expect(model.requests).toHaveLength(3)
    expect(new Set(model.requests.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3)
    expect(model.requests[1]?.messages).toMatchObject([
      { role: 'user', content: [{ text: 'go' }, { text: 'Say something.' }] },
    ])
    expect(history.filter(({ type }) => type === 'blank')).toHaveLength(3)
    expect(history.filter((entry) => entry.type === 'user' && entry.nudge)).toHaveLength(2)
  })

  test('a model with a blank reply after tool results is asked once to go on, and its answer counts', async () => {
    const model = recordedModel('test/m', [call('look'), say(''), say(''), say('Seen.')])
    const { troupe, result, history } = await runOnce({ instructions: 'x', model, tools: [tool('look', () => 1)] })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'Seen.' } })
    for (const { messages } of model.requests.slice(2)) {
      expect(messages.at(-1)).toMatchObject({
        role: 'user',
        content: [{ text: expect.stringContaining('tool results') }],
      })
    }
    expect(history.filter((entry) => entry.type === 'user').map(({ nudge }) => nudge)).toEqual([undefined, true])
  })

  test('a model with only blank replies after tool results has given its answer before', async () => {
    const model = recordedModel('test/m', (_, n) => (n === 1 ? together(say('The sum is 4.'), call('look')) : say('')))
    const { troupe, result, session } = await runOnce({ instructions: 'x', model, tools: [tool('look', () => 1)] })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'The sum is 4.' } })
    expect(model.requests).toHaveLength(4)
    expect((await session.root.report()).lastFailure).toBeNull()
  })

  test('a model that ran out of tokens without a word has no answer, although it wrote before', async () => {
    const model = recordedModel('test/m', (_, n) =>
      n === 1 ? together(say('I look.'), call('look')) : { ...say(''), finishReason: 'length' as const },
    )
    const { troupe, result } = await runOnce({ instructions: 'x', model, tools: [tool('look', () => 1)] })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'model_blank' } })
  })

  test('a model is asked again with the same prompt if the nudge is empty', async () => {
    const model = recordedModel('test/m', [call('look'), say(''), say('Seen.')])
    const agent = { instructions: 'x', model, nudge: '', tools: [tool('look', () => 1)] }
    const { troupe, result } = await runOnce(agent)
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'Seen.' } })
    expect(model.requests[2]?.messages).toEqual(model.requests[1]?.messages)
  })
})

describe('an agent that does not come to an end', () => {
  test('an endless agent is ended by the limit of iterations; the error names both numbers, and the last tools are not run [0.8, 2.7, 2.13]', async () => {
    let runs = 0
    const model = recordedModel('test/m', () => call('count'))
    const { troupe, result, history } = await runOnce({
      instructions: 'x',
      model,
      limits: { iterations: 3 },
      tools: [tool('count', () => ++runs)],
    })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'iterations_exceeded' } })
    expect(result.status === 'failed' && result.failure.message).toContain('3 of 3')
    expect(runs).toBe(2)
    expect(history.filter(({ type }) => type === 'toolResult')).toHaveLength(3)
  })

  test('an endless agent is ended when its limit of tokens is used up', async () => {
    const usage = { inputTokens: 60, outputTokens: 50 }
    const model = recordedModel('test/m', () => ({ ...call('count'), usage }))
    const { troupe, result } = await runOnce({
      instructions: 'x',
      model,
      limits: { tokens: 110 },
      tools: [tool('count', () => 1)],
    })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'budget_exceeded' } })
    expect(model.requests).toHaveLength(1)
  })

  test('an endless agent is ended when the same errors occur three times in a row [2.14]', async () => {
    const model = recordedModel('test/m', (_, number) => call(number === 2 ? 'fine' : 'bad'))
    const { troupe, result } = await runOnce({
      instructions: 'x',
      model,
      tools: [
        tool('fine', () => 1),
        tool('bad', () => {
          throw new Error('always')
        }),
      ],
    })
    await using _ = troupe
    const message = expect.stringMatching(
      /3 iterations in a row\. Its run was ended so that it spends no more tokens: bad: ".*always"$/,
    )
    const failure = { code: 'circuit_open', origin: 'tool', attempt: 1, message }
    expect(result).toMatchObject({ status: 'failed', failure })
    expect(model.requests).toHaveLength(5)
  })
})

describe('calls that cannot be run', () => {
  test('calls that cannot be run end the run when the same ones come three times in a row', async () => {
    const model = recordedModel('test/m', () => call('no_such_tool'))
    const { troupe, result, history } = await runOnce({ instructions: 'x', model, tools: [tool('fine', () => 1)] })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'circuit_open', origin: 'tool' } })
    expect(model.requests).toHaveLength(3)
    expect(history.filter(({ type }) => type === 'toolResult')).toHaveLength(3)
  })
})

describe('a cancel', () => {
  test('a cancel of a run answers its open calls and records no failure of the worker [1.5, 1.39]', async () => {
    const started = Promise.withResolvers<void>()
    const model = recordedModel('test/m', [call('hang', {}, 'h')])
    const hang = defineTool({
      name: 'hang',
      description: 'x',
      effect: 'idempotent',
      run: (_, { signal }) => {
        started.resolve()
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
      },
    })
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model, tools: [hang] }) },
    })
    const session = await troupe.create('agent', 'go')
    await started.promise
    await session.cancel('enough')
    expect(await session.result()).toMatchObject({ status: 'cancelled' })
    await waitUntil('the cancel is finished', async () => (await session.report()).session.state === 'cancelled')
    const types = (await troupe.history(session.rootId)).map((entry) =>
      entry.type === 'toolResult' ? entry.status : entry.type,
    )
    expect(types).toEqual(['user', 'assistant', 'cancelled', 'cancelled'])
    expect((await session.report()).workers[0]?.lastFailure).toBeNull()
  })
})

describe('a Model written by the author', () => {
  test.each([
    ['nothing', undefined],
    ['no content', { model: 'm', usage: {}, finishReason: 'stop' }],
    ['content that is no list', { content: 'hello' }],
    ['blocks that are none', { content: [{ type: 'text' }] }],
  ])('a model of the author that replies with %s is asked again, then the run fails', async (_, reply) => {
    const model = { id: 'own/model', reply: async () => reply as never }
    const { troupe, result } = await runOnce({ instructions: 'x', model, retries: 1 })
    await using _troupe = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'model_garbled', origin: 'model', attempt: 2 } })
  })

  test('a model of the author may leave out usage and finish reason, and then has the finish reason "other"', async () => {
    const model = { id: 'own/model', reply: async () => ({ content: [{ type: 'text', text: 'hi' }] }) as never }
    const { troupe, result, session, history } = await runOnce({ instructions: 'x', model })
    await using _troupe = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'hi' } })
    expect(history.find(({ type }) => type === 'assistant')).toMatchObject({ finishReason: 'other' })
    expect((await session.root.report()).usage).toEqual({
      modelCalls: 1,
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      // Nobody knows a price of this model.
      unpricedModelCalls: 1,
      costMicroUsd: 0,
    })
  })
})

test.each([
  [
    'throw',
    (): string => {
      throw new Error('no instructions today')
    },
    'the instructions of agent threw: no instructions today',
  ],
  [
    'are no text',
    () => 5 as unknown as string,
    'the instructions of agent must be a text, but its function returned number.',
  ],
  [
    'are a promise',
    () => Promise.reject(new Error('later')) as unknown as string,
    'the instructions of agent must be a text, but its function returned object.',
  ],
])(
  'instructions that %s fail the run and not the turn, with an error that promises no retry',
  async (_, instructions, message) => {
    const model = recordedModel('test/m', [say('done')])
    const { troupe, result } = await runOnce({ instructions, model })
    await using _troupe = troupe
    expect(result).toMatchObject({
      status: 'failed',
      failure: { code: 'run_failed', message, origin: 'runtime', attempt: 1, retryable: false },
    })
    expect(model.requests).toEqual([])
  },
)
