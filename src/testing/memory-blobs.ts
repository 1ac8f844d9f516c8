/** Duty: keep the blobs of one session in memory, in place of those that Redis keeps. */
import { type Blob, type BlobRef, blobRefOf } from '../core/blob.ts'
import { policy } from '../core/policy.ts'
import type { BlobStore } from '../core/ports/ports.ts'

export class MemoryBlobs implements BlobStore {
  readonly #kept = new Map<string, { readonly ref: BlobRef; readonly bytes: Buffer }>()

  async keep(_sessionId: string, blob: Blob): ReturnType<BlobStore['keep']> {
    if (blob.bytes.byteLength > policy.blobBytesMax) return { kind: 'tooLong' }
    const ref = blobRefOf(blob)
    this.#kept.set(ref.id, { ref, bytes: Buffer.from(blob.bytes) })
    return { kind: 'kept', ref }
  }

  async find(_sessionId: string, id: string): Promise<BlobRef | null> {
    return this.#kept.get(id)?.ref ?? null
  }

  async read(
    _sessionId: string,
    id: string,
    range?: { readonly offset: number; readonly length: number },
  ): Promise<Buffer | null> {
    const found = this.#kept.get(id)?.bytes
    if (found === undefined) return null
    return range === undefined ? found : found.subarray(range.offset, range.offset + range.length)
  }

  async list(): Promise<readonly BlobRef[]> {
    return [...this.#kept.values()].map(({ ref }) => ref)
  }
}
