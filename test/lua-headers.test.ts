/** Each Lua file agrees with its header and its descriptor; and each disagreement would be noticed. */
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scriptLibrary } from '../src/store/script/script-source.ts'
import * as scripts from '../src/store/script/scripts.ts'
import { disagreements, type LuaScript } from './architecture/lua-header.ts'

const folder = new URL('../src/store/lua/', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, folder), 'utf8')
const shared = globSync('shared/**/*.lua', { cwd: folder }).map(read).join('\n')
/** Where each script is, by its name. */
const paths = new Map(
  globSync('**/*.lua', { cwd: folder, exclude: ['shared/**'] }).map((path) => [basename(path), path] as const),
)
const descriptors = Object.values(scripts)

describe('the scripts', () => {
  test('each file has one descriptor, and each descriptor a file', () => {
    expect(descriptors.map(({ file }) => file).sort()).toEqual([...paths.keys()].sort())
  })

  test.each(descriptors)(
    'the script $file does what its header and its descriptor say',
    ({ file, keys, header, fields, args }) => {
      expect(
        disagreements({ file, text: read(paths.get(file) as string), shared, keys, header, fields, args }),
      ).toEqual([])
    },
  )

  test('no Lua file is longer than 400 lines', () => {
    const long = globSync('**/*.lua', { cwd: folder }).filter((path) => read(path).trimEnd().split('\n').length > 400)
    expect(long).toEqual([])
  })

  test('shared Lua functions call no script function themselves and use no KEYS or ARGV', () => {
    const code = shared.replace(/--\[\[[\s\S]*?\]\]/g, '').replace(/--[^\n]*/g, '')
    expect(code).not.toMatch(/\b(KEYS|ARGV)\b/)
    expect(code).not.toMatch(/^redis\.call/m)
  })

  test.each(descriptors)(
    'the script $file gets the shared functions that it uses, before their use, and no others',
    ({ source }) => {
      const code = source.replace(/--\[\[[\s\S]*?\]\]/g, '').replace(/--[^\n]*/g, '')
      const faults = [...shared.matchAll(/^local (function )?(\w+)/gm)].flatMap(([, isFunction, name]) => {
        const [first, ...more] = [...code.matchAll(new RegExp(`\\b${name}\\b`, 'g'))]
        if (first === undefined) return []
        const before = code.slice(code.lastIndexOf('\n', first.index) + 1, first.index)
        if (!/^ *local /.test(before)) return [`${name} is used and not declared before`]
        return isFunction && before === 'local function ' && more.length === 0
          ? [`${name} is there and never used`]
          : []
      })
      expect(faults).toEqual([])
    },
  )

  test('the library has each script as a function, each text once, and no comments', () => {
    const { name, text } = scriptLibrary
    expect(text.startsWith(`#!lua name=${name}\n`)).toBe(true)
    const registered = [...text.matchAll(/^redis\.register_function\{ function_name = '(\w+)'/gm)].map(
      ([, functionName]) => String(functionName),
    )
    expect(registered.sort()).toEqual(descriptors.map(({ functionName }) => functionName).sort())
    const declared = [...text.matchAll(/^local function (\w+)/gm)].map(([, one]) => one)
    expect(declared).toEqual([...new Set(declared)])
    expect(text).not.toMatch(/--(\[\[|\s)/)
  })

  test('libraries with different texts have different names: Redis keeps the first one of a name', () => {
    const { name, text } = scriptLibrary
    const digest = createHash('sha1').update(text.replaceAll(name, '')).digest('hex')
    expect(name).toBe(`troupe_${digest.slice(0, 12)}`)
  })

  test('no script sends error replies or reads a clock but the one of Redis', () => {
    for (const { file, source } of descriptors)
      expect({ file, found: /\b(cmsgpack|error_reply|os\.)/.exec(source)?.[0] }).toEqual({ file })
  })

  test('a script without a header takes at most five arguments, and no list', () => {
    for (const { file, header, args, source } of descriptors) {
      if (header.length > 0) continue
      expect({ file, isFew: args.length <= 5, isListed: /= ARGV\b(?!\[)/.test(source) }).toEqual({
        file,
        isFew: true,
        isListed: false,
      })
    }
  })

  test('the only JSON that a script decodes is the header of its arguments', () => {
    for (const { file, source, header } of descriptors) {
      const decoded = source.match(/\bcjson\b(?!\.(?:encode|null)\b).*/g) ?? []
      const read = source.match(/\breadHeader\([^)]*\)/g) ?? []
      const own = header.length > 0
      expect({ file, decoded, read }).toEqual({
        file,
        decoded: own ? ["cjson.decode, text or '')"] : [],
        read: own ? ['readHeader(text)', 'readHeader(ARGV[1])'] : [],
      })
    }
  })
})

/** A script that agrees with itself. */
const good: LuaScript = {
  file: 'move.lua',
  keys: ['record', 'run'],
  header: [],
  args: ['worker', 'leaseMs', 'items'],
  shared: ["local function planMail(tag)\n  if tag then return nil, 'not_found' end\n  return { 'moved' }\nend"].join(
    '\n',
  ),
  text: `--[[ move – moves something.
Why a script   because.
KEYS[1] record   hash      KEYS[2] run   zset   declared
ARGV[1] worker   ARGV[2] leaseMs
ARGV[3] items    count, then each
Returns {"ok", wake-ups} | {"fenced"} | {"not_found"}
Builds  T:w:<id>, T:dead.
Events  none. ]]
local recordKey = KEYS[1]
local worker, leaseMs = ARGV[1], tonumber(ARGV[2])
local lists, cursor = ARGV, 3

-- KEYS and ARGV in a comment are fine.
local plan, why = planMail(recordKey)
if not plan then return { why } end
if worker then return { 'fenced' } end
redis.call('DEL', tag .. ':dead', tag .. ':run:default', workerKey(tag, lists[cursor]))
return { 'ok', leaseMs }
`,
}

const withHeader: LuaScript = {
  file: 'walk.lua',
  keys: ['record'],
  header: ['node', 'steps'],
  fields: { steps: ['how'] },
  args: [],
  shared: 'local function goBack(step)\n  step.length = 1\n  return step.haste, step.length\nend\n',
  text: `--[[ walk – walks.
Why a script   because.
KEYS[1] record   hash
ARGV[1] header   json:
  node         who asks
  steps        each:
    how        a word
Returns {"ok"}
Events  none. ]]
local recordKey = KEYS[1]
local header = readHeader(ARGV[1])

for _, step in ipairs(header.steps) do redis.call(recordKey, header.node, step.how) end
return { 'ok' }
`,
}

describe('a disagreement is noticed:', () => {
  test('a script that agrees with its header brings no report', () => {
    expect(disagreements(good)).toEqual([])
  })

  test.each<[what: string, from: string, to: string, told: RegExp]>([
    ['another name', '--[[ move', '--[[ shift', /does not begin with its name/],
    ['no reason', 'Why a script', 'Because', /no line "Why a script"/],
    [
      'another key',
      'KEYS[1] record ',
      'KEYS[1] session',
      /the header has KEYS 1 session, 2 run; the descriptor 1 record/,
    ],
    ['a key too many', 'KEYS[2] run   zset   declared', 'KEYS[2] run zset declared KEYS[3] log list declared', /3 log/],
    ['other numbers', 'ARGV[1] worker   ARGV[2] leaseMs', 'ARGV[2] worker   ARGV[1] leaseMs', /the header has ARGV/],
    ['another local for a key', 'local recordKey', 'local logKey', /KEYS\[1\] record is bound to the name logKey/],
    [
      'another local for an argument',
      'local worker, leaseMs',
      'local node, leaseMs',
      /ARGV\[1\] worker is bound to the name node/,
    ],
    ['a key that is not bound', 'KEYS[2] run   zset   declared', 'KEYS[2] run   zset', /KEYS\[2\] run is not bound/],
    [
      'a declared key that is bound',
      'local recordKey = KEYS[1]',
      'local recordKey, runKey = KEYS[1], KEYS[2]',
      /declared and yet bound/,
    ],
    [
      'an argument that is never used',
      "return { 'ok', leaseMs }",
      "return { 'ok' }",
      /leaseMs is bound and never used/,
    ],
    ['a cursor that begins elsewhere', 'lists, cursor = ARGV, 3', 'lists, cursor = ARGV, 4', /the cursor begins at 4/],
    ['a list without a word', 'count, then each', '', /is not explained/],
    ['ARGV further down', "return { 'fenced' }", "return { 'fenced', ARGV[1] }", /below the first lines/],
    ['a word nobody returns', '{"fenced"}', '{"fenced"} | {"again"}', /"again" is documented and never returned/],
    ['a word nobody documented', '{"fenced"} | ', '', /"fenced" is returned and not documented/],
    ['a word of a helper nobody documented', ' | {"not_found"}', '', /"not_found" is returned and not documented/],
    [
      'a word of a helper whose answer is passed on',
      "return { 'ok', leaseMs }",
      'local answer = planMail(recordKey)\nredis.call(leaseMs)\nreturn answer',
      /"moved" is returned and not documented/,
    ],
    ['a key that is built unsaid', ', T:dead', '', /builds T:dead, which the header does not list/],
    ['a key that is said and not built', 'T:dead', 'T:dead, T:leases', /lists T:leases, which is never built/],
  ])('%s', (_, from, to, told) => {
    expect(good.text).toContain(from)
    expect(disagreements({ ...good, text: good.text.replace(from, to) }).join('\n')).toMatch(told)
  })

  test.each<[what: string, from: string, to: string, told: RegExp]>([
    [
      'a field nobody explained',
      '  node         who asks\n',
      '',
      /descriptor has a field node of the header, which is not explained/,
    ],
    [
      'a field the descriptor does not have',
      '    how        a word',
      '    how        a word\n    why        a word',
      /header's steps has a field why/,
    ],
    [
      'a field that is explained under another list',
      '    how        a word',
      '  how          a word',
      /the header has a field how/,
    ],
    ['a field that is never read', 'step.how', 'step', /the field how is explained and never read/],
    ['a field that is read unsaid', 'header.node', 'header.nodes', /the field nodes is read and not explained/],
    [
      'a field of an item that is read unsaid',
      'step.how',
      'step.how .. step.speed',
      /the field speed of the header's steps is read and not explained/,
    ],
    [
      'a field of an item that a helper reads unsaid',
      'step.how',
      'step.how, goBack(step)',
      /^the field haste of the header's steps is read and not explained$/,
    ],
    [
      'a field of an item of a list under another name',
      'for _, step in ipairs(header.steps)',
      "local moves = listOf(header, 'steps')\nredis.call(moves[1], move.speed)\nfor _, step in ipairs(header.steps)",
      /the field speed of the header's steps is read and not explained/,
    ],
  ])('a disagreement in the JSON header is noticed: %s', (_, from, to, told) => {
    expect(disagreements(withHeader)).toEqual([])
    expect(withHeader.text).toContain(from)
    expect(disagreements({ ...withHeader, text: withHeader.text.replace(from, to) }).join('\n')).toMatch(told)
  })

  test('a missing header is noticed', () => {
    expect(disagreements({ ...good, text: 'return 1' })).toEqual(['has no header'])
  })
})
