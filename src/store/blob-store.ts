/**
 * Duty: keep and read the blobs of sessions (core/blob.ts): long results, and media. Whoever names a blob in a message or an entry keeps it
 * first; what a crash leaves unnamed is bounded by the session's limit and goes with the session.
 * BLOB-STORE-1 The bytes and the session's index of them change together (keep-blob.lua). Reading writes nothing.
 */
import { Buffer } from 'node:buffer'
import { type Blob, type BlobRef, blobRefOf, decodeBlobLine, isBlobId } from '../core/blob.ts'
import type { Policy } from '../core/policy.ts'
import type { BlobStore } from '../core/ports/ports.ts'
import { blobKey, type PartitionKeys, rootKey, sentBlobKey, sessionKeys } from './keys.ts'
import { guarded } from './redis/guarded.ts'
import type { Redis } from './redis/redis.ts'
import type { ScriptCaller } from './script/script.ts'
import { keepBlobScript } from './script/scripts.ts'
import { withSentBlobs } from './sent-blob.ts'

export interface BlobStoreOptions {
  readonly redis: Redis
  readonly caller: ScriptCaller
  readonly keys: PartitionKeys
  readonly policy: Policy
  readonly deadlineMs: number
}

export class RedisBlobStore implements BlobStore {
  readonly #o: BlobStoreOptions

  constructor(options: BlobStoreOptions) {
    this.#o = options
  }

  async keep(sessionId: string, blob: Blob): ReturnType<BlobStore['keep']> {
    const { redis, caller, keys, policy, deadlineMs } = this.#o
    if (blob.bytes.byteLength > policy.blobBytesMax) return { kind: 'tooLong' }
    const ref = blobRefOf(blob)
    const scriptKeys = {
      root: rootKey(keys.tag, sessionId),
      blobs: sessionKeys(keys.tag, sessionId).blobs,
      blob: blobKey(keys.tag, sessionId, ref.id),
      sent: sentBlobKey(keys.tag, sessionId, ref.id),
    }
    const args = {
      blob: ref.id,
      mediaType: blob.mediaType,
      bytes: ref.bytes,
      bytesMost: policy.sessionBlobBytesMax,
      countMost: policy.sessionBlobsMax,
    }
    const sent = [{ sessionId, ref, body: blob.bytes }]
    return withSentBlobs(redis, keys, sent, deadlineMs, async (since) => {
      const [answer] = await caller.call(keepBlobScript, scriptKeys, args, { deadlineMs, since })
      if (answer === 'unsent') return null
      if (answer === 'not_found') return { kind: 'gone' as const }
      return answer === 'full' ? { kind: 'full' as const } : { kind: 'kept' as const, ref }
    })
  }

  async find(sessionId: string, id: string): Promise<BlobRef | null> {
    if (!isBlobId(id)) return null
    const { redis, keys, deadlineMs } = this.#o
    const { blobs } = sessionKeys(keys.tag, sessionId)
    const line = await guarded('looking for a blob', () => redis.hget(blobs, id), deadlineMs)
    return line === null ? null : decodeBlobLine(id, line)
  }

  async read(
    sessionId: string,
    id: string,
    range?: { readonly offset: number; readonly length: number },
  ): Promise<Buffer | null> {
    if (!isBlobId(id)) return null
    const { redis, keys, deadlineMs } = this.#o
    const key = blobKey(keys.tag, sessionId, id)
    const read = () =>
      range === undefined
        ? redis.getBuffer(key)
        : redis.getrangeBuffer(key, range.offset, range.offset + range.length - 1)
    const found = range?.length === 0 ? Buffer.alloc(0) : await guarded('reading a blob', read, deadlineMs)
    // Redis answers the same empty text for a key that does not exist and for a range behind the end of a key.
    if (found !== null && found.length === 0 && (await this.find(sessionId, id)) === null) return null
    return found
  }

  async list(sessionId: string): Promise<readonly BlobRef[]> {
    const { redis, keys, deadlineMs } = this.#o
    const { blobs } = sessionKeys(keys.tag, sessionId)
    const lines = await guarded('listing blobs', () => redis.hgetall(blobs), deadlineMs)
    return Object.entries(lines).flatMap(([id, line]) => (isBlobId(id) ? [decodeBlobLine(id, line)] : []))
  }
}
