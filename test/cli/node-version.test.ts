/** The command line on a Node that is too old, of which npm only warns at installation. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { Project } from './command-line.ts'

/** Makes Node report another version. */
const pretending = (version: string) =>
  `--import=data:text/javascript,Object.defineProperty(process.versions,'node',{value:'${version}'})`

const tooOld =
  /^troupe: this is Node \d+\.\d+\.\d+, and troupe needs 24\.12 or later: put that one first on the PATH\.\n$/

test.each(['20.20.2', '22.99.0'])('on Node %s a command asks for a newer Node, and does nothing', async (version) => {
  await using project = await Project.create({}, { NODE_OPTIONS: pretending(version) })
  const { code, stdout, stderr } = await project.run(['tools', '--json'])
  expect(stderr).toMatch(tooOld)
  expect(stderr).toContain(version)
  expect(JSON.parse(stdout)).toMatchObject({ type: 'error', code: 'config_invalid' })
  expect(code).toBe(2)
  expect(await project.run(['--help'])).toMatchObject({ code: 0, stderr: '' })
})

test.each(['24.0.0', '24.12.0', '100.1.0'])('on Node %s a command works', async (version) => {
  await using project = await Project.create({}, { NODE_OPTIONS: pretending(version) })
  await project.write(
    'workers/echo.ts',
    `import { defineWorker } from 'troupe'\nexport default defineWorker({ receive() {} })`,
  )
  expect(await project.run(['tools'])).toMatchObject({ code: 0 })
})

test('the tests above match the Node version in package.json', async () => {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  expect((JSON.parse(text) as { engines: { node: string } }).engines.node).toBe('>=24.12')
})
