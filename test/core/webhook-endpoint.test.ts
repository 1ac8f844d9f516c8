/** Records of endpoints: what is read of one that is old or not whole, and what follows from it. */
import { expect, test } from 'vitest'
import { decodeEndpoint, type EndpointRecord, secretsAt, wants } from '../../src/core/webhook/endpoint.ts'

const old = { secret: 'whsec_old', until: 2 }

test.each([
  [old, [old]],
  [null, []],
  [
    [old, old],
    [old, old],
  ],
])('previous secrets that are stored as %j are read', (previous, read) => {
  const text = JSON.stringify({ url: 'https://example.com/', secret: 'whsec_new', previous })
  expect(decodeEndpoint(text)?.previous).toEqual(read)
})

const address = 'https://example.com/'

test('an endpoint whose record does not say so is not told, and gets no results', () => {
  const read = (record: object) => decodeEndpoint(JSON.stringify({ url: address, secret: 's', ...record }))
  expect(read({})).toMatchObject({ isEnabled: false, include: 'ids', types: [] })
  expect(read({ isEnabled: 'yes', include: 'all', types: ['ask.opened', 'all'] })).toMatchObject({
    isEnabled: false,
    include: 'ids',
    types: ['ask.opened'],
  })
})

test.each([{}, { url: address }, { url: 'ftp://x', secret: 's' }, { url: address, secret: 1 }, 'x', null])(
  '%j is no record of an endpoint',
  (value) => {
    expect(decodeEndpoint(JSON.stringify(value))).toBeNull()
  },
)

test('a request is signed with the secret, and with former ones until their time ends', () => {
  const record = { secret: 'new', previous: [old, { secret: 'older', until: 1 }] } as unknown as EndpointRecord
  expect([0, 1, 2].map((now) => secretsAt(record, now))).toEqual([
    ['new', 'whsec_old', 'older'],
    ['new', 'whsec_old'],
    ['new'],
  ])
})

test.each([
  [{}, true],
  [{ types: ['session.failed'] }, false],
  [{ kinds: ['clerk'] }, true],
  [{ kinds: ['other'] }, false],
  [{ names: ['ada'] }, true],
  [{ names: ['bob'] }, false],
  [{ kinds: ['clerk'], names: ['bob'] }, false],
])('an endpoint of %j is told of a completed session of the kind clerk with the name ada: %s', (only, isTold) => {
  const record = { types: ['session.completed'], kinds: null, names: null, ...only } as unknown as EndpointRecord
  expect(wants(record, { type: 'session.completed', kind: 'clerk', name: 'ada' })).toBe(isTold)
})
