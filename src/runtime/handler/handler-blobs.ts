/**
 * Duty: the bytes of media that a handler names: a block that holds them, or the name of a blob of its session.
 * HANDLER-BLOBS-1 A name is good in its own session alone: nothing of another session is read.
 */

import { isBlobId, type KeptBlob } from '../../core/blob.ts'
import { isObject } from '../../core/check/is-object.ts'
import { preview } from '../../core/check/preview.ts'
import { InputError } from '../../core/errors.ts'
import { type BlobName, blobIdOf, heldBytes, isMediaPart } from '../../core/history/chat/media.ts'
import type { BlobStore } from '../../core/ports/ports.ts'

export async function readBlob(
  blobs: Pick<BlobStore, 'find' | 'read'>,
  sessionId: string,
  named: BlobName,
): Promise<KeptBlob | null> {
  const held = isMediaPart(named) ? heldBytes(named) : null
  if (held !== null && isMediaPart(named)) return { mediaType: named.mediaType, bytes: held }
  const id = idOf(named)
  const ref = await blobs.find(sessionId, id)
  const bytes = ref && (await blobs.read(sessionId, id))
  return ref && bytes && { mediaType: ref.mediaType, bytes }
}

function idOf(named: unknown): string {
  const url = isObject(named) ? named.url : named
  const id = typeof url === 'string' ? (blobIdOf({ type: 'file', mediaType: '', url }) ?? url) : url
  if (isBlobId(id)) return id
  throw new InputError(
    `self.blob takes a block of a message (image, audio or file) with bytes, or the name of a blob (its url), not ${preview(named)}. An address elsewhere is not fetched.`,
  )
}
