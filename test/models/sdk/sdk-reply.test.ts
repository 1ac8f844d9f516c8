/** A reply built from the parts of a stream. Providers differ in the parts that they send. */
import { expect, test } from 'vitest'
import { type SdkPart, SdkReply } from '../../../src/models/sdk/sdk-reply.ts'

const bytesMax = 10
const usage = { inputTokens: 1, outputTokens: 2, inputTokenDetails: {}, outputTokenDetails: {} }
const finish = {
  type: 'finish-step',
  finishReason: 'stop',
  rawFinishReason: 'end_turn',
  response: { modelId: 'm' },
  usage,
}

function replyOf(...parts: object[]) {
  const reply = new SdkReply('acme/m', bytesMax, () => {})
  for (const part of parts) reply.take(part as SdkPart)
  return reply.end()
}

const call = (more: object) => ({ type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {}, ...more })
const tooLong = expect.objectContaining({
  code: 'model_garbled',
  message: expect.stringContaining('more than 10 bytes'),
})

test('the newest metadata of a text is kept, even if later parts have none', () => {
  const [first, second] = [{ acme: { itemId: 'first' } }, { acme: { itemId: 'second' } }]
  for (const type of ['text', 'reasoning']) {
    const begin = { type: `${type}-start`, id: 't', providerMetadata: first }
    const more = { type: `${type}-delta`, id: 't', text: 'Hi.' }
    const end = { type: `${type}-end`, id: 't' }
    const blockOf = (...parts: object[]) => replyOf(...parts, finish).content
    expect(blockOf(begin, more, end)).toEqual([{ type, text: 'Hi.', providerOptions: first }])
    expect(blockOf(begin, { ...more, providerMetadata: second }, end)).toMatchObject([{ providerOptions: second }])
    expect(blockOf(begin, more, { ...end, providerMetadata: second })).toMatchObject([{ providerOptions: second }])
  }
})

test('metadata of a call is kept, because some providers refuse a call that comes back without it', () => {
  const given = { acme: { signature: 'abc' } }
  expect(replyOf(call({ providerMetadata: given }), finish).content).toEqual([call({ providerOptions: given })])
})

test('each number that a provider counted is in the usage, and no other', () => {
  const text = { type: 'text-delta', id: 't', text: 'Hi.' }
  const usageOf = (counted: object) => replyOf(text, { ...finish, usage: { ...usage, ...counted } }).usage
  const details = {
    inputTokenDetails: { cacheReadTokens: 3, cacheWriteTokens: 4 },
    outputTokenDetails: { reasoningTokens: 5 },
  }
  const few = { inputTokens: 1, outputTokens: 2 }
  expect(usageOf(details)).toStrictEqual({ ...few, cacheReadTokens: 3, cacheWriteTokens: 4, reasoningTokens: 5 })
  expect(usageOf({})).toStrictEqual(few)
  expect(usageOf({ inputTokens: undefined, outputTokens: undefined })).toStrictEqual({
    inputTokens: 0,
    outputTokens: 0,
  })
})

test('texts and arguments share one size limit, arguments count once, and the limit itself is allowed', () => {
  const text = { type: 'text-delta', id: 't', text: '1234' }
  const pieces = ['{"a":', '1}'].flatMap((delta, index) => [
    ...(index === 0 ? [{ type: 'tool-input-start', id: 'c' }] : []),
    { type: 'tool-input-delta', id: 'c', delta },
  ])
  const input = { a: 1 }
  expect(replyOf({ ...text, text: '123' }, ...pieces, call({ input }), finish).content).toHaveLength(2)
  expect(() => replyOf(text, ...pieces)).toThrow(tooLong)
  expect(replyOf({ ...text, text: '123' }, call({ input }), finish).content).toHaveLength(2)
  expect(() => replyOf(text, call({ input }))).toThrow(tooLong)
})

test('a call that the provider runs itself is not a call of the reply', () => {
  const own = call({ toolCallId: 'own', providerExecuted: true })
  expect(replyOf(own, call({}), finish).content).toMatchObject([{ toolCallId: 'c' }])
})

test('empty arguments are an empty object, however the SDK reports them', () => {
  expect(replyOf(call({ invalid: true, input: ' ' }), finish).content).toEqual([call({})])
  expect(replyOf(call({ invalid: true, input: '{' }), finish).content).toMatchObject([{ input: null, inputText: '{' }])
  const pieces = ['{"a', '":'].map((delta) => ({ type: 'tool-input-delta', id: 'c', delta }))
  const asWritten = replyOf(
    { type: 'tool-input-start', id: 'c' },
    ...pieces,
    call({ invalid: true, input: '{' }),
    finish,
  )
  expect(asWritten.content).toMatchObject([{ input: null, inputText: '{"a":' }])
})

test('an empty text is kept only if it has metadata', () => {
  const given = { acme: { signature: 'abc' } }
  const emptyWith = (more: object) => [
    { type: 'text-start', id: 't', ...more },
    { type: 'text-end', id: 't' },
  ]
  expect(replyOf(...emptyWith({ providerMetadata: given }), finish).content).toEqual([
    { type: 'text', text: '', providerOptions: given },
  ])
  expect(replyOf(...emptyWith({}), finish).content).toEqual([])
})

test('a reply that ended with an error is not a reply, and one that a filter cut is an answer', () => {
  const text = { type: 'text-delta', id: 't', text: 'Hi.' }
  const end = (finishReason: string) => ({ ...finish, finishReason })
  expect(() => replyOf(text, end('error'))).toThrow('acme/m ended its reply with an error.')
  expect(() => replyOf(end('error'))).toThrow('acme/m sent no reply that can be read.')
  expect(() => replyOf(text, end('interrupted'))).toThrow('acme/m broke off in the middle of its reply.')
  expect(replyOf(text, end('content-filter'))).toMatchObject({ finishReason: 'content-filter', content: [{}] })
  const nothing = 'acme/m refused the request: its content filter let nothing through.'
  expect(() => replyOf(end('content-filter'))).toThrow(nothing)
  expect(() => replyOf({ ...text, type: 'reasoning-delta' }, end('content-filter'))).toThrow(nothing)
})

test('a reply without a finish reason from the provider has no end', () => {
  const other = { ...finish, finishReason: 'other' }
  const text = { type: 'text-delta', id: 't', text: 'Hi.' }
  expect(replyOf(text, other)).toMatchObject({ finishReason: 'other' })
  const message = 'acme/m sent a reply without an end.'
  expect(() => replyOf(text, { ...other, rawFinishReason: undefined })).toThrow(message)
  expect(() => replyOf(text)).toThrow(message)
})
