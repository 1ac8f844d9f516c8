/** The tarball that `npm pack` makes, put into an empty folder: what it holds, and that it works there. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { newNamespace } from '../../support/namespace.ts'
import { PackedProject } from '../../support/package/packed-project.ts'

interface Manifest {
  readonly version: string
  readonly bin: Readonly<Record<string, string>>
  readonly os?: unknown
  readonly cpu?: unknown
  readonly scripts: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, unknown>>
}

const compiler = join(createRequire(import.meta.url).resolve('typescript/package.json'), '..', 'bin', 'tsc')

let project: PackedProject
let manifest: Manifest
let files: string[]

beforeAll(async () => {
  project = await PackedProject.create({ TROUPE_REDIS_URL: inject('redisUrl'), TROUPE_NAMESPACE: newNamespace() })
  manifest = JSON.parse(await readFile(join(project.package, 'package.json'), 'utf8')) as Manifest
  for (const name of ['typescript', '@types/node']) await project.link(name)
  const found = await readdir(project.package, { recursive: true, withFileTypes: true })
  files = found
    .filter((one) => one.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(project.package.length + 1))
})
afterAll(() => project[Symbol.asyncDispose]())

test('the package holds the build and the example, and nothing that is made for one system', () => {
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

test('the command of the package can be started as it is', async () => {
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

test('each entry of the package can be imported, and has types', async () => {
  const entries = Object.keys(manifest.exports).filter((entry) => entry !== './package.json')
  const names = entries.map((entry) => entry.replace('.', 'troupe'))
  const imports = names.map((name, at) => `import * as entry${at} from '${name}'`)
  const counts = names.map((_, at) => `Object.keys(entry${at}).length`)
  const text = [...imports, `console.log(JSON.stringify([${counts.join(', ')}]))`].join('\n')
  await project.write('entries.ts', text)
  const { stdout, stderr } = await project.node(['entries.ts'])
  expect(stderr).toBe('')
  expect(JSON.parse(stdout).every((count: number) => count > 0)).toBe(true)
  const types = entries.map((entry) => (manifest.exports[entry] as { readonly types: string }).types.slice(2))
  expect(types.filter((file) => !files.includes(file))).toEqual([])
  expect(names).toEqual(expect.arrayContaining(['troupe/api', 'troupe/otel']))
})

test('the package holds all types that its entries need, and none that only its own modules do', async () => {
  const entries = Object.keys(manifest.exports).filter((entry) => entry !== './package.json')
  const types = entries.map((entry, at) => `export * as entry${at} from '${entry.replace('.', 'troupe')}'`)
  await project.write('types.ts', types.join('\n'))
  const options = ['--noEmit', '--module', 'nodenext', '--target', 'es2024', '--types', 'node', '--strict']
  const checked = await project.node([compiler, ...options, '--skipLibCheck', 'false', 'types.ts'])
  expect(checked).toMatchObject({ code: 0, stdout: '' })
  expect(files.filter((file) => /^dist\/cli\/.*\.d\.ts$/.test(file))).toEqual([])
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

/** What functions of a library over troupe return, with types that the compiler infers: it can write none that the package does not export. */
const inferred = `import { chat, type FindingFacts, type Self, type Session, type Troupe, type Worker } from 'troupe'
export const ofTroupe = (t: Troupe) =>
  [t.asks, t.approvals, t.sessions, t.pools, t.partitions, t.webhooks, t.node('n'), t.nodes(), t.kinds(), t.audit(), t.facts(), t.usage(), t.health(), t.events()] as const
export const ofHandles = (t: Troupe) =>
  [t.asks.answerAndTrust('a', 1, {}), t.sessions.counts(), t.sessions.page(), t.pools.list(), t.partitions.list(), t.webhooks.list(), t.deadLetters(), t.redrive({}), t.dismiss({})] as const
export const ofSession = (s: Session) =>
  [s.retry(), s.retryOutlook(), s.report(), s.summary(), s.run(), s.limit({}), s.setApproval('auto'), s.asks(), s.events(), s.updates(), s.counts()] as const
export const ofWorker = async (w: Worker) =>
  [(await w.report()).holdup, w.state(), w.configure({}), w.compact(), w.mailbox(), w.history(), w.diff(w), w.tokens(), w.metadata(), w.send(1)] as const
export const ofParts = (self: Self, facts: FindingFacts) => ({ chat: { ...chat }, self: { ...self }, facts: { ...facts } })
`

test.each(['agent', 'handler'])('a new project (%s) passes its tests and the compiler as it is', async (sort) => {
  const made = await project.troupe(['new', sort, '--kind', sort, '--name', 'mine', '--yes', '--no-install', '--json'])
  expect(made).toMatchObject({ code: 0 })
  expect(JSON.parse(made.stdout)).toMatchObject({ type: 'created', kind: 'mine', installed: false })
  const { dependencies } = JSON.parse(await readFile(join(project.folder, sort, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  expect(dependencies.troupe).toBe('file:../node_modules/troupe')
  await project.write(`${sort}/inferred.ts`, inferred)
  const [tests, types] = await Promise.all([
    project.node(['--test'], {}, sort),
    project.node([compiler, '--project', '.', '--declaration'], {}, sort),
  ])
  expect(types).toMatchObject({ code: 0, stdout: '' })
  expect(tests).toMatchObject({ code: 0, stdout: expect.stringMatching(/pass [23]\n.*fail 0/) as string })
})

test('`troupe dev` runs the workers of a new project', async () => {
  await project.troupe(['new', 'developed', '--kind', 'handler', '--yes', '--no-install'])
  const command = join(project.package, manifest.bin.troupe as string)
  const dev = project.start([command, 'dev', '--json'], {}, 'developed')
  const seen: Record<string, unknown>[] = []
  for await (const line of createInterface({ input: dev.stdout })) {
    const object = JSON.parse(line) as Record<string, unknown>
    seen.push(object)
    if (object.type === 'ready') dev.kill('SIGINT')
  }
  expect(seen).toContainEqual(
    expect.objectContaining({ type: 'loaded', kinds: [expect.objectContaining({ kind: 'counter' })] }),
  )
  expect(seen.at(-1)).toMatchObject({ type: 'ready' })
})
