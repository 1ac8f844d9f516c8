/** The TypeScript that README.md and the pages of docs/ show fits the types of the package that npm would install. */
import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PackedProject } from '../../support/package/packed-project.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const pages = ['README.md', 'workers/README.md', ...globSync('docs/**/*.md', { cwd: root })]

/** What blocks use without an import, because the one before shows it. */
const imported = { defineWorker: 'troupe', defineTool: 'troupe', isResultOf: 'troupe', startNode: 'troupe', z: 'zod' }
/** What readers have at hand where a block does not make it. */
const atHand = { troupe: 'Troupe', session: 'Session<any>', worker: 'Worker', self: 'Self<any, any>' }

let project: PackedProject
beforeAll(async () => {
  project = await PackedProject.create({})
})
afterAll(() => project?.[Symbol.asyncDispose]())

/** A module of a block: some fields alone become those of a worker, and what `…` leaves out may be anything. */
function moduleOf(block: string): string {
  const whole = block
    .replaceAll(/(\)|=>) \{ … \}/g, '$1 {}')
    .replaceAll(/\) …$/gm, ') {}')
    .replaceAll(/=> …/g, '=> more')
    .replaceAll(/(?<=\{ |, |^ *)…(?=,| \}|$)/gm, '...more')
    // The lines below the worker use it by its name.
    .replace(/^(\/\/ workers\/(\w+)\.ts[\s\S]*?)export default /, '$1const $2 = ')
  const code = /^\w+: /.test(whole) ? `defineWorker({ instructions: '', ${whole.trimEnd()} })\n` : whole
  const imports = Object.entries(imported)
    .filter(
      ([name]) => new RegExp(`\\b${name}[.(<]`).test(code) && !new RegExp(`^import .*\\b${name}\\b`, 'm').test(code),
    )
    .map(([name, from]) => `import { ${name} } from '${from}'; `)
  const declared = Object.entries(atHand)
    .filter(([name]) => !new RegExp(`(const|using) ${name}\\b`).test(code))
    .map(([name, type]) => `declare const ${name}: import('troupe').${type}; `)
  // All on the first line, so that the lines are those of the block.
  return `declare const more: any; ${[...imports, ...declared].join('')}${code}export {}\n`
}

/** A name or a file that another block shows, or the reader has. */
function isOfReader(problem: string): boolean {
  return /error TS(2304|2552|18004):/.test(problem) || /TS2307: .*'(?!troupe)/.test(problem)
}

test('the code that the documentation shows fits the types of the package', async () => {
  let blocks = 0
  for (const page of pages) {
    const text = readFileSync(join(root, page), 'utf8')
    for (const { 1: block = '', index } of text.matchAll(/^```ts\n([\s\S]*?)^ *```$/gm)) {
      const line = text.slice(0, index).split('\n').length
      await project.write(`${page}.${line}.mts`, moduleOf(block))
      blocks++
    }
  }
  expect(blocks).toBeGreaterThan(35)
  const compilerOptions = {
    strict: true,
    noImplicitAny: false,
    lib: ['esnext'],
    target: 'esnext',
    module: 'nodenext',
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: [join(root, 'node_modules/@types/node')],
  }
  await project.write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['**/*.mts'] }))
  const compiler = join(createRequire(import.meta.url).resolve('typescript/package.json'), '..', 'bin', 'tsc')
  const { stdout } = await project.node([compiler, '--project', '.', '--pretty', 'false'])
  const problems = stdout.split(/\n(?=\S)/).filter((problem) => problem.trim() !== '')
  expect(problems.filter((problem) => !isOfReader(problem))).toEqual([])
  // The compiler has looked at the blocks: they name what the reader has.
  expect(problems).not.toEqual([])
})
