/**
 * Duty: count newline characters (byte 0x0A), four bytes at a time.
 * `word ^ pattern` has a zero byte for each byte of the word that is 0x0A. The usual test for zero bytes turns it into a one in that byte of `sums`.
 * A byte of `sums` can count 255 words before it overflows.
 */
const newline = 0x0a
const pattern = 0x0a0a0a0a
const wordsPerSum = 255

export function countNewlines(bytes: Uint8Array, start = 0, end = bytes.length): number {
  const misaligned = (bytes.byteOffset + start) % 4
  const from = misaligned === 0 ? start : Math.min(end, start + 4 - misaligned)
  const words = Math.max(0, (end - from) >> 2)
  let count = countBytes(bytes, start, from)
  if (words > 0) count += countWords(new Int32Array(bytes.buffer, bytes.byteOffset + from, words))
  return count + countBytes(bytes, from + words * 4, end)
}

function countWords(words: Int32Array): number {
  let count = 0
  for (let at = 0; at < words.length; ) {
    const stop = Math.min(words.length, at + wordsPerSum)
    let sums = 0
    for (; at < stop; at++) {
      const word = (words[at] as number) ^ pattern
      const isZero = ~(((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word | 0x7f7f7f7f)
      sums = (sums + ((isZero >>> 7) & 0x01010101)) | 0
    }
    count += (sums & 255) + ((sums >>> 8) & 255) + ((sums >>> 16) & 255) + (sums >>> 24)
  }
  return count
}

function countBytes(bytes: Uint8Array, start: number, end: number): number {
  let count = 0
  for (let at = start; at < end; at++) if (bytes[at] === newline) count++
  return count
}
