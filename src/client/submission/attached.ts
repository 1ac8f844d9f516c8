/**
 * Duty: files of the sender as content blocks of an input.
 * ATTACHED-1 A block with `file` names a file of this machine, and one with bytes in `data` holds them. Both become blocks that Redis can keep. Any
 *            other input is passed on as it is, at no cost.
 */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { isObject } from '../../core/check/is-object.ts'
import { InputError } from '../../core/errors.ts'
import { isMediaPart, type MediaOptions, type MediaPart, mediaBlock } from '../../core/history/chat/media.ts'

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

/** The content blocks of an input; none if it has another form. */
export function blocksIn(input: unknown): readonly unknown[] {
  const blocks = Array.isArray(input) ? input : isObject(input) ? input.content : undefined
  return Array.isArray(blocks) ? blocks : []
}
