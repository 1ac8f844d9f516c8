/** Globs over names of tools, as rules of approvals have them. */
import { expect, test } from 'vitest'
import { isAboutTool } from '../../../../src/core/definition/tool/tool-glob.ts'

test.each([
  ['read_*', 'read_file', true],
  ['read_*', 'Read_file', false],
  ['*', '', true],
  ['*_file', 'read_file', true],
  ['*_file', 'read_files', false],
  ['get_?', 'get_a', true],
  ['get_?', 'get_', false],
  ['{read,list}_*', 'list_mail', true],
  ['{read,list}_*', 'send_mail', false],
  ['{re*,?}_x', 'read_x', true],
  ['{re*,?}_x', 'a_x', true],
])('the glob %j and the tool %j: %j', (glob, tool, isAbout) => {
  expect(isAboutTool(glob, tool)).toBe(isAbout)
})

test('a glob of many stars is compared with a long name at once', () => {
  expect(isAboutTool(`${'*a'.repeat(100)}b`, 'a'.repeat(64))).toBe(false)
  expect(isAboutTool('{*a,a*}'.repeat(30), 'a'.repeat(64))).toBe(true)
})
