/** What an author may write of the context of an agent, and what is refused with the name of the setting. */
import { expect, test } from 'vitest'
import { checkContext } from '../../../../src/core/definition/agent/context-settings.ts'
import { ConfigError } from '../../../../src/core/errors.ts'

const patterns = (count: number) => ({ files: Array.from({ length: count }, (_, index) => `${index}.md`) })

test.each([
  ['a list', [], 'context must be an object'],
  ['an unknown name', { file: [] }, /context does not know "file".* Did you mean files/],
  ['one path in place of a list', { files: 'README.md' }, 'context.files must be a list'],
  ['an empty path', { files: [''] }, 'context.files must be a list'],
  ['more than 1000 paths', patterns(1_001), 'context.files must be a list'],
  ['a path of more than 1000 characters', { files: ['x'.repeat(1_001)] }, 'context.files must be a list'],
  ['no file at all', { filesMax: 0 }, 'context.filesMax must be a whole number from 1 to 1000, not 0'],
  ['too many files', { filesMax: 1_001 }, 'context.filesMax must be a whole number from 1 to 1000, not 1001'],
  ['too many bytes of a file', { fileBytesMax: 1_000_001 }, 'context.fileBytesMax must be a whole number from 1'],
  ['too many bytes of all files', { bytesMax: 4_000_001 }, 'context.bytesMax must be a whole number from 1'],
  ['a time that is a text', { time: 'now' }, 'context.time must be true or false, not "now"'],
  ['a fact that is no function', { facts: { branch: 'main' } }, 'context.facts must be functions by name'],
])('a context with %s is refused by its name', (_, context, message) => {
  expect(() => checkContext(context)).toThrow(ConfigError)
  expect(() => checkContext(context)).toThrow(message)
})

test.each([
  undefined,
  {},
  patterns(1_000),
  { files: ['x'.repeat(1_000)], filesMax: 1_000, fileBytesMax: 1_000_000, bytesMax: 4_000_000 },
  { time: false, facts: { branch: () => 'main' } },
])('a context at its bounds is taken', (context) => {
  expect(() => checkContext(context)).not.toThrow()
})
