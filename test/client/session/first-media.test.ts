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
