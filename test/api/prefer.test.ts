/** How long a caller wants to wait, as the header `Prefer` says. */
import { expect, test } from 'vitest'
import { waited } from '../../src/api/prefer.ts'

test.each([
  [undefined, undefined],
  ['respond-async', undefined],
  ['await=5', undefined],
  ['wait=0', 0],
  ['wait=30', 30],
  ['Wait = "30"', 30],
  ['respond-async, wait=30', 30],
  ['handling=lenient; wait=30', 30],
  ['wait=60', 60],
  ['wait=61', 60],
  ['wait=999999', 60],
  ['wait=-1', undefined],
])('Prefer: %s waits for %s seconds, and nobody for more than sixty', (header, seconds) => {
  expect(waited(header)).toBe(seconds)
})
