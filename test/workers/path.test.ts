import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  comparePaths,
  cutPath,
  decodePath,
  encodePath,
  fromBytes,
  fromText,
  joinPath,
  namesOf,
  previewBytesMax,
  showPath,
  toBytes,
  topPath,
} from '../../workers/_survey/tree/path.ts'

const anyBytes = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes))
const text = fc.string({ unit: 'binary', maxLength: 30 }).map((value) => Buffer.from(value))
const bytes = fc.oneof(anyBytes, text)

describe('a path of bytes', () => {
  test('a path of bytes goes through a message unchanged (PATH-1)', () => {
    fc.assert(
      fc.property(bytes, (value) => {
        const sent = JSON.parse(JSON.stringify(encodePath(fromBytes(value)))) as ReturnType<typeof encodePath>
        expect(toBytes(decodePath(sent))).toEqual(value)
      }),
    )
  })

  test('a path of bytes is readable in a message if it is text', () => {
    expect(encodePath(fromText('src/über 文.ts'))).toBe('src/über 文.ts')
    expect(encodePath(fromBytes(Buffer.from([0xff])))).toEqual({ base64: '/w==' })
    expect(encodePath(fromText('a\nb'))).toEqual({ base64: 'YQpi' })
  })

  test('a path of bytes is shown on one line of visible characters, and unlike any other path (PATH-2)', () => {
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        expect(showPath(fromBytes(a))).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
        expect(showPath(fromBytes(a)) === showPath(fromBytes(b))).toBe(a.equals(b))
      }),
    )
  })

  test('a path of bytes is shown with escapes', () => {
    expect(showPath(fromText('a b/ü文'))).toBe('a b/ü文')
    expect(showPath(fromText('a\nb\tc\\d\u001b[0m'))).toBe('a\\nb\\tc\\\\d\\x1b[0m')
    expect(showPath(fromBytes(Buffer.from([0x61, 0xff, 0xc3])))).toBe('a\\xff\\xc3')
    expect(showPath(fromText('\u202egpj.exe\u200b'))).toBe('\\u{202e}gpj.exe\\u{200b}')
  })

  test('a path of bytes is ordered by bytes', () => {
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        expect(comparePaths(fromBytes(a), fromBytes(b))).toBe(Buffer.compare(a, b))
      }),
    )
  })

  test('a path of bytes is joined and taken apart', () => {
    expect(joinPath(topPath, fromText('a'))).toBe('a')
    expect(joinPath(fromText('a'), fromText('b'))).toBe('a/b')
    expect(namesOf(fromText('a/b'))).toEqual(['a', 'b'])
    expect(namesOf(topPath)).toEqual([])
  })

  test('a path of bytes is cut for a list if it is long', () => {
    const long = fromText(`start${'x'.repeat(5_000)}end`)
    expect(cutPath(long)).toMatch(/^start.*end$/s)
    expect(cutPath(long)).toHaveLength(previewBytesMax)
    expect(cutPath(fromText('short'))).toBe('short')
  })
})
