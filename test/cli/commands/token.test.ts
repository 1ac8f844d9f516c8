/** What `troupe token` writes into the file of access tokens, and what it refuses. */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { readEntries, Tokens } from '../../../src/api/guard/tokens.ts'
import { runCommandLine } from '../../../src/cli/program.ts'

let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-token-'))
  file = join(folder, 'tokens.json')
})
afterEach(() => rm(folder, { recursive: true }))

/** Runs `troupe token …` with this file. */
async function token(verb: string, args: readonly string[] = [], at = file) {
  const [out, err]: [string[], string[]] = [[], []]
  using _out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => out.push(String(text)) > 0)
  using _err = vi.spyOn(process.stderr, 'write').mockImplementation((text) => err.push(String(text)) > 0)
  const code = await runCommandLine(['token', verb, ...args, '--file', at])
  return { code, out: out.join(''), err: err.join('') }
}

test('create prints the token once, and the file recognises it without holding it', async () => {
  const { code, out } = await token('create', ['ci', '--rights', 'operate,decide'])
  expect(code).toBe(0)
  const text = await readFile(file, 'utf8')
  expect(text).not.toContain(out.trim())
  expect(new Tokens(readEntries(text, file)).callerOf(out.trim())).toEqual({
    name: 'ci',
    rights: ['operate', 'decide'],
  })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await token('list')).toMatchObject({ code: 0, out: 'ci  operate, decide\n' })
})

test('a name that is taken, that cannot be one, or a right that does not exist changes nothing', async () => {
  await token('create', ['ci', '--rights', 'read'])
  const before = await readFile(file, 'utf8')
  expect(await token('create', ['ci', '--rights', 'admin'])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/has a token named ci: remove it first/),
  })
  expect(await token('create', ['a b', '--rights', 'read'])).toMatchObject({ code: 2, out: '' })
  expect(await token('create', ['ada', '--rights', 'write'])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/Expected some of read, operate, decide, admin/),
  })
  expect(await token('create', ['ada', '--rights', 'read', '--kinds', ''])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/Expected names with commas between them/),
  })
  expect(await readFile(file, 'utf8')).toBe(before)
})

test('a wrong option is repeated without the password in it', async () => {
  const { code, err } = await token('create', ['ada', '--rights', 'https://ada:hidden@example.com'])
  expect(code).toBe(2)
  expect(err).toContain('https://ada:')
  expect(err).not.toContain('hidden')
})

test('tokens that are made at the same time are all in the file (TOKEN-FILE-2)', async () => {
  const names = ['a', 'b', 'c', 'd']
  using _out = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  using _err = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  await Promise.all(names.map((name) => runCommandLine(['token', 'create', name, '--rights', 'read', '--file', file])))
  const made = readEntries(await readFile(file, 'utf8'), file).map(({ name }) => name)
  expect(made.toSorted()).toEqual(names)
  expect(await readdir(folder)).toEqual(['tokens.json'])
})

test('remove takes the token back, and lists the existing ones if none has this name', async () => {
  expect(await token('remove', ['ci'])).toMatchObject({ code: 2, err: expect.stringMatching(/there is no token file/) })
  const { out } = await token('create', ['ci', '--rights', 'read'])
  expect(await token('remove', ['cj'])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/has no token named cj; .* Did you mean ci\?/),
  })
  expect(await token('remove', ['ci'])).toMatchObject({ code: 0 })
  expect(new Tokens(readEntries(await readFile(file, 'utf8'), file)).callerOf(out.trim())).toBeUndefined()
})

test('a file that cannot be read or written is a wrong set-up, and stays as it is', async () => {
  await writeFile(file, 'not JSON')
  expect(await token('create', ['ci', '--rights', 'read'])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/is no JSON/),
  })
  expect(await readFile(file, 'utf8')).toBe('not JSON')
  expect(await token('list', [], folder)).toMatchObject({
    code: 2,
    err: expect.stringMatching(/cannot be read \(EISDIR\)/),
  })
  const nowhere = join(folder, 'nowhere', 'tokens.json')
  expect(await token('create', ['ci', '--rights', 'read'], nowhere)).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(/cannot be written \(ENOENT\).*--file/),
  })
  expect(await readdir(folder)).toEqual(['tokens.json'])
})

test('create writes each part of a ceiling, and list shows it', async () => {
  const ceiling = {
    kinds: ['clerk', 'shop/till'],
    models: ['openai/gpt-5'],
    queues: ['results'],
    limits: { tokens: 50_000 },
    perHour: { sessions: 9, tokens: 1_000_000 },
    permissions: { tools: ['pay'] },
  }
  const flags = [
    '--kinds',
    'clerk,shop/till',
    '--models',
    'openai/gpt-5',
    '--queues',
    'results',
    '--limit',
    'tokens=50000',
  ]
  const most = ['--per-hour', 'sessions=9,tokens=1000000', '--permissions', 'tools=pay']
  await token('create', ['ci', '--rights', 'operate', ...flags, ...most])
  expect(readEntries(await readFile(file, 'utf8'), file)).toMatchObject([{ name: 'ci', ceiling }])
  const { out } = await token('list', ['--json'])
  expect(JSON.parse(out)).toEqual({ type: 'token', name: 'ci', rights: ['operate'], ceiling })
})

test('an error repeats no characters that a terminal obeys', async () => {
  const { err } = await token('remove', ['ci'], join(folder, 'a\u001b[2J\u202eb'))
  expect(err).toContain('there is no token file')
  expect(err).not.toMatch(/\u001b\[2J|\u202e/)
})
