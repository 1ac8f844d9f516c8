/** What goes wrong within a reply is answered in the conversation, a bounded number of times. */
import { describe, expect, test } from 'vitest'
import type { Model, ModelRequest } from '../../../../src/core/definition/model.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { call, type ScriptedReply, say, scriptedModel } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { runOnce, tool } from '../../../support/provider/run-agent.ts'

/** A model whose calls with these numbers begin a reply and never end it; to its other calls it replies from the script. */
function slowModel(slow: (number: number) => boolean, script: Parameters<typeof scriptedModel>[1]) {
  const model = scriptedModel('test/m', script)
  const requests: ModelRequest[] = []
  const slowed: Model & { readonly requests: ModelRequest[] } = {
    id: 'test/m',
    requests,
    reply(request, talk) {
      requests.push({ ...request, messages: [...request.messages] })
      if (!slow(requests.length)) return model.reply(request, talk)
      talk.onFirstByte()
      talk.onDelta({ type: 'text', text: 'Once upon' })
      return new Promise<never>(() => {})
    },
  }
  return slowed
}

const limits = { modelCallMs: 30 }
const broken = (inputText: string, finishReason: 'length' | 'tool-calls' = 'tool-calls'): ScriptedReply => ({
  content: [{ type: 'tool-call', toolCallId: `c${inputText.length}`, toolName: 'write', input: null, inputText }],
  finishReason,
})

describe('a reply that takes too long', () => {
  test('a reply that takes too long is answered with the advice to take smaller steps, at once and as an iteration [1.51]', async () => {
    const model = slowModel((n) => n === 1, [say('Short.')])
    const { troupe, result, history } = await runOnce({ instructions: 'x', model, limits })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'Short.' } })
    expect(history.map(({ type }) => type)).toEqual(['user', 'assistant', 'user', 'assistant', 'completed'])
    expect(history[1]).toMatchObject({ interrupted: true, finishReason: 'other' })
    expect(history[2]).toMatchObject({ nudge: true })
    expect(model.requests[1]?.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ text: '(The reply timed out: the message took too long to generate.)' }] },
      { role: 'user', content: [{ text: expect.stringMatching(/Split the work into smaller steps/) }] },
    ])
    expect(model.requests.map(({ idempotencyKey }) => idempotencyKey.split('/').at(-1))).toEqual(['1', '2'])
  })

  test.each([
    [3, {}],
    [1, { recoveries: 1 }],
    [0, { recoveries: 0 }],
  ])(
    'a reply that takes too long is answered %i times in a run, and then tried again as after any failure [1.51]',
    async (times, more) => {
      const model = slowModel(() => true, [])
      const { troupe, result, history } = await runOnce({ instructions: 'x', model, limits, retries: 1, ...more })
      await using _ = troupe
      expect(result).toMatchObject({ status: 'failed', failure: { code: 'deadline_exceeded', attempt: 2 } })
      expect(history.filter((entry) => entry.type === 'assistant' && entry.interrupted)).toHaveLength(times)
      expect(model.requests).toHaveLength(times + 2)
    },
  )

  test('a reply that takes too long is tried again at the last iteration, and if nothing of it had arrived', async () => {
    const last = slowModel((n) => n === 1, [say('Done.')])
    const one = await runOnce({ instructions: 'x', model: last, limits: { ...limits, iterations: 1 } })
    await using _one = one.troupe
    expect(one.history.map(({ type }) => type)).toEqual(['user', 'attemptFailed', 'assistant', 'completed'])
    const silent = scriptedModel('test/m', (_, n) => (n === 1 ? new Promise<never>(() => {}) : say('Done.')))
    const two = await runOnce({ instructions: 'x', model: silent, limits })
    await using _two = two.troupe
    expect(two.history.map(({ type }) => type)).toEqual(['user', 'attemptFailed', 'assistant', 'completed'])
  })

  test('a reply that takes too long is no answer if only blank replies follow', async () => {
    const model = slowModel(
      (n) => n === 1,
      () => say(''),
    )
    const { troupe, result } = await runOnce({ instructions: 'x', model, limits })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'model_blank' } })
  })
})

describe('arguments that cannot be read', () => {
  const write = tool('write', () => 'written')

  test('arguments that cannot be read are answered with the advice to split the work [1.51]', async () => {
    const model = recordedModel('test/m', [
      broken('{"text":"abc'),
      broken('{"text":', 'length'),
      call('write', {}),
      say('Done.'),
    ])
    const { troupe, result } = await runOnce({ instructions: 'x', model, tools: [write] })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed' })
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toMatch(/not JSON.*split the work into smaller calls/)
    expect(JSON.stringify(model.requests[2]?.messages.at(-1))).toMatch(/was cut off.*with less in one reply/)
  })

  test.each([
    [4, {}],
    [2, { recoveries: 1 }],
  ])(
    'arguments that cannot be read fail the run in reply %i, each time with another error [1.51]',
    async (replies, more) => {
      const model = recordedModel('test/m', (_, n) => broken(`{"text":"${'x'.repeat(n)}`))
      const { troupe, result } = await runOnce({ instructions: 'x', model, tools: [write], ...more })
      await using _ = troupe
      expect(result).toMatchObject({ status: 'failed', failure: { code: 'circuit_open' } })
      expect(result).toMatchObject({ failure: { message: expect.stringContaining(`in ${replies} replies`) } })
      expect(model.requests).toHaveLength(replies)
    },
  )
})

describe('a limit of the kind', () => {
  const failing = defineTool({
    name: 'find',
    description: 'Finds.',
    effect: 'pure',
    run: (input) => {
      throw new RangeError(JSON.stringify(input))
    },
  })

  test('toolFailures ends a run whose tool only fails, with whatever errors [3.11]', async () => {
    const model = recordedModel('test/m', (_, n) => call(n === 2 ? 'look' : 'find', { n }))
    const tools = [failing, tool('look', () => 1)]
    const { troupe, result } = await runOnce({ instructions: 'x', model, tools, limits: { toolFailures: 3 } })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'circuit_open' } })
    expect(result).toMatchObject({
      failure: { message: expect.stringContaining('"find", which failed 3 times in a row') },
    })
    expect(model.requests).toHaveLength(4)
  })

  test('toolFailures begins anew with a call that succeeds', async () => {
    const model = recordedModel('test/m', (_, n) => (n === 8 ? say('Done.') : call('find', { n })))
    const find = tool('find', (input) => {
      const { n } = input as { n: number }
      if (n % 3 !== 0) throw new RangeError(`not ${n}`)
      return n
    })
    const { troupe, result } = await runOnce({ instructions: 'x', model, tools: [find], limits: { toolFailures: 3 } })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed' })
  })

  test('sameErrors and blankStops replace the defaults', async () => {
    const same = recordedModel('test/m', () => call('find', {}))
    const one = await runOnce({ instructions: 'x', model: same, tools: [failing], limits: { sameErrors: 2 } })
    await using _one = one.troupe
    expect(one.result).toMatchObject({ failure: { code: 'circuit_open' } })
    expect(same.requests).toHaveLength(2)
    const blank = recordedModel('test/m', () => say(''))
    const two = await runOnce({ instructions: 'x', model: blank, limits: { blankStops: 5 } })
    await using _two = two.troupe
    expect(two.result).toMatchObject({ failure: { code: 'model_blank' } })
    expect(blank.requests).toHaveLength(5)
  })

  test('toolsAtOnce bounds how many calls of a reply run at once [4.16]', async () => {
    let now = 0
    let most = 0
    const count = tool('count', async () => {
      now++
      most = Math.max(most, now)
      await new Promise((resolve) => setImmediate(resolve))
      now--
    })
    const calls = Array.from({ length: 6 }, () => call('count'))
    const model = recordedModel('test/m', [{ content: calls.flatMap(({ content }) => content) }, say('Done.')])
    const { troupe, result } = await runOnce({ instructions: 'x', model, tools: [count], limits: { toolsAtOnce: 2 } })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed' })
    expect(most).toBe(2)
  })
})
