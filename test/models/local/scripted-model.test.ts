import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { TransientError } from '../../../src/core/errors.ts'
import { call, say, scriptedModel, together } from '../../../src/models/local/scripted-model.ts'
import { errorOf, listener, requestOf, user } from '../support/surfaces.ts'

const request = requestOf([user('hello')])

test('a list gives its replies and errors in order, and an error at its end', async () => {
  const busy = new TransientError('busy', { code: 'model_overloaded' })
  const model = scriptedModel('test/list', [say('One.'), busy, say('Two.')])
  expect(await model.reply(request, listener())).toEqual({
    model: 'test/list',
    content: [{ type: 'text', text: 'One.' }],
    finishReason: 'stop',
    usage: { inputTokens: 0, outputTokens: 0 },
  })
  expect(await errorOf(model.reply(request, listener()))).toBe(busy)
  expect(await model.reply(request, listener())).toMatchObject({ content: [{ text: 'Two.' }] })
  expect(await errorOf(model.reply(request, listener()))).toMatchObject({
    message: 'the script of test/list has 3 replies, but it was asked for number 4.',
    retryable: false,
  })
  expect(model.calls).toBe(4)
})

test('a function gets the request and the number of the call', async () => {
  const model = scriptedModel('test/function', async ({ idempotencyKey }, number) => ({
    ...say(`${idempotencyKey} ${number}`),
    usage: { inputTokens: 1, outputTokens: 2 },
  }))
  await model.reply(request, listener())
  expect(await model.reply(request, listener())).toMatchObject({
    content: [{ text: 'w/1/1 2' }],
    usage: { inputTokens: 1, outputTokens: 2 },
  })
})

test('an empty text is in the reply, and is not streamed', async () => {
  const heard = listener()
  const reply = await scriptedModel('test/empty', [together(say(''), say('One.'))]).reply(request, heard)
  expect(reply.content).toHaveLength(2)
  expect(heard.deltas).toEqual([{ type: 'text', text: 'One.' }])
})

test('an error that a function throws is thrown by the call', async () => {
  const broken = new Error('broken')
  const model = scriptedModel('test/broken', () => {
    throw broken
  })
  expect(await errorOf(model.reply(request, listener()))).toBe(broken)
})

test.each([
  [undefined, 'undefined'],
  ['Done.', '"Done."'],
  [{ text: 'Done.' }, 'an object'],
])('a value that is not a reply (%j) is named in an error, and the call is not retried', async (answer, shownAs) => {
  const model = scriptedModel('test/none', () => answer as never)
  expect(await errorOf(model.reply(request, listener()))).toMatchObject({
    message: `the script of test/none answered call number 1 with ${shownAs}: make replies with say, call and together.`,
    retryable: false,
  })
})

test('calls get generated ids, and text is streamed', async () => {
  const reply = together(say('Both.'), call('a', { n: 1 }), call('a'), call('b', {}, 'given'))
  const heard = listener()
  const { content, finishReason } = await scriptedModel('test/calls', [reply]).reply(request, heard)
  expect(finishReason).toBe('tool-calls')
  expect(content).toMatchObject([{ text: 'Both.' }, { input: { n: 1 } }, { input: {} }, { toolCallId: 'given' }])
  expect(new Set(content.map((block) => ('toolCallId' in block ? block.toolCallId : ''))).size).toBe(4)
  expect(heard.deltas).toEqual([{ type: 'text', text: 'Both.' }])
  expect(heard.firstByteAt).toBe(0)
})

test('an abort ends a hanging call with its reason, and no listener stays on the signal', async () => {
  const model = scriptedModel('test/hang', async () => new Promise(() => undefined))
  const controller = new AbortController()
  const work = errorOf(model.reply(request, listener(controller.signal)))
  const reason = new Error('time is over')
  controller.abort(reason)
  expect(await work).toBe(reason)
  expect(await errorOf(model.reply(request, listener(controller.signal)))).toBe(reason)
  expect(model.calls).toBe(1)
  const { signal } = new AbortController()
  await scriptedModel('test/later', async () => say('Later.')).reply(request, listener(signal))
  expect(getEventListeners(signal, 'abort')).toEqual([])
})
