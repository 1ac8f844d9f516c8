/** Errors of models that were passed as objects. They may come from any copy of the SDK, so only their fields count. */
import { expect, test } from 'vitest'
import { TransientError } from '../../../src/core/errors.ts'
import { toModelError } from '../../../src/models/sdk/sdk-errors.ts'

const context = { id: 'acme/large', secrets: [] }

test.each<[object, string]>([
  [{ message: 'Busy.', type: 'overloaded_error' }, 'model_overloaded'],
  [{ message: 'Busy.', type: 'invalid_request_error', code: 'rate_limit_exceeded' }, 'model_overloaded'],
  [{ message: 'Too long.', code: 'context_length_exceeded' }, 'context_overflow'],
  [{ message: 'No.', data: { error: { type: 'invalid_request_error' } } }, 'model_refused'],
  [{ message: 'No money.', statusCode: 429, data: { error: { code: 'insufficient_quota' } } }, 'model_refused'],
  [{ message: 'Later.', statusCode: 409 }, 'model_unavailable'],
  [{ message: 'Gone.', statusCode: 302 }, 'model_refused'],
  [{ message: 'What?', statusCode: 200, cause: { name: 'AI_JSONParseError' } }, 'model_garbled'],
  [{ message: 'No files.', name: 'AI_UnsupportedFunctionalityError' }, 'model_refused'],
  [new TypeError('terminated', { cause: new Error('other side closed') }), 'model_unavailable'],
  [{}, 'model_unavailable'],
])('%j is %s', (thrown, code) => {
  expect(toModelError(thrown, context)).toMatchObject({ code })
})

const said = (type: string, message = 'No.') => ({ message, data: { error: { type, message } } })

test.each<[string, object, string]>([
  ['a limit of requests under status 400', { ...said('rate_limit_error'), statusCode: 400 }, 'model_overloaded'],
  ['the same in words', { ...said('bad', 'Rate limit reached, try later.'), statusCode: 400 }, 'model_overloaded'],
  ['the same in capitals', { ...said('RESOURCE_EXHAUSTED'), statusCode: 400 }, 'model_overloaded'],
  ['the same under status 403', { ...said('too_many_requests'), statusCode: 403 }, 'model_overloaded'],
  ['a server error under status 400', { ...said('server_error'), statusCode: 400 }, 'model_unavailable'],
  ['a time limit under status 400', { ...said('timeout'), statusCode: 400 }, 'model_unavailable'],
  ['a failed dependency', { message: 'Request failed during generation', statusCode: 424 }, 'model_unavailable'],
  ['a request that was closed', { message: 'Closed.', statusCode: 499 }, 'model_unavailable'],
  ['a server with no room', { message: 'Full.', statusCode: 498 }, 'model_overloaded'],
  ['a wrong key under status 500', { ...said('authentication_error'), statusCode: 500 }, 'model_refused'],
  ['a filter under status 500', { ...said('content_filter'), statusCode: 500 }, 'model_refused'],
  ['an empty account under status 503', { ...said('insufficient_quota'), statusCode: 503 }, 'model_refused'],
  [
    'an empty account in a failed response',
    {
      message: 'No.',
      statusCode: 429,
      data: { type: 'response.failed', response: { error: { code: 'insufficient_quota' } } },
    },
    'model_refused',
  ],
  [
    'an empty account under status 429, in words alone',
    { message: 'You exceeded your current quota, please check your plan and billing details.', statusCode: 429 },
    'model_refused',
  ],
  [
    'an empty account under status 500, in words alone',
    { message: 'Insufficient balance', statusCode: 500 },
    'model_refused',
  ],
  ['a wrong request', { ...said('invalid_request_error'), statusCode: 400 }, 'model_refused'],
  [
    'a limit under status 429, whatever else is said',
    { ...said('permission_error'), statusCode: 429 },
    'model_overloaded',
  ],
  ['a page that is not there', { message: 'Rate limits: see /docs', statusCode: 404 }, 'model_refused'],
])('an error %s is classed by its meaning', (_what, thrown, code) => {
  expect(toModelError(thrown, context)).toMatchObject({ code })
})

test('an empty account is not blamed on the prompt', () => {
  const thrown = {
    ...said('invalid_request_error', 'Your credit balance is too low to access the API.'),
    statusCode: 400,
  }
  expect(toModelError(thrown, context)).toMatchObject({ code: 'model_refused', details: { wouldRefuseAny: true } })
})

test('an error whose message says nothing gets the reason from its cause', () => {
  const thrown = new TypeError('terminated', { cause: new Error('other side closed') })
  expect(toModelError(thrown, context).message).toBe('acme/large did not answer: terminated: other side closed')
  expect(toModelError('a text', context).message).toBe('acme/large did not answer: a text')
  expect(toModelError(undefined, context).message).toBe('acme/large did not answer')
})

test('an error says what to check where that is known', () => {
  const messageOf = (statusCode: number, more: object = {}) =>
    toModelError({ message: 'No.', statusCode, ...more }, { ...context, keyVariable: 'ACME_KEY' }).message
  expect(messageOf(404)).toMatch(/ – check the name of the model and the base URL\.$/)
  expect(messageOf(403)).toMatch(/ – check ACME_KEY\.$/)
  expect(messageOf(302, { responseHeaders: { location: 'https://other.test/v1?a=b' } })).toMatch(
    / – it redirects to https:\/\/other\.test\/v1, which is not followed: check the base URL\.$/,
  )
  for (const message of [
    messageOf(302),
    messageOf(400, { responseHeaders: { location: 'https://other.test' } }),
    messageOf(200, { responseHeaders: { location: 'https://other.test' } }),
    toModelError({ message: 'No.', statusCode: 401 }, context).message,
  ])
    expect(message).not.toContain('–')
})

test('an error that names the target of a redirect names no password and no key in it', () => {
  const location = 'https://me:opensesame@other.test/v1/correct-horse-battery'
  const thrown = { message: 'No.', statusCode: 302, responseHeaders: { location } }
  const { message } = toModelError(thrown, { ...context, secrets: ['correct-horse-battery'] })
  expect(message).toContain('it redirects to https://other.test/v1/[redacted], which is not followed')
})

test('an error of troupe is found among the causes, and circular causes do not hang', () => {
  const own = new TransientError('cut off', { code: 'model_garbled' })
  expect(toModelError(new Error('outer', { cause: own }), context)).toBe(own)
  const circle = new Error('round')
  circle.cause = circle
  expect(toModelError(circle, context)).toMatchObject({ code: 'model_unavailable' })
})

test('the name of the model is shown even if it looks like a key, but a key in it is not', () => {
  const id = 'fireworks/accounts/fireworks/models/llama-v3p1-405b-instruct'
  const message = 'No model accounts/fireworks/models/llama-v3p1-405b-instruct for key 0123456789abcdef0123456789abcdef'
  expect(toModelError({ message, statusCode: 404 }, { id, secrets: [] }).message).toMatch(
    `${id} refused the request (404): No model accounts/fireworks/models/llama-v3p1-405b-instruct for key [redacted]`,
  )
  const secret = 'correct-horse-battery'
  const error = toModelError({ message: secret }, { id: `acme/${secret}`, secrets: [secret] })
  expect(error.message).toBe('acme/[redacted] did not answer: [redacted]')
})
