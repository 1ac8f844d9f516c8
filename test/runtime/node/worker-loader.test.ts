/** Worker files: one file, one kind; each wrong file is named with what is wrong. */
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { loadWorkers, readWorkers } from '../../../src/runtime/node/worker-loader.ts'

const source = new URL('../../../src/index.ts', import.meta.url).pathname
const worker = `import { defineWorker } from ${JSON.stringify(source)}\nexport default defineWorker({ receive(m, self) { self.reply(m.value) } })\n`

async function inFolder(files: Record<string, string>, look: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-workers-'))
  try {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true })
      await writeFile(join(folder, name), text)
    }
    await look(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

describe('loadWorkers', () => {
  test('loadWorkers takes the path of a file below the folder as its kind [2.20]', () =>
    inFolder({ 'reader.ts': worker, 'team/lead.mts': worker, 'team/deep/member_1.ts': worker }, async (folder) => {
      expect([...(await loadWorkers(folder)).keys()].sort()).toEqual(['reader', 'team/deep/member_1', 'team/lead'])
    }))

  test('loadWorkers takes CommonJS files, as they are written and as a compiler writes them', () => {
    const made = `require(${JSON.stringify(source)}).defineWorker({ receive(m, self) { self.reply(m.value) } })`
    const compiled = `Object.defineProperty(exports, '__esModule', { value: true })\nexports.default = ${made}`
    return inFolder({ 'written.cjs': `module.exports = ${made}`, 'compiled.cjs': compiled }, async (folder) => {
      expect([...(await loadWorkers(folder)).keys()].sort()).toEqual(['compiled', 'written'])
    })
  })

  test('loadWorkers passes over helpers, tests, declarations and other files', () =>
    inFolder(
      {
        'reader.ts': worker,
        '_shared.ts': 'throw new Error("a helper was loaded")',
        '_parts/part.ts': 'throw new Error("a helper was loaded")',
        '.hidden.ts': 'throw new Error("a hidden file was loaded")',
        'reader.test.ts': 'throw new Error("a test was loaded")',
        'types.d.ts': 'export type A = 1',
        'notes.md': '# notes',
        'node_modules/x/index.js': 'throw new Error("a package was loaded")',
      },
      async (folder) => {
        expect([...(await loadWorkers(folder)).keys()]).toEqual(['reader'])
      },
    ))

  test.each([
    ['a file that does not parse', { 'broken.ts': 'export default {{{' }, 'broken.ts'],
    ['a file that throws', { 'throws.ts': 'throw new Error("no database")' }, 'no database'],
    ['a file that throws no Error', { 'throws.ts': "throw 'no database'" }, 'cannot be loaded: no database.'],
    ['a file without a default export', { 'none.ts': 'export const worker = 1' }, 'it exports worker'],
    ['a file that exports nothing', { 'empty.ts': '' }, 'it exports nothing'],
    ['a default export that is no definition', { 'plain.ts': 'export default { receive() {} }' }, 'something else'],
    ['a name that is no kind', { 'Reader Two.ts': worker }, 'Reader Two.ts'],
    ['a name in capitals', { 'Counter.ts': worker }, 'a lower-case letter or a digit first'],
    ['a folder name that is no kind', { 'My Team/lead.ts': worker }, 'lead.ts'],
    ['a kind that is defined twice', { 'reader.ts': worker, 'reader.mjs': worker }, 'defined twice'],
    [
      'a definition with an unknown field',
      { 'odd.ts': worker.replace('receive', 'timeout: 1, receive') },
      'does not know the field "timeout"',
    ],
  ] as [string, Record<string, string>, string][])('loadWorkers refuses %s and names it', (_, files, named) =>
    inFolder(files, async (folder) => {
      await expect(loadWorkers(folder)).rejects.toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining(named),
      })
    }),
  )

  test('loadWorkers names a file that waits at its top level for something that never comes', () =>
    inFolder({ 'a.ts': worker }, async (folder) => {
      // The file and its imports are loaded before: now only the second file takes long.
      await loadWorkers(folder)
      await writeFile(join(folder, 'stuck.ts'), `await new Promise(() => {})\n${worker}`)
      await expect(loadWorkers(folder, 500)).rejects.toThrow(
        /stuck\.ts cannot be loaded: Error: it awaits something at its top level that did not come within 0\.5 s\.$/,
      )
    }))

  test('loadWorkers leaves no timer for the time that a file may take', () =>
    inFolder({ 'reader.ts': worker }, async (folder) => {
      // Tests before this one in the same process may have left timers, which end at any time.
      using set = vi.spyOn(globalThis, 'setTimeout')
      using cleared = vi.spyOn(globalThis, 'clearTimeout')
      await loadWorkers(folder, 600_000)
      const begun = set.mock.calls.flatMap(([, ms], index) => (ms === 600_000 ? [set.mock.results[index]?.value] : []))
      expect(begun).toHaveLength(1)
      expect(cleared.mock.calls.flat()).toContain(begun[0])
    }))

  test('loadWorkers says where a missing package is looked for', () =>
    inFolder({ 'a.mjs': "import 'no-such-package'\nexport default 1" }, async (folder) => {
      await expect(loadWorkers(folder)).rejects.toThrow(
        /a\.mjs cannot be loaded: .*Cannot find package 'no-such-package'.* Type `npm install no-such-package` in the folder of the worker files, or in one above it\.$/,
      )
    }))

  test('loadWorkers says for a missing folder, or a file in its place, what to give instead', () =>
    inFolder({ 'reader.ts': worker }, async (folder) => {
      const advice = 'name another one with --workers, TROUPE_WORKERS, or workers of startNode.'
      await expect(loadWorkers(join(folder, 'none'))).rejects.toMatchObject({
        code: 'config_invalid',
        message: `there is no workers folder ${join(folder, 'none')}: make it, or ${advice}`,
      })
      await expect(loadWorkers(join(folder, 'reader.ts'))).rejects.toMatchObject({
        message: `the workers folder ${join(folder, 'reader.ts')} is no folder: ${advice}`,
      })
      await symlink('round', join(folder, 'round'))
      await expect(loadWorkers(join(folder, 'round'))).rejects.toMatchObject({
        message: `the workers folder ${join(folder, 'round')} cannot be read (ELOOP).`,
      })
    }))

  test('loadWorkers refuses a missing folder and names it', async () => {
    await expect(loadWorkers('/no/such/folder')).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('/no/such/folder'),
    })
  })
})

describe('readWorkers', () => {
  test('readWorkers loads every file that can be loaded, and says for each other file what is wrong', () =>
    inFolder({ 'fine.ts': worker, 'wrong.ts': 'export default {{{', 'none.ts': '' }, async (folder) => {
      const { kinds, broken, skipped } = await readWorkers(folder)
      expect([...kinds.keys()]).toEqual(['fine'])
      expect([...broken.keys()].sort()).toEqual(['none', 'wrong'])
      expect(broken.get('wrong')?.message).toContain('wrong.ts')
      expect(skipped).toEqual([])
    }))

  test('readWorkers follows links to folders and files, and passes over a link to a folder that it lies in', () =>
    inFolder(
      { 'elsewhere/_shared/reader.ts': worker, 'elsewhere/one.ts': worker, 'own.ts': worker },
      async (folder) => {
        await mkdir(join(folder, 'workers'))
        await symlink('../elsewhere/_shared', join(folder, 'workers/team'))
        await symlink('../elsewhere/one.ts', join(folder, 'workers/linked.ts'))
        await symlink('..', join(folder, 'elsewhere/_shared/up'))
        await symlink('.', join(folder, 'workers/again'))
        const { kinds, broken, skipped } = await readWorkers(join(folder, 'workers'))
        expect([...broken]).toEqual([])
        expect([...kinds.keys()].sort()).toEqual(['linked', 'team/reader', 'team/up/one'])
        expect(skipped).toHaveLength(1)
        expect(skipped[0]).toContain('workers/again is passed over: it is a link to a folder that it lies in.')
      },
    ))

  test.each(['view.tsx', 'view.jsx'])('readWorkers names %s as passed over', (name) =>
    inFolder({ [name]: worker, 'own.ts': worker, 'view.test.tsx': '' }, async (folder) => {
      const { kinds, skipped } = await readWorkers(folder)
      expect([...kinds.keys()]).toEqual(['own'])
      expect(skipped).toEqual([
        `${join(folder, name)} is passed over: Node runs no JSX. Write it as a .ts or .js file, or compile it.`,
      ])
    }),
  )

  test('readWorkers opens only regular files: not a pipe, a device or a link to nothing', () =>
    inFolder({ 'own.ts': worker }, async (folder) => {
      execFileSync('mkfifo', [join(folder, 'pipe.ts')])
      await symlink('/dev/zero', join(folder, 'device.ts'))
      await symlink('gone.ts', join(folder, 'link.ts'))
      const { kinds, broken } = await readWorkers(folder)
      expect([...kinds.keys()]).toEqual(['own'])
      const said = Object.fromEntries([...broken].map(([kind, { message }]) => [kind, message.split('.ts is ')[1]]))
      expect(said).toEqual({
        pipe: 'no regular file but a pipe: remove it, or put a file there.',
        device: 'no regular file but a device: remove it, or put a file there.',
        link: 'a link to nothing.',
      })
    }))
})

/** A socket is, like a pipe, a file that nobody can load. */
function listenAt(path: string): Promise<void> {
  const server = createServer()
  onTestFinished(() => void server.close())
  return new Promise((resolve) => server.listen(path, resolve))
}

test.each([
  ['a socket', (path: string) => listenAt(path), /is no regular file/],
  ['a link to a device', (path: string) => symlink('/dev/zero', path), /is no regular file/],
  ['a link to nothing', (path: string) => symlink('/nowhere/at/all.ts', path), /is a link to nothing/],
])('a worker file that is %s is refused, and not waited for', async (_, make, why) => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-workers-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await make(join(folder, 'x.ts'))
  await expect(loadWorkers(folder)).rejects.toThrow(why)
})
