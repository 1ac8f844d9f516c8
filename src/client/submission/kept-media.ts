/**
 * Duty: keep media of an input that are too long for a message as blobs of the session; the message names them.
 * KEPT-MEDIA-1 Blobs are kept before a message names them, or their bytes are sent before the script that creates its session. A crash in between leaves a blob that nobody
 *              names: it goes with its session.
 */
import { type Blob, type BlobRef, blobRefOf } from '../../core/blob.ts'
import { InputError, LimitError } from '../../core/errors.ts'
import {
  asBlob,
  blobIdOf,
  bytesOf,
  heldBytes,
  isMediaPart,
  type MediaPart,
  mediaLabel,
  mediaProblem,
  withHeldBytes,
} from '../../core/history/chat/media.ts'
import { policy } from '../../core/policy.ts'
import type { BlobStore } from '../../core/ports/ports.ts'
import { blocksIn } from './attached.ts'

/** With more bytes of media than this, a message would be too long: base64 takes a third more. The message names such media instead. */
const heldBytesMax = policy.messageBytesMax * 0.7
/** Smaller media stay in the message, unless they alone make it too long. */
const smallBytes = 16_384
/** Still smaller ones always do: the name of a blob is hardly shorter. */
const tinyBytes = 1_024

/** True for an input whose media are too long for a message. */
export function hasLongMedia(input: unknown): boolean {
  return heldIn(input, Infinity) > heldBytesMax
}

/** How many bytes those media have together that have fewer than so many each. */
function heldIn(input: unknown, below: number): number {
  const sizes = blocksIn(input).map((block) => (isMedium(block) ? (bytesOf(block) ?? 0) : 0))
  return sizes.reduce((sum, bytes) => (bytes < below ? sum + bytes : sum), 0)
}

/** Media with so many bytes or more do not stay in the message. */
function longFrom(input: unknown): number {
  return heldIn(input, smallBytes) > heldBytesMax ? tinyBytes : smallBytes
}

/** The input with long media as blobs of this session, which keeps them first. */
export async function withKeptMedia(input: unknown, sessionId: string, blobs: BlobStore): Promise<unknown> {
  const keep = async (blob: Blob, block: MediaPart) => {
    const answer = await blobs.keep(sessionId, blob)
    if (answer.kind === 'kept') return asBlob(block, answer.ref)
    const why =
      answer.kind === 'gone'
        ? `session ${sessionId} does not exist any more`
        : answer.kind === 'full'
          ? `the blobs of session ${sessionId} would be too many, or too many bytes`
          : tooLong
    throw notKept(block, why)
  }
  const least = longFrom(input)
  const kept = blocksIn(input).map((block) => {
    const blob = longMedium(block, least)
    return blob === null ? block : keep(blob, block as MediaPart)
  })
  return withBlocks(input, await Promise.all(kept))
}

export interface MediaAside {
  readonly input: unknown
  /** In the order of the blocks, each once. */
  readonly blobs: readonly NamedBlob[]
}

/** The bytes of a blob, and the name that follows from them. */
export interface NamedBlob {
  readonly ref: BlobRef
  readonly body: Uint8Array
}

/** The first input of a session that does not exist yet, and its long media beside it, for the script that creates the session. */
export function mediaAside(input: unknown): MediaAside {
  const blobs = new Map<string, NamedBlob>()
  const least = longFrom(input)
  const kept = blocksIn(input).map((block) => {
    const blob = longMedium(block, least)
    if (blob === null) return block
    const ref = blobRefOf(blob)
    if (ref.bytes > policy.blobBytesMax) throw notKept(block as MediaPart, tooLong)
    blobs.set(ref.id, { ref, body: blob.bytes })
    return asBlob(block as MediaPart, ref)
  })
  const bytes = blobs.values().reduce((sum, { ref }) => sum + ref.bytes, 0)
  if (bytes > policy.firstBlobBytesMax)
    throw new LimitError(
      'message_too_big',
      `the media of the first message have ${bytes} bytes; the limit is ${policy.firstBlobBytesMax}: send further media with messages of their own.`,
    )
  if (blobs.size > policy.firstBlobsMax)
    throw new LimitError(
      'message_too_big',
      `the first message has ${blobs.size} media, and may have ${policy.firstBlobsMax}: send further media with messages of their own.`,
    )
  return { input: withBlocks(input, kept), blobs: [...blobs.values()] }
}

/** An input may be any JSON: what only looks like a medium stays as it is. */
function isMedium(block: unknown): block is MediaPart {
  if (!isMediaPart(block) || typeof block.mediaType !== 'string') return false
  const { data, url } = block as { readonly data?: unknown; readonly url?: unknown }
  return [data, url].every((text) => text === undefined || typeof text === 'string')
}

/** The bytes of a block that is to be kept; null if it stays as it is. */
function longMedium(block: unknown, least: number): Blob | null {
  if (!isMedium(block) || (bytesOf(block) ?? 0) < least) return null
  const bytes = heldBytes(block)
  if (bytes === null) return null
  const problem = mediaProblem([block])
  if (problem !== null) throw new InputError(`a medium of the message is wrong: ${problem}`)
  return { mediaType: block.mediaType, bytes }
}

/**
 * The input with the bytes of its blobs in this session, so that another session can keep them as its own. A blob that is gone stays a name: whoever
 * reads the message is told.
 */
export async function withBlobBytes(input: unknown, sessionId: string, blobs: BlobStore): Promise<unknown> {
  const blocks = blocksIn(input)
  const ids = blocks.map((block) => (isMedium(block) ? blobIdOf(block) : null))
  if (ids.every((id) => id === null)) return input
  const held = blocks.map(async (block, index) => {
    const id = ids[index] ?? null
    const bytes = id === null ? null : await blobs.read(sessionId, id)
    return bytes === null ? block : withHeldBytes(block as MediaPart, bytes)
  })
  return withBlocks(input, await Promise.all(held))
}

function withBlocks(input: unknown, blocks: readonly unknown[]): unknown {
  return Array.isArray(input) ? blocks : { ...(input as object), content: blocks }
}

const tooLong = 'no blob may have so many bytes'

function notKept(block: MediaPart, why: string): LimitError {
  return new LimitError('message_too_big', `${mediaLabel(block)} cannot be kept: ${why}.`)
}
