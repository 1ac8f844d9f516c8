/** An application that was bundled into one file, with troupe in it: it needs none of troupe's own files. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Failure } from '../../../src/core/worker/run/failure.ts'
import { newNamespace } from '../../support/namespace.ts'
import { PackedProject } from '../../support/package/packed-project.ts'

const run = promisify(execFile)
/** The bundler that vitest brings with it. */
const bundler = fileURLToPath(new URL('../../../node_modules/rolldown/bin/cli.mjs', import.meta.url))

const app = `import { connect, defineTool, defineWorker, startNode } from 'troupe'

const [redisUrl, namespace] = process.argv.slice(2)
const double = defineTool({
  name: 'double',
  description: 'Doubles.',
  effect: 'pure',
  thread: 'file:///nowhere.js',
  run: () => 2,
})
const workers = {
  parent: defineWorker({
    receive(message, self) {
      if (message.kind === 'input') self.spawn('child', message.value)
      else self.reply({ child: message.value })
    },
  }),
  child: defineWorker({ receive: (message, self) => self.reply(message.value + 1) }),
  agent: defineWorker({ instructions: '1. Call \`double\`.', tools: [double] }),
  wrong: defineWorker({
    retries: 0,
    receive() {
      throw new TypeError('wrong code')
    },
  }),
}
const warnings = []
const stacks = []
const warn = ({ stack }, message) => {
  warnings.push(message)
  if (stack?.includes('wrong code')) stacks.push(stack)
}
const logger = { debug() {}, info() {}, warn, error: warn }
const node = await startNode({ redisUrl, namespace, workers, logger })
const troupe = await connect({ redisUrl, namespace })
const results = []
for (const kind of ['parent', 'agent', 'wrong']) {
  const session = await troupe.sessions.create({ kind, input: 1 })
  results.push(await session.result())
}
console.log(JSON.stringify({ results, warnings, stacks }))
await troupe.close()
await node.stop()
`

interface Said {
  readonly results: readonly { readonly failure?: Failure }[]
  readonly warnings: readonly string[]
  readonly stacks: readonly string[]
}

let project: PackedProject
let elsewhere: string
beforeAll(async () => {
  project = await PackedProject.create({})
  await project.write('app.js', app)
  elsewhere = await mkdtemp(join(tmpdir(), 'troupe-bundled-'))
}, 300_000)
afterAll(async () => {
  await project[Symbol.asyncDispose]()
  await rm(elsewhere, { recursive: true, force: true })
})

describe('an application in one file', () => {
  test.each([
    ['esm', 'esm', []],
    ['cjs', 'cjs', []],
    // As esbuild writes it.
    ['cjs that does not know its place', 'cjs', ['--transform.define', 'import.meta.url:undefined']],
  ])(
    'an application bundled as %s starts a node and runs work, far from the files of the package',
    async (_name, format, more) => {
      const name = format === 'esm' ? 'app.mjs' : 'app.cjs'
      // A file of the format cjs cannot wait at its top level.
      const [, imports = '', body = ''] = /^(import .*\n)([\s\S]*)$/.exec(app) ?? []
      await project.write('app.js', format === 'esm' ? app : `${imports}void (async () => {${body}})()`)
      const options = ['--format', format, '--platform', 'node', '--file', join(project.folder, 'out', name)]
      const others = ['--no-codeSplitting', ...more]
      await run(process.execPath, [bundler, 'app.js', ...options, ...others], { cwd: project.folder })
      await cp(join(project.folder, 'out', name), join(elsewhere, name))
      const { stdout } = await run(process.execPath, [join(elsewhere, name), inject('redisUrl'), newNamespace()], {
        cwd: elsewhere,
        timeout: 60_000,
      })
      const said = JSON.parse(stdout) as Said
      expect(said.results).toMatchObject([
        { status: 'completed', value: { child: 2 } },
        { status: 'failed', failure: { message: expect.stringContaining('bundled into one file') as string } },
        { status: 'failed', failure: { message: 'wrong code', thrownAt: expect.any(String) as string } },
      ])
      const thrownAt = said.results[2]?.failure?.thrownAt
      const [, firstPlace] = /TypeError: wrong code\n +at .*?(app\.[cm]js:\d+:\d+)/.exec(said.stacks[0] ?? '') ?? []
      expect(firstPlace).toBe(thrownAt)
      expect(said.warnings.filter((text) => /has no watchdog.*leave troupe out of a bundle/.test(text))).toHaveLength(1)
    },
    120_000,
  )
})
