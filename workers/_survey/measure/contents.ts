/**
 * Duty: find identical files by the hash of their content, in a form that is small enough for messages.
 * A content is a size and the first seven bytes of its SHA-256. A packed list of contents holds each once with the number of
 * files that have it, the biggest first (then by digest), as base64 of records of about nine bytes:
 *
 *     varint(difference to the size before * 2 + hasCopies)  [varint(files)]  digest
 *
 * The list is limited: only the biggest contents that fit into `packedBytesMax` are kept, some 50 000.
 * CONTENTS-1 Merging is associative and does not depend on order. A content is dropped only if larger contents fill the list. The larger contents
 *            are also in every list into which it is merged, so the number of files of each kept content is right.
 * CONTENTS-2 Empty files are not counted as contents, because they are all alike.
 */

const digestBytes = 7
const packedBytesMax = 450_000

/** A size and a digest. Files with both in common count as identical. */
export interface Content {
  readonly size: number
  /** Seven bytes, one character each. */
  readonly digest: string
  readonly files: number
}

/** The digest of a content, from its SHA-256 as a string with a character for each byte. */
export function cutDigest(sha256: string): string {
  return sha256.slice(0, digestBytes)
}

export function keyOf(content: { readonly size: number; readonly digest: string }): string {
  return `${content.digest}${content.size}`
}

/** Collects the contents of one reading. */
export class ContentCollector {
  readonly #prunedAt: number
  #contents = new Map<string, { size: number; digest: string; files: number }>()

  /** Bounds the memory: when there are `prunedAt` contents, those that would be dropped anyway are removed. */
  constructor(prunedAt = 4 * Math.ceil(packedBytesMax / (digestBytes + 1))) {
    this.#prunedAt = prunedAt
  }

  add(size: number, digest: string): void {
    const key = keyOf({ size, digest })
    const known = this.#contents.get(key)
    if (known !== undefined) {
      known.files++
      return
    }
    if (this.#contents.size >= this.#prunedAt) {
      this.#contents = new Map([...unpack(this.pack())].map((content) => [keyOf(content), { ...content }]))
    }
    this.#contents.set(key, { size, digest, files: 1 })
  }

  pack(): string {
    const packer = new Packer()
    for (const content of [...this.#contents.values()].sort(compare)) if (!packer.add(content)) break
    return packer.finish()
  }
}

export const noContents = ''

export function mergeContents(left: string, right: string): string {
  if (left === noContents) return right
  if (right === noContents) return left
  const packer = new Packer()
  const lefts = unpack(left)
  const rights = unpack(right)
  let a = lefts.next().value
  let b = rights.next().value
  while (a !== undefined || b !== undefined) {
    const order = a === undefined ? 1 : b === undefined ? -1 : compare(a, b)
    const next = order <= 0 ? (a as Content) : (b as Content)
    const files = order === 0 ? (a as Content).files + (b as Content).files : next.files
    if (!packer.add({ size: next.size, digest: next.digest, files })) break
    if (order <= 0) a = lefts.next().value
    if (order >= 0) b = rights.next().value
  }
  return packer.finish()
}

/** From the biggest to the smallest. */
export function* unpack(packed: string): Generator<Content, undefined> {
  const bytes = Buffer.from(packed, 'base64')
  let at = 0
  let size = 0
  const readNumber = () => {
    let value = 0
    for (let unit = 1; ; unit *= 128) {
      const byte = bytes[at++]
      if (byte === undefined) throw new Error('a list of contents is cut off')
      value += (byte & 127) * unit
      if (byte < 128) return value
    }
  }
  for (let isFirst = true; at < bytes.length; isFirst = false) {
    const head = readNumber()
    const step = Math.floor(head / 2)
    size = isFirst ? step : size - step
    const files = head % 2 === 1 ? readNumber() : 1
    const digest = bytes.toString('latin1', at, at + digestBytes)
    at += digestBytes
    yield { size, digest, files }
  }
  return undefined
}

class Packer {
  readonly #bytes = Buffer.allocUnsafe(packedBytesMax)
  #at = 0
  #size = -1

  /** False if the list is full. */
  add(content: Content): boolean {
    const step = this.#size < 0 ? content.size : this.#size - content.size
    const hasCopies = content.files > 1
    // Sizes are below 2 ** 52, so a number takes at most eight bytes.
    const head: number[] = []
    pushNumber(head, step * 2 + (hasCopies ? 1 : 0))
    if (hasCopies) pushNumber(head, content.files)
    if (this.#at + head.length + digestBytes > packedBytesMax) return false
    for (const byte of head) this.#bytes[this.#at++] = byte
    this.#at += this.#bytes.write(content.digest, this.#at, 'latin1')
    this.#size = content.size
    return true
  }

  finish(): string {
    return this.#bytes.toString('base64', 0, this.#at)
  }
}

function pushNumber(bytes: number[], value: number): void {
  let rest = value
  while (rest >= 128) {
    bytes.push((rest % 128) + 128)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
}

function compare(a: Content, b: Content): number {
  if (a.size !== b.size) return b.size - a.size
  if (a.digest === b.digest) return 0
  return a.digest < b.digest ? -1 : 1
}
