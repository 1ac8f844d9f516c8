/** `--attach`: files behind the text of an input. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { withAttachments } from '../../src/cli/input.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-attach-'))
afterAll(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'a.txt')
writeFileSync(path, 'hello')
const attached = { type: 'file', mediaType: 'text/plain', url: 'data:text/plain;base64,aGVsbG8=', filename: 'a.txt' }
const text = { type: 'text', text: 'What is this?' }

test.each<[string, unknown, unknown]>([
  ['a text', 'What is this?', { content: [text, attached] }],
  ['nothing', null, { content: [attached] }],
  ['content blocks', { content: [text] }, { content: [text, attached] }],
  ['a list of content blocks', [text], { content: [text, attached] }],
  ['any other list', [text, 1], { content: [{ type: 'text', text: JSON.stringify([text, 1]) }, attached] }],
  ['any JSON', { a: 1 }, { content: [{ type: 'text', text: '{"a":1}' }, attached] }],
])('%s and a text file become content blocks', async (_what, input, sent) => {
  expect(await withAttachments(input, { attach: [path] })).toEqual(sent)
  expect(await withAttachments(input, {})).toBe(input)
})

test('a file that is not there is named', async () => {
  await expect(withAttachments('a', { attach: [join(folder, 'none.png')] })).rejects.toThrow('there is no such file')
})
