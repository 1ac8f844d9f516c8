/**
 * Duty: files and bytes of the sender as content blocks of an input.
 * ATTACHED-1 A block with bytes in `data` becomes one that Redis can keep. Any other input is passed on as it is, at no cost.
 * ATTACHED-2 No input has a file read: a program may pass on what a stranger wrote, and that could name any file of this machine. A block that
 *            names one is refused; the program reads the file itself, by `attachment`.
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

/** True for an input with blocks that `withBytes` has to look at. */
export function holdsBytes(input: unknown): boolean {
  return blocksIn(input).some(isRaw)
}

function isRaw(block: unknown): boolean {
  if (!isMediaPart(block)) return false
  const { file, data } = block as { file?: unknown; data?: unknown }
  return typeof file === 'string' || data instanceof Uint8Array
}

/** The input with all its bytes as base64. Throws an InputError that names the block. */
export function withBytes(input: unknown): unknown {
  if (Array.isArray(input)) return input.map(readBlock)
  const { content, ...rest } = input as { readonly content: readonly unknown[] }
  return { ...rest, content: content.map(readBlock) }
}

function readBlock(block: unknown, index: number): unknown {
  if (!isRaw(block)) return block
  const { type, mediaType, filename, file, data } = block as MediaOptions & {
    readonly type: string
    readonly file?: string
    readonly data?: Uint8Array
  }
  if (file !== undefined)
    throw new InputError(
      `content[${index}] names a file. No input has a file read: a program passes the block that \`await attachment(path)\` makes, or the bytes in \`data\`; the command line takes --attach <path>.`,
    )
  const options = { ...(mediaType !== undefined && { mediaType }), ...(filename !== undefined && { filename }) }
  const read = mediaBlock(data as Uint8Array, options)
  if (read.type !== type && type !== 'file')
    throw new InputError(`content[${index}] is said to be ${type}, and its bytes are those of ${read.mediaType}.`)
  return read
}

/** The content blocks of an input; none if it has another form. */
export function blocksIn(input: unknown): readonly unknown[] {
  const blocks = Array.isArray(input) ? input : isObject(input) ? input.content : undefined
  return Array.isArray(blocks) ? blocks : []
}
