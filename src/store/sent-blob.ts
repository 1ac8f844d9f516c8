/**
 * Duty: send the bytes of a blob to Redis before a script keeps them. A script that took them as an argument would hold Redis for as long as it copies
 * them, 2 ms for each MB; a `SET` by itself copies nothing.
 * SENT-BLOB-1 A script that does not find the bytes answers `unsent`: then they are sent again, a few times.
 */
import { Buffer } from 'node:buffer'
import { performance } from 'node:perf_hooks'
import type { BlobRef } from '../core/blob.ts'
import { TransientError } from '../core/errors.ts'
import { type PartitionKeys, sentBlobKey } from './keys.ts'
import { guarded } from './redis/guarded.ts'
import type { Redis } from './redis/redis.ts'

/** Bytes, and the name that follows from them. */
export interface SentBlob {
  readonly sessionId: string
  readonly ref: BlobRef
  readonly body: Uint8Array
}

/** What is not kept by then goes by itself. */
const sentMs = 600_000
const timesMost = 3

/** Sends the bytes, then calls; both again where the bytes were gone. `call` answers null for `unsent`. */
export async function withSentBlobs<Answer>(
  redis: Redis,
  keys: PartitionKeys,
  blobs: readonly SentBlob[],
  deadlineMs: number,
  call: (since: number) => Promise<Answer | null>,
  since = performance.now(),
): Promise<Answer> {
  for (let time = 1; time <= timesMost; time++) {
    for (const { sessionId, ref, body } of blobs) {
      const key = sentBlobKey(keys.tag, sessionId, ref.id)
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
      await guarded('sending a blob', () => redis.set(key, bytes, 'PX', sentMs), deadlineMs, since)
    }
    const answer = await call(since)
    if (answer !== null) return answer
  }
  const ids = blobs.map(({ ref }) => ref.id).join(', ')
  const what = ids === '' ? 'the history of a session' : `the bytes of blob ${ids} of session ${blobs[0]?.sessionId}`
  throw new TransientError(
    `${what} were sent to Redis ${timesMost} times and were gone each time: does it evict keys (maxmemory-policy), or does another program delete them?`,
    { code: 'store_refused' },
  )
}
