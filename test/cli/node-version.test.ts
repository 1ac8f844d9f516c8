/** The command line on a Node that is too old, of which npm only warns at installation. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, test } from 'vitest'
import { Project } from './command-line.ts'

/** What Node 20 does not have. */
const without = 'delete(Map.groupBy);delete(Object.groupBy);delete(Promise.withResolvers)'
/** Makes Node report another version. */
const pretending = (version: string) =>
  `--import=data:text/javascript,Object.defineProperty(process.versions,'node',{value:'${version}'});${Number.parseInt(version, 10) < 24 ? without : ''}`

const tooOld =
  /^troupe: this is Node \d+\.\d+\.\d+, and troupe needs 24\.12 or later: put that one first on the PATH\.\n$/

test.each(['20.20.2', '22.99.0'])('a command on Node %s asks for a newer Node, and does nothing', async (version) => {
  await using project = await Project.create({}, { NODE_OPTIONS: pretending(version) })
  const { code, stdout, stderr } = await project.run(['tools', '--json'])
  expect(stderr).toMatch(tooOld)
  expect(stderr).toContain(version)
  expect(JSON.parse(stdout)).toMatchObject({ type: 'error', code: 'config_invalid' })
  expect(code).toBe(2)
  expect(await project.run(['--help'])).toMatchObject({ code: 2, stdout: '', stderr })
})

test('an old Node can read all that is loaded before the Node is checked', async () => {
  const dist = join(inject('folder'), 'programs', 'dist')
  const entries = ['index.js', 'api/index.js', 'testing/index.js', 'cli/main.js']
  const files = new Set(entries.map((entry) => join(dist, entry)))
  const unreadable: string[] = []
  for (const file of files) {
    const text = await readFile(file, 'utf8')
    if (/^\s*(?:await )?using \w/m.test(text)) unreadable.push(file)
    for (const [, name = ''] of text.matchAll(/^import .*?"(\.+\/.+)";$/gm)) files.add(join(dirname(file), name))
  }
  expect(unreadable).toEqual([])
  expect(files.size).toBeGreaterThan(entries.length)
})

test.each(['24.0.0', '24.12.0', '100.1.0'])('a command on Node %s works', async (version) => {
  await using project = await Project.create({}, { NODE_OPTIONS: pretending(version) })
  await project.write(
    'workers/echo.ts',
    `import { defineWorker } from 'troupe'\nexport default defineWorker({ receive() {} })`,
  )
  expect(await project.run(['tools'])).toMatchObject({ code: 0 })
})

test('what is called of the package on an old Node gives the same sentence as the command, where Node lacks functions', async () => {
  await using project = await Project.create({}, {})
  const [index, api, testing] = ['index', 'api/index', 'testing/index'].map((entry) =>
    JSON.stringify(new URL(`../../src/${entry}.ts`, import.meta.url).href),
  )
  await project.write(
    'use.mjs',
    `const { startNode, connect } = await import(${index})
     const { startApi } = await import(${api})
     const { testHandler, testAgent, testTroupe, crashMatrix } = await import(${testing})
     const calls = [() => startNode({ workers: {} }), () => connect(), () => startApi(), testHandler, testAgent, testTroupe, crashMatrix]
     for (const call of calls) await call().catch((error) => console.log(error.code, error.message))`,
  )
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--conditions=troupe-source', pretending('20.20.2'), 'use.mjs'],
    { cwd: project.folder },
  )
  const sentence =
    'config_invalid this is Node 20.20.2, and troupe needs 24.12 or later: put that one first on the PATH.\n'
  expect({ stdout, stderr }).toEqual({ stdout: sentence.repeat(7), stderr: '' })
})

test('an exit code that a worker file sets is not that of the command', async () => {
  await using project = await Project.create({}, {})
  await project.write(
    'workers/sets.ts',
    `import { defineWorker } from 'troupe'\nprocess.exitCode = 9\nexport default defineWorker({ receive() {} })`,
  )
  expect(await project.run(['tools'])).toMatchObject({ code: 0 })
})

test('the tests above match the Node version in package.json', async () => {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  expect((JSON.parse(text) as { engines: { node: string } }).engines.node).toBe('>=24.12')
})
