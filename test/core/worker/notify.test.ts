/** Where the result of a session may go. */
import { expect, test } from 'vitest'
import { decodeNotify, encodeNotify, type Notify, notifyProblem } from '../../../src/core/worker/notify.ts'

test.each<Notify>([
  { queue: 'results' },
  { queue: 'results', prefix: 'own' },
  { url: 'https://example.test/done?a=b' },
])('a result may go to %j', (notify) => {
  expect(notifyProblem(notify)).toBeNull()
  expect(decodeNotify(encodeNotify(notify))).toEqual(notify)
})

test.each([
  ['results', /must be an object/],
  [{}, /either queue or url/],
  [{ queue: 'results', url: 'https://example.test' }, /either queue or url/],
  [{ queue: 'a:b' }, /a queue that BullMQ cannot have/],
  [{ queue: 'results', prefix: '' }, /a prefix that is no text/],
  [{ url: 'https://example.test', prefix: 'own' }, /a prefix only with a queue/],
  [{ url: 'ftp://example.test' }, /no address of http or https/],
  [{ url: 'https://me:pw@example.test' }, /with a user or a password/],
  [{ url: 'https://me@example.test' }, /with a user or a password/],
  [{ url: `https://example.test/${'x'.repeat(2_000)}` }, /no address/],
  [{ queue: 'results', retries: 3 }, /no field "retries"/],
])('a result may not go to %j, and the error quotes no address', (value, problem) => {
  expect(notifyProblem(value)).toMatch(problem)
  expect(notifyProblem(value)).not.toContain('example.test')
  expect(decodeNotify(JSON.stringify(value))).toBeNull()
})
