/** What a model reads of a long result: a part, or what stands around a text. */
import { expect, test } from 'vitest'
import { readResult } from '../../../../../src/runtime/agent/call/local/long-results.ts'

type Input = { readonly offset?: number; readonly length?: number; readonly search?: string }

/** Reads of a blob with this text, as a model would. */
function reading(text: string, mediaType = 'text/plain') {
  const bytes = Buffer.from(text)
  const tool = readResult({
    find: async (_, id) => (id === 'b' ? { id, mediaType, bytes: bytes.length } : null),
    read: async (_, __, range) => (range ? bytes.subarray(range.offset, range.offset + range.length) : bytes),
  })
  return (input: Input, id = 'b') => tool.run({ id, ...input } as never, { sessionId: 's' } as never) as Promise<string>
}

test.each([
  [{ offset: 1, length: 3 }, 'bcd\n[Bytes 1 to 4 of 6. Go on with offset 4.]'],
  [{ offset: 3, length: 9 }, 'def\n[Bytes 3 to 6 of 6. This is the end.]'],
  [{ offset: 6 }, '[The result has 6 bytes: there is nothing from byte 6 on.]'],
])('of a result of six bytes, %j reads %j', async (input, read) => {
  expect(await reading('abcdef')(input)).toBe(read)
})

test('a part begins and ends with whole characters, and the next one goes on behind it', async () => {
  const read = reading('a😀é')
  expect(await read({ length: 2 })).toBe('a😀\n[Bytes 0 to 5 of 7. Go on with offset 5.]')
  expect(await read({ offset: 2, length: 3 })).toBe('\n[Bytes 5 to 5 of 7. Go on with offset 5.]')
  expect(await read({ offset: 5 })).toBe('é\n[Bytes 5 to 7 of 7. This is the end.]')
})

test('a search finds the text in capitals or not from an offset on, and shows twenty places', async () => {
  const read = reading(`é ${'Needle '.repeat(25)}`)
  const found = await read({ search: 'needle' })
  expect(found).toMatch(/^\["needle" stands there 25 times\. The first 20 are shown: go on with a higher offset\.\]\n/)
  expect(found.match(/^\[at byte \d+\]/gm)).toEqual(Array.from({ length: 20 }, (_, nth) => `[at byte ${3 + 7 * nth}]`))
  expect(await read({ search: 'needle', offset: 4 + 7 * 23 })).toMatch(
    /^\["needle" stands there once\.\]\n\[at byte 171\]/,
  )
  expect(await read({ search: 'hay', offset: 9 })).toBe('["hay" does not stand in the result from byte 9 on.]')
})

test('what is no text, or is not kept in the session, is refused', async () => {
  await expect(reading('x', 'image/png')({})).rejects.toThrow('"b" is image/png of 1 bytes, and no text.')
  await expect(reading('x')({}, 'c')).rejects.toThrow('no result with the id "c" is kept in this session.')
})
