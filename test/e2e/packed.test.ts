/** The tarball that `npm pack` makes, put into an empty folder: what it holds, and that it works there. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { newNamespace } from '../support/namespace.ts'
import { PackedProject } from '../support/packed-project.ts'

interface Manifest {
  readonly version: string
  readonly bin: Readonly<Record<string, string>>
  readonly os?: unknown
  readonly cpu?: unknown
  readonly scripts: Readonly<Record<string, string>>
}

let project: PackedProject
let manifest: Manifest
let files: string[]

beforeAll(async () => {
  project = await PackedProject.create({ TROUPE_REDIS_URL: inject('redisUrl'), TROUPE_NAMESPACE: newNamespace() })
  manifest = JSON.parse(await readFile(join(project.package, 'package.json'), 'utf8')) as Manifest
  const found = await readdir(project.package, { recursive: true, withFileTypes: true })
  files = found
    .filter((one) => one.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(project.package.length + 1))
})
afterAll(() => project[Symbol.asyncDispose]())

test('it holds the build and the example, and nothing that is made for one system', () => {
  const rooms = new Set(files.map((file) => (file.includes('/') ? file.slice(0, file.indexOf('/')) : file)))
  expect([...rooms].filter((room) => !/^(?:README|LICENSE|CHANGELOG)/.test(room)).sort()).toEqual([
    'dist',
    'package.json',
    'workers',
  ])
  expect(
    files.filter((file) => !/\.(?:js|ts|md|json)$|^LICENSE$|^dist\/page\/.*\.(?:html|css|svg)$/.test(file)),
  ).toEqual([])
  expect(manifest).not.toHaveProperty('os')
  expect(manifest).not.toHaveProperty('cpu')
  expect(Object.keys(manifest.scripts).filter((name) => /install/.test(name))).toEqual([])
})

test('its command can be started as it is', async () => {
  const command = join(project.package, manifest.bin.troupe as string)
  expect((await readFile(command, 'utf8')).split('\n')[0]).toMatch(/^#!\/usr\/bin\/env /)
  expect((await stat(command)).isFile()).toBe(true)
})

test('`troupe --help` names the commands, and `troupe --version` the version', async () => {
  const help = await project.troupe(['--help'])
  expect(help).toMatchObject({ code: 0, stderr: '' })
  expect(help.stdout).toMatch(/Usage: troupe.*\brun\b.*\bnode\b.*\bdoctor\b/s)
  expect((await project.troupe(['--version'])).stdout.trim()).toBe(manifest.version)
})

test('a worker of a few lines runs', async () => {
  await project.write(
    'workers/hello.ts',
    `import { defineWorker } from 'troupe'
export default defineWorker({ receive: (message, self) => self.reply(\`hello \${message.value}\`) })
`,
  )
  expect(await project.troupe(['run', 'hello', 'you'])).toMatchObject({ code: 0, stdout: 'hello you\n' })
})
