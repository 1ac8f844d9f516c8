/** What `troupe` loads to do little things: others wait for it at each start. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Tells which parts of src/ the command loads. */
function loadedBy(...args: string[]): Promise<string[]> {
  return told({ ...process.env, NODE_OPTIONS: '' }, args)
}

async function told(env: NodeJS.ProcessEnv, args: readonly string[]): Promise<string[]> {
  const flags = ['--conditions=troupe-source', '--import', `${root}test/programs/preload/tell-loaded.ts`]
  const { stderr } = await promisify(execFile)(process.execPath, [...flags, ...args], { cwd: root, env })
  return JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '')
}

const rooms = (loaded: readonly string[]) => loaded.filter((name) => name.startsWith('src/'))
const packages = (loaded: readonly string[]) => loaded.filter((name) => !name.startsWith('src/'))

test('the help of the command line loads commander and small files (PROG-1)', async () => {
  const loaded = await loadedBy('src/cli/main.ts', '--help')
  expect(packages(loaded)).toEqual(['commander', 'uuid'])
  expect(rooms(loaded)).toEqual([
    'src/api',
    'src/cli',
    'src/client',
    'src/config.ts',
    'src/core',
    'src/node-version.ts',
    'src/store',
    'src/words',
  ])
})

test('the help of the command line that tests start loads few files', async () => {
  const files = await told(process.env, ['src/cli/main.ts', '--help'])
  expect(files).toContain('dist/cli/main.js')
  expect(files.filter((file) => !file.startsWith('dist/'))).toEqual([])
  expect(files.length).toBeLessThan(40)
})

test('a program that only defines workers loads neither Redis nor BullMQ, and no server', async () => {
  const loaded = await loadedBy(
    '--input-type=module',
    '--eval',
    "import { defineWorker } from 'troupe'; defineWorker({ receive() {} })",
  )
  expect(packages(loaded)).toEqual(['uuid', 'zod'])
  expect(rooms(loaded)).toEqual(['src/client', 'src/core', 'src/index.ts', 'src/node-version.ts'])
})
