/** Media of the first message of a session: which are kept beside it, and how many may be. */
import { expect, test } from 'vitest'
import { mediaAside } from '../../../src/client/submission/kept-media.ts'
import { policy } from '../../../src/core/policy.ts'

test('a first message has no more media than one script may keep', () => {
  const media = (count: number) =>
    Array.from({ length: count }, (_, number) => {
      const bytes = Buffer.alloc(2_048)
      bytes.writeUInt32BE(number)
      return { type: 'file', mediaType: 'text/plain', data: bytes.toString('base64') }
    })
  expect(mediaAside(media(policy.firstBlobsMax)).blobs).toHaveLength(policy.firstBlobsMax)
  expect(() => mediaAside(media(policy.firstBlobsMax + 1))).toThrow(
    `has ${policy.firstBlobsMax + 1} media, and may have ${policy.firstBlobsMax}`,
  )
})

test('a first message has no more bytes of media than one script may keep', () => {
  const nine = 9 * 1_048_576
  const media = Array.from({ length: 4 }, (_, number) => {
    const data = Buffer.alloc(nine, number).toString('base64')
    return { type: 'file', mediaType: 'text/plain', data }
  })
  expect(() => mediaAside(media)).toThrow(`have ${4 * nine} bytes; the limit is ${policy.firstBlobBytesMax}`)
  expect(mediaAside(media.slice(1)).blobs).toHaveLength(3)
})
