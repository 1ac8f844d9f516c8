/** Prompts that a provider refuses: the run fails, and the conversation goes on without what was refused. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { TerminalError } from '../../../../src/core/errors.ts'
import { say } from '../../../../src/models/local/scripted-model.ts'
import { type FakeSurface, fakeSurfaces } from '../../../support/provider/fake-surfaces.ts'
import { refusing, talkToProvider } from '../../../support/provider/provider-talk.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'

const tooLong = refusing(400, { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' })
const unfit = refusing(400, { type: 'invalid_request_error', message: 'Could not process image' })
const image = { content: [{ type: 'image', mediaType: 'image/png', data: 'YmFk' }] }

describe.each(fakeSurfaces)('$model', (surface: FakeSurface) => {
  test.each([
    ['a text over the window', 'BAD'.repeat(100), tooLong, 'context_overflow', 'too long for the model'],
    ['an image that cannot be read', image, unfit, 'model_refused', 'could not take it'],
    [
      'an image that breaks the server',
      image,
      refusing(500, { message: 'boom' }),
      'model_unavailable',
      'could not take it',
    ],
  ])(
    'a prompt refused for %s fails only its run; later prompts hold a note in its place',
    async (_what, bad, refusal, code, note) => {
      const isBad = (body: string) => body.includes('BADBAD') || body.includes('YmFk')
      const { results, bodies } = await talkToProvider({
        surface,
        inputs: ['I am Ada.', bad, 'hello', bad, bad, 'And now?'],
        worker: { retries: 0 },
        answer: (body) => (isBad(body) ? refusal : { text: 'Fine.' }),
      })
      const failed = { status: 'failed', failure: { code } }
      const fine = { status: 'completed', value: { text: 'Fine.' } }
      expect(results).toMatchObject([fine, failed, fine, failed, failed, fine])
      const last = bodies.at(-1) ?? ''
      expect(last).toContain('I am Ada.')
      expect(last.split(note)).toHaveLength(4)
    },
  )

  test('a wrong key leaves the input in the conversation, because the input is not to blame', async () => {
    const { results, bodies } = await talkToProvider({
      surface,
      inputs: ['I am Ada.', 'Who am I?'],
      answer: (_, number) => (number === 1 ? refusing(401, { message: 'Bad key.' }) : { text: 'Ada.' }),
    })
    expect(results).toMatchObject([{ status: 'failed', failure: { code: 'model_refused' } }, { status: 'completed' }])
    expect(bodies.at(-1)).toContain('I am Ada.')
    expect(bodies.at(-1)).not.toContain('left out')
  })

  test('a result that makes the prompt too long is left out of later prompts', async () => {
    const read = defineTool({ name: 'read', description: 'Reads.', effect: 'pure', run: () => 'BAD'.repeat(100) })
    const { results, bodies } = await talkToProvider({
      surface,
      inputs: ['Read it.', 'hello'],
      worker: { tools: [read] },
      answer: (body, number) => {
        if (body.includes('BADBAD')) return tooLong
        return number === 1 ? { calls: [{ id: 'c1', name: 'read', args: '{}' }] } : { text: 'Fine.' }
      },
    })
    expect(results).toMatchObject([
      { status: 'failed', failure: { code: 'context_overflow' } },
      { status: 'completed' },
    ])
    expect(bodies.at(-1)).toContain('this result was left out: it was too long for the model; the tool did run')
  })
})

test('another node leaves out the same parts, from the history alone', async () => {
  const refused = new TerminalError('too long', { code: 'context_overflow' })
  const model = recordedModel('test/m', [refused, refused, say('Fine.')])
  const agent = defineWorker({ instructions: 'x', model })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'one', { keepOpen: true })
  await session.result({ run: 1 })
  await session.root.send('two')
  await session.result({ run: 2 })
  await Promise.all(troupe.nodes.map((node) => node.stop()))
  await troupe.startNode({ agent })
  await session.root.send('three')
  expect(await session.result({ run: 3 })).toMatchObject({ status: 'completed' })
  const note = {
    type: 'text',
    text: '(a message was left out here: it was too long for the model, and nobody answered it)',
  }
  expect(model.requests.at(-1)?.messages).toEqual([
    { role: 'user', content: [note, note, { type: 'text', text: 'three' }] },
  ])
})
