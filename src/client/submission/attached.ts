/**
 * Duty: files of the sender as content blocks of an input.
 * ATTACHED-2 Media that are too long for a message are kept first, as blobs of the session, and the message names them. A crash in between leaves a
 *            blob that nobody names: it goes with its session.
 * ATTACHED-1 A block with `file` names a file of this machine, and one with bytes in `data` holds them. Both become blocks that Redis can keep. Any
 *            other input is passed on as it is, at no cost.
 */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { isObject } from '../../core/check/is-object.ts'
import { InputError, LimitError } from '../../core/errors.ts'
import {
  asBlob,
  bytesOf,
  heldBytes,
  isMediaPart,
  type MediaOptions,
  type MediaPart,
  mediaBlock,
  mediaLabel,
  mediaProblem,
} from '../../core/history/chat/media.ts'
import { policy } from '../../core/policy.ts'
import type { BlobStore } from '../../core/ports/ports.ts'

/**
 * A block of an input from a file of this machine: an image, audio, or a file, by what its bytes are.
 *
 *     await session.send([{ type: 'text', text: 'What is this?' }, await attachment('plan.png')])
 */
export async function attachment(path: string, options: MediaOptions = {}): Promise<MediaPart> {
  return mediaBlock(await bytesAt(path), { filename: basename(path), ...options })
}

async function bytesAt(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : String(code)
    throw new InputError(`the file ${path} cannot be attached: ${why}.`, { cause })
  }
}

/** True for an input with blocks that `withAttached` has to read. */
export function namesFiles(input: unknown): boolean {
  return blocksIn(input).some(isUnread)
}

function isUnread(block: unknown): boolean {
  if (!isMediaPart(block)) return false
  const { file, data } = block as { file?: unknown; data?: unknown }
  return typeof file === 'string' || data instanceof Uint8Array
}

/** The input with all its bytes. Throws an InputError that names the block. */
export async function withAttached(input: unknown): Promise<unknown> {
  if (Array.isArray(input)) return Promise.all(input.map(readBlock))
  const { content, ...rest } = input as { readonly content: readonly unknown[] }
  return { ...rest, content: await Promise.all(content.map(readBlock)) }
}

async function readBlock(block: unknown, index: number): Promise<unknown> {
  if (!isUnread(block)) return block
  const { type, mediaType, filename, file, data } = block as MediaOptions & {
    readonly type: string
    readonly file?: string
    readonly data?: Uint8Array
  }
  const options = { ...(mediaType !== undefined && { mediaType }), ...(filename !== undefined && { filename }) }
  const read = file === undefined ? mediaBlock(data as Uint8Array, options) : await attachment(file, options)
  if (read.type !== type && type !== 'file')
    throw new InputError(`content[${index}] is said to be ${type}, and its bytes are those of ${read.mediaType}.`)
  return read
}

/** With more bytes of media a message would be too long: base64 takes a third more. It names them instead. */
const heldBytesMax = policy.messageBytesMax * 0.7
/** Smaller media stay in the message. */
const smallBytes = 16_384

/** True for an input whose media are too long for a message. */
export function hasLongMedia(input: unknown): boolean {
  let bytes = 0
  for (const block of blocksIn(input))
    if (isMediaPart(block) && typeof block.mediaType === 'string') bytes += bytesOf(block) ?? 0
  return bytes > heldBytesMax
}

/** The input with long media as blobs of this session. */
export async function withKeptMedia(input: unknown, sessionId: string, blobs: BlobStore): Promise<unknown> {
  const kept = await Promise.all(blocksIn(input).map((block) => keep(block, sessionId, blobs)))
  return Array.isArray(input) ? kept : { ...(input as object), content: kept }
}

function blocksIn(input: unknown): readonly unknown[] {
  const blocks = Array.isArray(input) ? input : isObject(input) ? input.content : undefined
  return Array.isArray(blocks) ? blocks : []
}

async function keep(block: unknown, sessionId: string, blobs: BlobStore): Promise<unknown> {
  if (!isMediaPart(block) || (bytesOf(block) ?? 0) < smallBytes) return block
  const bytes = heldBytes(block)
  if (bytes === null) return block
  const problem = mediaProblem([block])
  if (problem !== null) throw new InputError(`a medium of the message is wrong: ${problem}`)
  const answer = await blobs.keep(sessionId, { mediaType: block.mediaType, bytes })
  if (answer.kind === 'kept') return asBlob(block, answer.ref)
  const why =
    answer.kind === 'gone'
      ? `session ${sessionId} does not exist any more`
      : answer.kind === 'full'
        ? `the blobs of session ${sessionId} would be too many, or too many bytes`
        : 'no blob may have so many bytes'
  throw new LimitError('message_too_big', `${mediaLabel(block)} cannot be kept: ${why}.`)
}
