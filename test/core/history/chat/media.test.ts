/** Media: bytes say what they are, limits are named, and no line for people holds bytes. */
import { describe, expect, test } from 'vitest'
import {
  bytesOf,
  heldBytes,
  mediaBlock,
  mediaLabel,
  mediaProblem,
  mediaTypeByBytes,
} from '../../../../src/core/history/chat/media.ts'
import { chat } from '../../../../src/core/history/chat/message-factories.ts'
import type { Entry } from '../../../../src/core/history/entry.ts'
import { policy } from '../../../../src/core/policy.ts'
import { entryLine } from '../../../../src/words/lines/entry-line.ts'
import { valueLine } from '../../../../src/words/lines/message-line.ts'

const latin = (text: string) => Buffer.from(text, 'latin1')
const png = latin('\x89PNG\r\n\x1a\n\0\0\0\rIHDR')

test.each([
  ['data:image/svg+xml,%3Csvg%20a=%22%C3%A4%22/%3E', '<svg a="ä"/>'],
  ['data:text/plain,100%', '100%'],
  ['data:text/plain;base64,aGk=', 'hi'],
])('the bytes of %s', (url, text) => {
  expect(heldBytes({ type: 'file', mediaType: 'x/y', url })?.toString()).toBe(text)
})

describe('the type of bytes', () => {
  test.each<[string, string | null]>([
    ['\x89PNG\r\n\x1a\n', 'image/png'],
    ['\xff\xd8\xff\xe0', 'image/jpeg'],
    ['GIF89a', 'image/gif'],
    ['RIFF\x24\0\0\0WEBPVP8 ', 'image/webp'],
    ['RIFF\x24\0\0\0WAVEfmt ', 'audio/wav'],
    ['ID3\x04', 'audio/mpeg'],
    ['fLaC\0', 'audio/flac'],
    ['\0\0\0\x20ftypavif', 'image/avif'],
    ['\0\0\0\x20ftypM4A ', 'audio/mp4'],
    ['%PDF-1.7', 'application/pdf'],
    ['PK\x03\x04', 'application/zip'],
    ['hello', null],
    ['', null],
  ])('%j is %s', (begins, mediaType) => {
    expect(mediaTypeByBytes(latin(begins))).toBe(mediaType)
  })
})

describe('a block from bytes', () => {
  test('a block from bytes has the type of the bytes, and the name of the file', () => {
    expect(mediaBlock(png, { filename: 'a.png' })).toEqual({
      type: 'image',
      mediaType: 'image/png',
      data: png.toString('base64'),
      filename: 'a.png',
    })
    expect(mediaBlock(latin('RIFF\x24\0\0\0WAVEfmt '))).toMatchObject({ type: 'audio', mediaType: 'audio/wav' })
    expect(mediaBlock(latin('%PDF-1.7'), { filename: 'b.pdf' })).toMatchObject({
      type: 'file',
      mediaType: 'application/pdf',
      url: `data:application/pdf;base64,${latin('%PDF-1.7').toString('base64')}`,
    })
  })

  test('a block from bytes takes its type from the extension, or is text, if the bytes say nothing', () => {
    const typeOf = (bytes: Uint8Array, filename?: string) => mediaBlock(bytes, { filename }).mediaType
    expect(typeOf(Buffer.from('a,b'), 'a.CSV')).toBe('text/csv')
    expect(typeOf(Buffer.from('hello'))).toBe('text/plain')
    expect(typeOf(latin('\xfe\0\x01'))).toBe('application/octet-stream')
    expect(typeOf(latin('PK\x03\x04'), 'a.docx')).toContain('wordprocessingml')
  })

  test('a block from bytes is refused if its type contradicts the bytes, if it is empty, and if it is too large [1.35]', () => {
    expect(() => mediaBlock(png, { mediaType: 'image/jpeg', filename: 'a.jpg' })).toThrow(
      'a.jpg is said to be image/jpeg, and its bytes are those of image/png.',
    )
    expect(() => mediaBlock(Buffer.alloc(0))).toThrow('the medium is empty.')
    expect(() => mediaBlock(Buffer.alloc(policy.mediaBytesMax + 1), { filename: 'big' })).toThrow(
      `big has ${policy.mediaBytesMax + 1} bytes; a medium has at most ${policy.mediaBytesMax}.`,
    )
  })
})

test('an input says which of its media is wrong, and how many images it may hold [1.35]', () => {
  const image = { type: 'image', mediaType: 'image/png', data: png.toString('base64') } as const
  expect(mediaProblem(Array.from({ length: 10 }, () => image))).toBeNull()
  expect(mediaProblem(Array.from({ length: 11 }, () => image))).toBe('holds 11 images; a message holds at most 10.')
  expect(
    mediaProblem([
      { type: 'text', text: 'x' },
      { ...image, mediaType: 'image/gif' },
    ]),
  ).toContain("content[1] is said to be image/gif, and its bytes are those of image/png: write mediaType: 'image/png'.")
  for (const mediaType of ['image/png', 'image/*', 'IMAGE/PNG; q=1', 'image'])
    expect(mediaProblem([{ ...image, mediaType }])).toBeNull()
})

describe('what people read of a medium', () => {
  test('the text that people read for a medium is its type, its name and its size', () => {
    expect(mediaLabel(mediaBlock(png, { filename: 'a.png' }))).toBe('image "a.png" (image/png, 16 B)')
    expect(mediaLabel(mediaBlock(Buffer.alloc(2_345_678, 'a'), { filename: 'b.txt' }))).toBe(
      'file "b.txt" (text/plain, 2.3 MB)',
    )
    expect(mediaLabel({ type: 'audio', mediaType: 'audio/wav', url: 'https://example.test/a.wav' })).toBe(
      'audio (audio/wav, https://example.test/a.wav)',
    )
    expect(bytesOf({ type: 'file', mediaType: 'text/plain', url: 'data:,hello' })).toBe(5)
  })

  test('the text that people read for a medium never holds its bytes: in histories, in values, in results of tools', () => {
    const block = mediaBlock(Buffer.concat([png, Buffer.alloc(900)]), { filename: 'a.png' })
    const head = { v: 1, run: 1, epoch: 1 }
    const said = { ...chat.user([{ type: 'text', text: 'look' }, block]), ...head } as Entry
    const result = {
      ...chat.tool('c', 'x', { toolName: 't' }),
      ...head,
      output: { type: 'content', value: [{ type: 'text', text: 'here' }, block] },
    } as unknown as Entry
    const received = {
      type: 'received',
      at: 1,
      ...head,
      message: { kind: 'input', id: 'i', from: null, value: { content: [block] }, facts: {} },
    } as unknown as Entry
    for (const entry of [said, result, received]) {
      expect(entryLine(0, entry)).toContain(
        'image "a.png" (image/png, 916 B)'.replaceAll('"', entry === received ? '\\"' : '"'),
      )
      expect(entryLine(0, entry)).not.toContain('iVBOR')
    }
    expect(valueLine([block])).not.toContain('iVBOR')
  })
})
