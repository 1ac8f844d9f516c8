/** Structured output: the result of an agent is a value that fits the schema of its kind. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { ConfigError } from '../../../../src/core/errors.ts'
import { call, type ScriptedReply, say, together } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { runOnce, tool } from '../../../support/provider/run-agent.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitResult } from '../../../support/time/await-session.ts'

const output = z.object({ title: z.string(), pages: z.number().default(1) })

describe('an agent with an output', () => {
  test.each([
    ['JSON alone', '{"title":"T"}'],
    ['JSON in a fence', '```json\n{"title":"T"}\n```'],
    ['JSON in a fence of another language', '```yaml\n{"title":"T"}\n```'],
    ['JSON in a fence with words around it', 'Here it is:\n\n```\n{"title":"T"}\n```\nI hope it helps.'],
  ])('an agent with an output has the value of its last reply as its result: %s [0.11]', async (_, text) => {
    const model = recordedModel('test/m', [say(text)])
    const { troupe, result } = await runOnce({ instructions: 'x', model, output })
    await using _troupe = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text, output: { title: 'T', pages: 1 } } })
    expect(model.requests[0]?.instructions).toMatch(/^x\n\nWhen you have finished, reply with one JSON value.*"title"/s)
    expect(model.requests[0]?.output).toMatchObject({ type: 'object', required: ['title'] })
  })

  test('an agent whose output does not fit learns what does not fit, and answers again', async () => {
    const model = recordedModel('test/m', [say('It is T.'), say('{"title":5}'), say('{"title":"T"}')])
    const { troupe, session, result } = await runOnce({ instructions: 'x', model, output })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { output: { title: 'T' } } })
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toMatch(/Your answer does not fit: it is not JSON/)
    expect(JSON.stringify(model.requests[2]?.messages.at(-1))).toMatch(/title: expected string, received number/)
    const nudges = (await session.root.history()).filter(({ entry }) => entry.type === 'user' && entry.nudge)
    expect(nudges).toMatchObject([{ entry: { about: 'output' } }, { entry: { about: 'output' } }])
  })

  test.each([
    ['three times, unless its kind says otherwise', {}, 4, /gave 4 answers .* as outputRetries allows/],
    ['as often as its kind says', { outputRetries: 1 }, 2, /gave 2 answers .* as outputRetries allows/],
    ['not at all, if its kind says so', { outputRetries: 0 }, 1, /gave an answer .* as outputRetries allows/],
    ['within its iterations', { limits: { iterations: 2 } }, 2, /gave 2 answers .* as limits\.iterations allows/],
  ])(
    'an agent whose output does not fit learns so %s; then the run fails with its last text',
    async (_what, more, calls, message) => {
      const model = recordedModel('test/m', (_, n) => say(`Answer ${n}`))
      const { troupe, result } = await runOnce({ instructions: 'x', model, output, ...more })
      await using _ = troupe
      expect(result).toMatchObject({
        status: 'failed',
        failure: { code: 'output_invalid', origin: 'model', attempt: calls },
      })
      expect(result).toMatchObject({ failure: { message: expect.stringMatching(message) } })
      expect(result).toMatchObject({
        failure: { message: expect.stringContaining(`Its last text: "Answer ${calls}"`) },
      })
      expect(model.requests).toHaveLength(calls)
    },
  )

  test('an agent with an output counts its attempts anew in each run', async () => {
    const model = recordedModel('test/m', (_, n) => say(n === 2 || n === 4 ? '{"title":"T"}' : 'no'))
    const { troupe, session, result } = await runOnce({ instructions: 'x', model, output, outputRetries: 1 })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed' })
    await session.root.send('again')
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: { output: { title: 'T' } } })
  })

  test('an agent with an output answers with the pieces of a text that was cut off', async () => {
    const cut: ScriptedReply = { ...say('{"title":"On'), finishReason: 'length' }
    const model = recordedModel('test/m', [cut, say('e","pages":2}')])
    const { troupe, result } = await runOnce({ instructions: 'x', model, output })
    await using _ = troupe
    expect(result).toMatchObject({ value: { output: { title: 'One', pages: 2 } } })
  })

  test('an agent with an output may say anything beside its calls', async () => {
    const model = recordedModel('test/m', [together(say('I look.'), call('look')), say('[1,2]')])
    const tools = [tool('look', () => 'seen')]
    const { troupe, result } = await runOnce({ instructions: 'x', model, tools, output: z.array(z.number()) })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { output: [1, 2] } })
  })

  test('runs offline', async () => {
    const { troupe, result } = await runOnce({ instructions: 'x', output: z.object({ n: z.number().min(3) }) })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { output: { n: 3 } } })
  })

  test('an agent with an output gives its value to its parent', async () => {
    const model = recordedModel('test/m', [
      call('spawn_workers', { tasks: [{ kind: 'child', input: 'go' }] }, 'spawn'),
      say('done'),
    ])
    const child = defineWorker({
      instructions: 'x',
      model: recordedModel('test/c', [say('```\n{"title":"T"}\n```')]),
      output,
    })
    const parent = defineWorker({ instructions: 'x', model, spawns: ['child'] })
    await using troupe = await TestTroupe.start({ workers: { child, parent } })
    const session = await troupe.create('parent', 'go')
    expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
    const results = model.requests[1]?.messages.at(-1)
    expect(results).toMatchObject({
      results: [{ output: { value: [{ status: 'completed', details: { title: 'T', pages: 1 } }] } }],
    })
  })
})

test('an output without a JSON Schema is an error of its kind', async () => {
  expect(() => defineWorker({ instructions: 'x', output: 5 as never })).toThrow(ConfigError)
  expect(() => defineWorker({ instructions: 'x', output, outputRetries: -1 })).toThrow(/outputRetries/)
  const odd = defineWorker({ instructions: 'x', output: z.date() })
  await expect(TestTroupe.start({ workers: { odd } })).rejects.toThrow(/odd.*output schema has no JSON Schema/)
})
