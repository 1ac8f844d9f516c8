/** What `troupe new` refuses, and the names that it makes. */
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCommandLine } from '../../../src/cli/program.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-new-'))
})
afterEach(() => rm(folder, { recursive: true }))

const make = (path: string, ...args: string[]) =>
  runCommandLine(['new', join(folder, path), '--yes', '--no-install', '--json', ...args])

test('a folder that is not empty is left as it is', async () => {
  await writeFile(join(folder, 'notes.md'), 'mine')
  expect(await make('')).toBe(2)
  expect(await make('notes.md')).toBe(2)
  expect(await readdir(folder)).toEqual(['notes.md'])
})

test('a folder that cannot be made is said to be so, and is no fault of troupe', async () => {
  await symlink(join(folder, 'gone', 'away'), join(folder, 'link'))
  expect(await make('link')).toBe(2)
})

test.runIf(existsSync('/proc/self'))(
  'a folder below one where nothing can be made is refused, and not tried for ever',
  async () => {
    expect(await runCommandLine(['new', '/proc/x', '--yes', '--no-install', '--json'])).toBe(2)
  },
)

test('a name that no worker can have is refused before anything is written', async () => {
  expect(await make('a', '--name', 'Not A Kind')).toBe(2)
  expect(await make('a', '--kind', 'robot')).toBe(2)
  expect(await readdir(folder)).toEqual([])
})

test('the package has the name of the folder, and a worker in a folder finds what it imports', async () => {
  expect(await make('My Shop!', '--name', 'sales/clerk')).toBe(0)
  const read = (path: string) => readFile(join(folder, 'My Shop!', path), 'utf8')
  expect(JSON.parse(await read('package.json'))).toMatchObject({ name: 'my-shop' })
  expect(await read('workers/sales/clerk.ts')).toContain("from '../../tools/shop.ts'")
  expect(await read('test/sales/clerk.test.ts')).toContain("from '../../workers/sales/clerk.ts'")
})
