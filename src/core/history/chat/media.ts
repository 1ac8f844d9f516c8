/**
 * Duty: what images, audio and files are: their type by how their bytes begin, their size, and what a person reads of them.
 * MEDIA-1 Bytes decide. A type that somebody says and that the bytes contradict is an error where a message is made, and corrected where it is sent.
 * MEDIA-2 No line for people holds bytes, in whatever form.
 */
import { Buffer } from 'node:buffer'
import type { BlobRef } from '../../blob.ts'
import { isObject } from '../../check/is-object.ts'
import { InputError, LimitError } from '../../errors.ts'
import { policy } from '../../policy.ts'
import type { DeepReadonly } from '../../read-only.ts'
import type { FileBlock, Json, MediaBlock, ToolOutput, UserBlock } from './chat-message.ts'

/** A block with bytes, or with their address. */
export type MediaPart = MediaBlock | FileBlock

interface Beginning {
  readonly mediaType: string
  /** Texts in Latin-1 that the bytes have at these offsets. */
  readonly at: readonly (readonly [offset: number, text: string])[]
}

const beginnings: readonly Beginning[] = [
  { mediaType: 'image/png', at: [[0, '\x89PNG\r\n\x1a\n']] },
  { mediaType: 'image/jpeg', at: [[0, '\xff\xd8\xff']] },
  { mediaType: 'image/gif', at: [[0, 'GIF8']] },
  {
    mediaType: 'image/webp',
    at: [
      [0, 'RIFF'],
      [8, 'WEBP'],
    ],
  },
  { mediaType: 'image/tiff', at: [[0, 'II*\0']] },
  { mediaType: 'image/tiff', at: [[0, 'MM\0*']] },
  { mediaType: 'image/avif', at: [[4, 'ftypavif']] },
  { mediaType: 'image/heic', at: [[4, 'ftyphei']] },
  { mediaType: 'image/heic', at: [[4, 'ftypmif1']] },
  {
    mediaType: 'audio/wav',
    at: [
      [0, 'RIFF'],
      [8, 'WAVE'],
    ],
  },
  { mediaType: 'audio/mpeg', at: [[0, 'ID3']] },
  { mediaType: 'audio/mpeg', at: [[0, '\xff\xfb']] },
  { mediaType: 'audio/flac', at: [[0, 'fLaC']] },
  { mediaType: 'audio/ogg', at: [[0, 'OggS']] },
  { mediaType: 'audio/mp4', at: [[4, 'ftypM4A']] },
  { mediaType: 'video/mp4', at: [[4, 'ftyp']] },
  { mediaType: 'application/pdf', at: [[0, '%PDF-']] },
  { mediaType: 'application/zip', at: [[0, 'PK\x03\x04']] },
  { mediaType: 'application/gzip', at: [[0, '\x1f\x8b']] },
]
/** This many bytes are enough to know a type. */
const headBytes = 16

/** The media type by how the bytes begin. Null if they begin like nothing that is known here, as text does. */
export function mediaTypeByBytes(bytes: Uint8Array): string | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(headBytes, bytes.byteLength)).toString('latin1')
  return beginnings.find(({ at }) => at.every(([offset, text]) => head.startsWith(text, offset)))?.mediaType ?? null
}

/** The same, of bytes in base64. */
function mediaTypeByBase64(base64: string): string | null {
  return mediaTypeByBytes(Buffer.from(base64.slice(0, 24), 'base64'))
}

/** Formats that are a container for many others: their type by name says more. */
const containers = new Set(['application/zip', 'application/gzip', 'audio/ogg', 'video/mp4'])

/** Says what the bytes are, if that contradicts the type that they are said to have. */
export function contradiction(said: string, base64: string): string | null {
  const found = mediaTypeByBase64(base64)
  if (found === null || containers.has(found)) return null
  const plain = (said.split(';', 1)[0] as string)
    .trim()
    .toLowerCase()
    .replace(/^(image)\/jpg$/, '$1/jpeg')
  const [group, form = '*'] = plain.split('/') as [string, string?]
  if (form === '*' || plain === 'application/octet-stream')
    return found.startsWith(`${group}/`) || group === 'application' ? null : found
  const isKnown = beginnings.some(({ mediaType }) => mediaType === plain)
  return isKnown && plain !== found ? found : null
}

const byExtension: ReadonlyMap<string, string> = new Map([
  ['txt', 'text/plain'],
  ['log', 'text/plain'],
  ['md', 'text/markdown'],
  ['csv', 'text/csv'],
  ['html', 'text/html'],
  ['xml', 'application/xml'],
  ['json', 'application/json'],
  ['yaml', 'application/yaml'],
  ['yml', 'application/yaml'],
  ['svg', 'image/svg+xml'],
  ['mp3', 'audio/mpeg'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
])

function isText(bytes: Uint8Array): boolean {
  try {
    return !new TextDecoder('utf-8', { fatal: true }).decode(bytes).includes('\0')
  } catch {
    return false
  }
}

/** The media type of these bytes: what they are by themselves, else what the name says, else text, else any bytes. */
function typeOf(bytes: Uint8Array, filename: string | undefined): string {
  const found = mediaTypeByBytes(bytes)
  const named = byExtension.get(/\.([a-z0-9]+)$/i.exec(filename ?? '')?.[1]?.toLowerCase() ?? '')
  if (found !== null && !(containers.has(found) && named !== undefined)) return found
  return named ?? (isText(bytes) ? 'text/plain' : 'application/octet-stream')
}

export interface MediaOptions {
  /** Default: what the bytes are. */
  readonly mediaType?: string | undefined
  /** Shown to people, and to models that take it. */
  readonly filename?: string | undefined
}

/**
 * A block of an input, from bytes: an image, audio, or a file. Throws an InputError if the bytes contradict `mediaType`, and a LimitError if they are
 * too many.
 */
export function mediaBlock(bytes: Uint8Array, { mediaType: said, filename }: MediaOptions = {}): MediaPart {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  const name = filename ?? 'the medium'
  if (bytes.byteLength === 0) throw new InputError(`${name} is empty.`)
  const real = said === undefined ? null : contradiction(said, data)
  if (real !== null) throw new InputError(`${name} is said to be ${String(said)}, and its bytes are those of ${real}.`)
  const mediaType = said ?? typeOf(bytes, filename)
  if (bytes.byteLength > policy.mediaBytesMax) throw tooLarge(name, bytes.byteLength)
  const named = filename === undefined ? {} : { filename }
  const type = mediaType.split('/', 1)[0]
  if (type === 'image' || type === 'audio') return { type, mediaType, data, ...named }
  return { type: 'file', mediaType, url: `data:${mediaType};base64,${data}`, ...named }
}

function tooLarge(name: string, bytes: number): LimitError {
  return new LimitError('message_too_big', `${name} has ${bytes} bytes; a medium has at most ${policy.mediaBytesMax}.`)
}

/** The block with the type that its bytes have (MEDIA-1). */
export function withRealType(block: MediaPart): MediaPart {
  const real = 'data' in block && block.data !== undefined ? contradiction(block.mediaType, block.data) : null
  return real === null ? block : { ...block, mediaType: real }
}

/** A block of a message; or the name of a blob: the `url` of such a block, or its id. */
export type BlobName = DeepReadonly<MediaPart> | string

export function isMediaPart(block: unknown): block is MediaPart {
  return isObject(block) && (block.type === 'image' || block.type === 'audio' || block.type === 'file')
}

const blobScheme = 'blob:'

/** The id of the blob that has the bytes of this block. Null if the block is no blob. */
export function blobIdOf(block: MediaPart): string | null {
  return block.url?.startsWith(blobScheme) ? block.url.slice(blobScheme.length) : null
}

/** A blob of its session has the bytes of this block. */
export function isBlob(block: UserBlock): boolean {
  return block.type !== 'text' && blobIdOf(block) !== null
}

/** The block by reference: a blob of its session has the bytes. */
export function asBlob({ type, mediaType, filename }: MediaPart, { id, bytes }: BlobRef): MediaPart {
  return { type, mediaType, url: `${blobScheme}${id}`, ...(filename !== undefined && { filename }), bytes }
}

/** The bytes that the block holds. Null if it has an address. */
export function heldBytes(block: MediaPart): Buffer | null {
  const data = 'data' in block && block.data !== undefined ? block.data : block.url
  if (data === undefined) return null
  if (data.startsWith('data:')) {
    const comma = data.indexOf(',')
    const body = data.slice(comma + 1)
    return data.slice(0, comma).endsWith(';base64') ? Buffer.from(body, 'base64') : Buffer.from(decoded(body))
  }
  return data === block.url ? null : Buffer.from(data, 'base64')
}

/** The text of a data URI without base64 is percent-encoded. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The block with these bytes in place of its reference. */
export function withHeldBytes({ type, mediaType, filename }: MediaPart, bytes: Buffer): MediaPart {
  const base64 = bytes.toString('base64')
  const named = filename === undefined ? {} : { filename }
  if (type === 'file') return { type, mediaType, url: `data:${mediaType};base64,${base64}`, ...named }
  return { type, mediaType, data: base64, ...named }
}

/** How many bytes the block holds, itself or as a blob. Null if it has an address elsewhere. */
export function bytesOf(block: MediaPart): number | null {
  if (blobIdOf(block) !== null) return typeof block.bytes === 'number' ? block.bytes : null
  const data = 'data' in block && block.data !== undefined ? block.data : block.url
  if (data === undefined) return null
  const isUri = data.startsWith('data:')
  if (!isUri && data === block.url) return null
  const body = isUri ? data.slice(data.indexOf(',') + 1) : data
  const isPlain = isUri && !data.slice(0, data.indexOf(',')).endsWith(';base64')
  return isPlain ? body.length : Math.floor((body.replace(/=+$/, '').length * 3) / 4)
}

/** `image "a.png" (image/png, 12.3 kB)`: what a person, or a model that cannot take it, reads of it. */
export function mediaLabel(block: MediaPart): string {
  const { type, mediaType, filename } = block
  const bytes = bytesOf(block)
  const name = filename === undefined ? '' : ` ${JSON.stringify(filename.slice(0, 200).toWellFormed())}`
  const facts = [mediaType, bytes === null ? block.url?.slice(0, 200) : sizeText(bytes)]
  return `${type}${name} (${facts.filter((fact) => fact !== undefined && fact !== '').join(', ')})`
}

function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** A replacer for JSON.stringify: media stand as what they are. */
export function withoutBytes(_name: string, value: unknown): unknown {
  if (!isMediaPart(value) || typeof value.mediaType !== 'string') return value
  return bytesOf(value) === null ? value : `[${mediaLabel(value)}]`
}

/** The text that stands for these blocks where only text can stand. */
function textWithMedia(blocks: readonly UserBlock[]): string {
  return blocks.map((block) => (block.type === 'text' ? block.text : `[${mediaLabel(block)}]`)).join('\n')
}

/** Says what is wrong with the media of an input. Null if nothing is. */
export function mediaProblem(blocks: readonly UserBlock[]): string | null {
  const images = blocks.filter(({ type }) => type === 'image').length
  if (images > policy.imagesMax) return `holds ${images} images; a message holds at most ${policy.imagesMax}.`
  for (const [index, block] of blocks.entries()) {
    if (block.type === 'text') continue
    const bytes = bytesOf(block) ?? 0
    if (bytes > policy.mediaBytesMax)
      return `content[${index}] has ${bytes} bytes; a medium has at most ${policy.mediaBytesMax}.`
    const real = 'data' in block && block.data !== undefined ? contradiction(block.mediaType, block.data) : null
    if (real !== null)
      return `content[${index}] is said to be ${block.mediaType}, and its bytes are those of ${real}: write mediaType: '${real}'.`
  }
  return null
}

/** An output as JSON without media: text or blocks are one text. */
export function plainOutputOf(output: ToolOutput): Json {
  return output.type === 'content' ? textWithMedia(output.value) : output.value
}

/** An output as a text. */
export function outputTextOf(output: ToolOutput): string {
  const value = plainOutputOf(output)
  return typeof value === 'string' ? value : JSON.stringify(value)
}
