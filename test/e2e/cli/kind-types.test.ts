/** `troupe kinds --types`: what a compiler knows of the kinds of a project by their names. */
import { execFile } from 'node:child_process'
import { readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Project } from '../../cli/command-line.ts'

const modules = fileURLToPath(new URL('../../../node_modules', import.meta.url))

const files = {
  'package.json': '{ "type": "module" }',
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      target: 'es2024',
      lib: ['es2024', 'esnext'],
      module: 'nodenext',
      types: ['node'],
      customConditions: ['troupe-source'],
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      allowImportingTsExtensions: true,
    },
    include: ['use.ts', 'types', 'workers'],
  }),
  'workers/mail/reader.ts': `import { defineWorker } from 'troupe'
import { z } from 'zod'
export default defineWorker({
  input: z.object({ url: z.string(), depth: z.number().default(1) }),
  output: z.object({ title: z.string() }),
  receive: (message, self) => (message.kind === 'input' ? self.reply({ title: message.value.url }) : undefined),
})`,
  // The kind spawns itself, and another kind that spawns it: the types of neither may refer to each other without end.
  'workers/walker.mts': `import { defineWorker, isResultOf } from 'troupe'
import { z } from 'zod'
export default defineWorker({
  input: z.object({ depth: z.number() }),
  output: z.string(),
  receive(message, self) {
    if (message.kind === 'input') {
      const child = self.spawn('mail/reader', { url: 'a' })
      self.send(child, { url: 'b' })
      self.spawn(
        'mail/reader',
        // @ts-expect-error -- the url is a text: the error is here, and not at the kind
        { url: 1 },
      )
      // @ts-expect-error -- there is no such kind
      self.spawn('mail/raeder', { url: 'a' })
      return void self.spawn('walker', { depth: 1 })
    }
    if (isResultOf(message, 'mail/reader') && message.status === 'completed') return self.reply(message.value.title)
    self.spawn('sorter', { mail: 'x' })
  },
})`,
  'workers/sorter.ts': `import { defineWorker } from 'troupe'
import { z } from 'zod'
export default defineWorker({ instructions: 'You sort mail.', input: z.object({ mail: z.string() }), spawns: ['walker'] })`,
  'use.ts': `import { connect } from 'troupe'
import type { CreateSession, KindName } from 'troupe'
const troupe = await connect()
export const titles: string[] = []
const session = await troupe.sessions.create({ kind: 'mail/reader', input: { url: 'a' }, name: 'one' })
const result = await session.result()
export const title: string = result.status === 'completed' ? result.value.title : ''
// @ts-expect-error -- the title is a text
export const wrong: number = result.status === 'completed' ? result.value.title : 0
// @ts-expect-error -- the url is a text
await troupe.sessions.create({ kind: 'mail/reader', input: { url: 1 } })
// @ts-expect-error -- an input is missing
await troupe.sessions.create({ kind: 'mail/reader' })
// @ts-expect-error -- there is no such kind
await troupe.sessions.create({ kind: 'mail/raeder', input: { url: 'a' } })
const talk = await troupe.sessions.create({ kind: 'sorter', keepOpen: true, history: [] })
const said = await talk.result()
export const text: string = said.status === 'completed' ? said.value.text : ''
const many = await troupe.sessions.createMany([
  { kind: 'mail/reader', input: { url: 'a' }, name: 'one' },
  { kind: 'walker', input: { depth: 1 } },
])
for (const one of many) {
  const end = one.status === 'fulfilled' ? await one.value.result() : null
  if (end?.status === 'completed') titles.push(typeof end.value === 'string' ? end.value : end.value.title)
}
// @ts-expect-error -- there is no such kind
await troupe.sessions.createMany([{ kind: 'mail/raeder', input: { url: 'a' } }])
// @ts-expect-error -- one of them is no kind
await troupe.sessions.createMany([{ kind: 'mail/reader', input: { url: 'a' } }, { kind: 'sorterr', input: { mail: 'x' } }])
// @ts-expect-error -- the input is that of another kind
await troupe.sessions.createMany([{ kind: 'mail/reader', input: { url: 'a' } }, { kind: 'walker', input: { url: 'a' } }])
// A kind that another program hosts.
const elsewhere: string = process.argv[2] ?? ''
await troupe.sessions.create({ kind: elsewhere, input: 1 })
await troupe.sessions.createMany([{ kind: elsewhere, input: 1 }])
const requests: CreateSession[] = [{ kind: elsewhere, input: 1 }]
await troupe.sessions.createMany(requests)
export const known: KindName[] = ['mail/reader', 'walker', 'sorter']
`,
}

describe('troupe kinds --types', () => {
  let project: Project
  beforeAll(async () => {
    project = await Project.create(files, {})
    for (const name of ['zod', '@types'])
      await symlink(join(modules, name), join(project.folder, 'node_modules', name), 'junction')
  })
  afterAll(() => project[Symbol.asyncDispose]())

  it('troupe kinds --types declares the kinds of the folder, so that names, inputs and results are checked where they are used', async () => {
    const written = await project.ask(['kinds', '--out', 'types/kinds.d.ts'])
    expect(written).toMatchObject({ code: 0, stdout: '', stderr: 'troupe: 3 kinds in types/kinds.d.ts\n' })
    const tsc = join(modules, '.bin', process.platform === 'win32' ? 'tsc.cmd' : 'tsc')
    const { stdout } = await promisify(execFile)(tsc, ['-p', project.folder]).catch(
      (thrown: { stdout: string }) => thrown,
    )
    expect(stdout).toBe('')
  })

  it('troupe kinds --types prints the declarations without a file, and imports files under the names that a compiler gives them', async () => {
    const { stdout, code } = await project.ask(['kinds', '--types'])
    expect(code).toBe(0)
    expect(stdout).toContain('    "mail/reader": typeof import("./workers/mail/reader.js").default\n')
    expect(stdout).toContain('    "walker": typeof import("./workers/walker.mjs").default\n')
  })

  it('troupe kinds --types writes over what it has written, and over nothing else', async () => {
    await project.ask(['kinds', '--out', 'again.d.ts'])
    expect((await project.ask(['kinds', '--out', 'again.d.ts'])).code).toBe(0)
    const refused = await project.ask(['kinds', '--out', 'use.ts'])
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('was not written by this command') })
    expect(await readFile(join(project.folder, 'use.ts'), 'utf8')).toBe(files['use.ts'])
    expect((await project.ask(['kinds', '--types', '--workers', 'none'])).code).toBe(2)
  })
})
