/** The arguments of a call in the editor of a person: what comes back, what is refused, and that no file is left. */
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { editArguments } from '../../../src/cli/terminal/edit-arguments.ts'

afterEach(() => vi.unstubAllEnvs())

const approval = {
  arguments: { cents: 5 },
  schema: {
    type: 'object',
    properties: {
      decision: { type: 'string' },
      arguments: { type: 'object', properties: { cents: { type: 'integer' } }, required: ['cents'] },
    },
  },
}

/** An editor in which a person writes these texts, one each time; null: it ends with an error. Returns what it was given, and what was said. */
async function edited(...texts: (string | null)[]) {
  const folder = await mkdtemp(join(tmpdir(), 'editor-'))
  const [program, seen] = ['editor.mjs', 'seen.ndjson'].map((name) => join(folder, name)) as [string, string]
  await writeFile(
    program,
    `import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
const [file] = process.argv.slice(3)
const nth = existsSync(${JSON.stringify(seen)}) ? readFileSync(${JSON.stringify(seen)}, 'utf8').split('\\n').length - 1 : 0
const mode = (statSync(file).mode & 0o777).toString(8)
appendFileSync(${JSON.stringify(seen)}, JSON.stringify({ file, mode, text: readFileSync(file, 'utf8') }) + '\\n')
const text = ${JSON.stringify(texts)}[nth]
if (text === null) process.exit(1)
writeFileSync(file, text)
`,
  )
  vi.stubEnv('VISUAL', '')
  vi.stubEnv('EDITOR', `${process.execPath} ${program} --wait`)
  const said: string[] = []
  using _ = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0)
  const value = await editArguments(approval as never).catch(({ message }: Error) => message)
  const given = (await readFile(seen, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { file: string })
  for (const { file } of given) expect(existsSync(join(file, '..'))).toBe(false)
  return { value, given, said: said.join('') }
}

test('the arguments that a person leaves in the editor are used; only the person can read the file, and it is removed (EDIT-2)', async () => {
  const { value, given, said } = await edited('{"cents":7}')
  expect([value, said]).toEqual([{ cents: 7 }, ''])
  expect(given).toMatchObject([{ mode: '600', text: '{\n  "cents": 5\n}\n' }])
})

test('a person who wrote something else is told what is wrong, and the editor opens again with it (EDIT-1)', async () => {
  const { value, given, said } = await edited('{"cents":"many"}', 'nonsense', '{"cents":8}')
  expect(value).toEqual({ cents: 8 })
  expect(given).toMatchObject([{}, { text: '{"cents":"many"}' }, { text: 'nonsense' }])
  expect(said).toMatch(
    /^troupe: what you wrote .*cents.*; the editor opens again\ntroupe: this is no JSON .*; the editor opens again\n$/,
  )
})

test.each([
  [['nonsense', 'nonsense'], /^the arguments were not used: this is no JSON /],
  [[null], /^the editor .* ended with an error: nothing was decided\.$/],
])('an editor that is left with %j ends it, and no file stays', async (texts, why) => {
  expect((await edited(...texts)).value).toMatch(why)
})

test('an editor that cannot be started is named, with what to do', async () => {
  vi.stubEnv('VISUAL', '')
  vi.stubEnv('EDITOR', '/no/editor')
  await expect(editArguments(approval as never)).rejects.toThrow(
    /^the editor \/no\/editor cannot be started .*: set EDITOR\.$/,
  )
})
