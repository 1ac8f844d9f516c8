/**
 * Duty: blobs: bytes that are too long for a message or a history, kept beside them as long as their session. The name of a blob follows from
 * what it holds.
 * Does not own: keeping and reading them: `TurnHost.blobs` in a turn, else a RedisBlobStore (store/blob-store.ts) of the session's partition. Keep a
 * blob first, then name it by its reference in the message or entry. The name is good in its own session alone.
 * BLOB-1 The same bytes with the same media type are the same blob of a session: keeping them again, for example after a crash, adds nothing.
 */
import { createHash } from 'node:crypto'

/** A blob as messages and histories name it. */
export interface BlobRef {
  readonly id: string
  readonly mediaType: string
  readonly bytes: number
}

export interface Blob {
  readonly mediaType: string
  readonly bytes: Uint8Array
}

/** A blob as code of users gets it: its type, and what it holds. */
export type KeptBlob = Blob

const idForm = /^[0-9a-f]{32}$/

export function isBlobId(text: unknown): text is string {
  return typeof text === 'string' && idForm.test(text)
}

export function blobRefOf({ mediaType, bytes }: Blob): BlobRef {
  const id = createHash('sha256').update(`${mediaType}\n`).update(bytes).digest('hex').slice(0, 32)
  return { id, mediaType, bytes: bytes.byteLength }
}

/** `<bytes> <media type>`: how the session's index has a blob. keep-blob.lua writes the same. */
export function encodeBlobLine({ bytes, mediaType }: Omit<BlobRef, 'id'>): string {
  return `${bytes} ${mediaType}`
}

/** Reads what `encodeBlobLine` writes. */
export function decodeBlobLine(id: string, line: string): BlobRef {
  const space = line.indexOf(' ')
  return { id, mediaType: line.slice(space + 1), bytes: Number(line.slice(0, space)) }
}
