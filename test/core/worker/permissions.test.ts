/** Permissions: their text, what they may hold, and what a worker may pass on to a child. */
import { describe, expect, test } from 'vitest'
import { InputError } from '../../../src/core/errors.ts'
import {
  checkPermissions,
  commonPermissions,
  decodePermissions,
  encodePermissions,
  isPermissionsText,
  isWithinFolder,
  isWithinSend,
  narrowPermissions,
  type Permissions,
} from '../../../src/core/worker/permissions.ts'

const ids = { one: '0199f3a2-5c1e-8b04-9d68-3e0f7a21c000', other: '0199f3a2-5c1e-8b04-9d68-3e0f7a21c001' } as const

test.each<[Permissions, string]>([
  [{}, ''],
  [{ tools: [] }, 'tools'],
  [{ tools: ['a', 'b/c'], kinds: ['d'], folder: '/e f/g' }, 'tools a b/c\nkinds d\nfolder /e f/g'],
])('permissions %j are written as %j and read again', (permissions, text) => {
  expect(encodePermissions(permissions)).toBe(text)
  expect(decodePermissions(text)).toEqual(permissions)
  expect(isPermissionsText(text)).toBe(text !== '')
})

test.each([
  '',
  'nonsense',
  '{"tools":[]}',
  'tools a\ttools',
  'tools  a',
  'tools a\ntools a b',
  'kinds a\ntools b',
  'folder',
  'folder d',
  'models small',
])('the text %j is no text of permissions', (text) => {
  expect(isPermissionsText(text)).toBe(false)
})

describe('checkPermissions', () => {
  test('checkPermissions returns permissions that a record can hold', () => {
    const permissions = { tools: ['read_file', 'a-b'], kinds: [], folder: '/d' }
    expect(checkPermissions(permissions)).toBe(permissions)
    const largest = { tools: Array.from({ length: 256 }, (_, index) => `t${index}`), folder: `/${'x'.repeat(4_095)}` }
    expect(checkPermissions(largest)).toBe(largest)
  })

  test.each([
    [{ tools: ['a b'] }, /permissions\.tools/],
    [{ tools: ['a\nfolder /'] }, /permissions\.tools/],
    [{ tools: 'a' }, /permissions\.tools/],
    [{ tools: [5] }, /^permissions\.tools is a list of names, not \[5\]\.$/],
    [{ kinds: [null] }, /permissions\.kinds/],
    [{ kinds: [''] }, /permissions\.kinds/],
    [{ folder: 'relative' }, /permissions\.folder/],
    [{ folder: '/a\ntools' }, /permissions\.folder/],
    [{ tool: ['a'] }, /permissions\.tool is no restriction; there are tools, kinds, folder/],
  ])('checkPermissions refuses %j and says what is wrong', (permissions, told) => {
    const check = () => checkPermissions(permissions as Permissions)
    expect(check).toThrow(InputError)
    expect(check).toThrow(told)
  })
})

test.each<[string, object, RegExp]>([
  [
    'a list',
    { tools: Array.from({ length: 257 }, (_, index) => `t${index}`) },
    /tools has 257 names; the limit is 256\.$/,
  ],
  ['a list of what are no names', { kinds: Array.from({ length: 100_000 }, () => 'a b') }, /kinds is a list of names/],
  [
    'a list of ids',
    { send: Array.from({ length: 257 }, () => '0199f3a2-5c1e-8b04-9d68-3e0f7a21c000') },
    /send has 257 ids; the limit is 256\.$/,
  ],
  ['a path', { folder: `/${'x'.repeat(4_096)}` }, /folder is an absolute path of at most 4096 bytes/],
  ['what is no path', { folder: 'x'.repeat(100_000) }, /folder is an absolute path/],
  ['an unknown restriction', { ['x'.repeat(100_000)]: [] }, /is no restriction/],
])('%s that is too long is refused in few words', (_, permissions, told) => {
  const check = () => checkPermissions(permissions)
  expect(check).toThrow(told)
  expect(check).toThrow(/^.{1,250}$/)
})

describe('narrowPermissions', () => {
  test('narrowPermissions keeps of two lists what both name, and a list that only one side has', () => {
    expect(narrowPermissions({ tools: ['a', 'b'] }, { tools: ['b', 'c'], kinds: ['d'] })).toEqual({
      tools: ['b'],
      kinds: ['d'],
      folder: undefined,
    })
    const restricted = { tools: ['a'], kinds: [], folder: '/d' }
    expect(narrowPermissions(restricted, {})).toEqual(restricted)
  })

  test('narrowPermissions takes the narrower folder if there is one', () => {
    expect(narrowPermissions({ folder: '/d' }, {})).toMatchObject({ folder: '/d' })
    expect(narrowPermissions({ folder: '/d' }, { folder: '/d/e' })).toMatchObject({ folder: '/d/e' })
  })
})

test('a folder is within another by its text: the same, or below without a step up', () => {
  expect(isWithinFolder('/d/e', '/d')).toBe(true)
  expect(isWithinFolder('/d', '/d/')).toBe(true)
  expect(isWithinFolder('/de', '/d')).toBe(false)
  expect(isWithinFolder('/d/../e', '/d')).toBe(false)
  // A backslash leads down where the outer one begins with a drive, and is a letter of a name anywhere else.
  expect(isWithinFolder('C:\\d\\e', 'C:\\d')).toBe(true)
  expect(isWithinFolder('C:\\d\\..\\e', 'C:\\d')).toBe(false)
  expect(isWithinFolder('/d\\e', '/d')).toBe(false)
})

test.each([
  ['/', '/'],
  ['//', '/'],
  ['/'.repeat(4_090), '/'],
  [`${'/'.repeat(4_000)}x`, '/x'],
  ['/d/', '/d'],
  ['/d//e///f', '/d/e/f'],
  ['/d/./e/.', '/d/e'],
  ['/d/../e', '/e'],
  ['/../..', '/'],
  ['/d/...', '/d/...'],
  ['/d\\e', '/d\\e'],
  ['C:\\', 'C:\\'],
  ['C:\\d\\\\e\\', 'C:\\d\\e'],
  ['C:/d/../e', 'C:\\e'],
])('the folder %j is kept as %j, which is not changed again', (folder, plain) => {
  expect(checkPermissions({ folder })).toEqual({ folder: plain })
  expect(checkPermissions({ folder: plain })).toEqual({ folder: plain })
})

test('a folder of many slashes is compared in one pass', () => {
  const slashes = '/'.repeat(1_000_000)
  expect(isWithinFolder(`${slashes}x/y`, `${slashes}x`)).toBe(true)
})

test.each(['/proc', '/proc/1/environ', '/sys/', '/srv/../dev'])('no worker may use the system folder %s', (folder) => {
  expect(() => checkPermissions({ folder })).toThrow('no worker may use /proc, /sys, /dev.')
})

test.each(['/process', '/srv/dev', '/sys.old'])('the folder %s is no system folder', (folder) => {
  expect(checkPermissions({ folder })).toEqual({ folder })
})

test.each<[string, Permissions, Permissions | null, Permissions]>([
  ['nothing restricts more', { tools: ['a'] }, null, { tools: ['a'] }],
  ['the folder of the sender is narrower', { folder: '/a' }, { folder: '/a/b' }, { folder: '/a/b' }],
  ['the folder of the sender is wider', { folder: '/a/b' }, { folder: '/a' }, { folder: '/a/b' }],
  ['no folder is common', { folder: '/a', tools: ['a'] }, { folder: '/b' }, { folder: '/a', tools: [], kinds: [] }],
])('of two permissions holds what both permit, if %s (PERMISSIONS-4)', (_, own, other, common) => {
  expect(commonPermissions(own, other)).toEqual(common)
})

test('a list of no workers is written as a word, and who may send to all is within nobody else', () => {
  expect(encodePermissions({ send: [] })).toBe('send none')
  expect(isWithinSend(undefined, 'session')).toBe(false)
})

test.each<[Permissions['send'], Permissions['send'], boolean]>([
  ['family', 'session', true],
  ['session', 'family', false],
  [[ids.one], [ids.one, ids.other], true],
  [[ids.one, ids.other], [ids.one], false],
  [[ids.one], 'session', false],
  ['family', [ids.one], false],
  ['none', [ids.one], true],
  [[], 'none', true],
  [[ids.one], undefined, true],
])('whether who may send to %j may send to nobody beyond %j: %j', (send, outer, isWithin) => {
  expect(isWithinSend(send, outer)).toBe(isWithin)
})
