/** A text that was cut off at its length is continued, and its pieces are one answer. */
import { describe, expect, test, vi } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { ConfigError } from '../../../../src/core/errors.ts'
import { call, type ScriptedReply, say, together } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { runOnce, tool } from '../../../support/provider/run-agent.ts'

const cut = (text: string): ScriptedReply => ({ ...say(text), finishReason: 'length' })

describe('a text that was cut off at its length', () => {
  test('a text cut off at its length is continued, and the pieces are one answer [4.15]', async () => {
    const model = recordedModel('test/m', [cut('One, two, th'), cut('ree, fo'), say('ur.')])
    const { troupe, session, result } = await runOnce({ instructions: 'x', model })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'One, two, three, four.' } })
    const history = await session.root.history()
    const said = history.flatMap(({ entry }) => [entry.type === 'user' ? entry.nudge === true : entry.type])
    expect(said).toEqual([false, 'assistant', true, 'assistant', true, 'assistant', 'completed'])
    expect(JSON.stringify(model.requests[2]?.messages.at(-1))).toMatch(/Go on exactly where it stops/)
  })

  test('a text cut off at its length is the answer after three more pieces, and the result says that it was cut off', async () => {
    const model = recordedModel('test/m', () => cut('and on '))
    const { troupe, result } = await runOnce({ instructions: 'x', model })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'and on '.repeat(4), finishReason: 'length' } })
    expect(model.requests).toHaveLength(4)
  })

  test('a text cut off at its length is no part of the answer if its model calls a tool afterwards', async () => {
    const model = recordedModel('test/m', [cut('I should lo'), together(say('ok.'), call('look')), say('Seen.')])
    const { troupe, result } = await runOnce({ instructions: 'x', model, tools: [tool('look', () => 1)] })
    await using _ = troupe
    expect(result).toMatchObject({ value: { text: 'Seen.' } })
  })

  test('a text cut off at its length is the answer if nothing but blank replies follows', async () => {
    const model = recordedModel('test/m', (_, n) => (n === 1 ? cut('Half of i') : say('')))
    const { troupe, result } = await runOnce({ instructions: 'x', model })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'Half of i' } })
  })

  test.each([
    ['that may not go on', { continues: 0 }],
    ['whose replies were made short by its author', { settings: { maxOutputTokens: 5 } }],
    ['at its last model call', { limits: { iterations: 1 } }],
  ])('a text cut off at its length is the answer of an agent %s', async (_what, more) => {
    const model = recordedModel('test/m', () => cut('Half of i'))
    const { troupe, result } = await runOnce({ instructions: 'x', model, ...more })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'Half of i', finishReason: 'length' } })
    expect(model.requests).toHaveLength(1)
  })
})

test.each([-1, 1.5, 101, '3'])('%j is no number of pieces that an answer may be continued for', (continues) => {
  expect(() => defineWorker({ instructions: 'x', continues: continues as number })).toThrow(ConfigError)
})

test('a run that has lasted as long as it may makes no further model call [3.11]', async () => {
  const model = recordedModel('test/m', () => call('wait'))
  const { now } = Date
  const wait = tool('wait', () => void vi.spyOn(Date, 'now').mockImplementation(() => now() + 60_000))
  const { troupe, result } = await runOnce({ instructions: 'x', model, tools: [wait], limits: { runMs: 60_000 } })
  await using _ = troupe
  expect(result).toMatchObject({
    status: 'failed',
    failure: {
      code: 'budget_exceeded',
      message: expect.stringMatching(/may use 60000 ms: .* Raise limits\.runMs of its kind\.$/),
    },
  })
  expect(model.requests).toHaveLength(1)
})
