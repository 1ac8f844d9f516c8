/** Duty: media within a text: data URIs, and what sort of image base64 holds. */
import type { MediaBlock } from '../../core/history/chat/chat-message.ts'

const form = /^data:([^;,]*)((?:;[^;,]*)*);base64,(.*)$/s

/** An image or a sound at an address, which may hold the data itself. */
export function mediaAt(type: MediaBlock['type'], url: string, mediaType = `${type}/*`): MediaBlock {
  const [, given = '', , data] = form.exec(url) ?? []
  if (data === undefined) return { type, mediaType, url }
  const said = given || mediaType
  return { type, mediaType: said === 'image/*' ? imageTypeOf(data) : said, data }
}

export function addressOf({ mediaType, data, url }: MediaBlock): string {
  return data === undefined ? (url ?? '') : `data:${mediaType};base64,${data}`
}

/** The parts of a data URI; null for any other address. */
export function dataOf(url: string): { readonly mediaType: string; readonly data: string } | null {
  const [, mediaType = '', , data] = form.exec(url) ?? []
  return data === undefined ? null : { mediaType, data }
}

const beginnings: readonly (readonly [begins: string, mediaType: string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
]

/** The type of an image, by how its data begins. */
export function imageTypeOf(base64: string): string {
  return beginnings.find(([begins]) => base64.startsWith(begins))?.[1] ?? 'image/*'
}
