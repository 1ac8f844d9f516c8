/** Records of endpoints that were written before they could have several former secrets. */
import { expect, test } from 'vitest'
import { decodeEndpoint } from '../../src/core/webhook/endpoint.ts'

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
