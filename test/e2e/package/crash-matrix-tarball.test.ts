/** The package as npm would install it: an author proves workers of a folder, with Node alone. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { PackedProject } from '../../support/package/packed-project.ts'

const files = {
  'workers/payer.ts': `import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineTool, defineWorker } from 'troupe'

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  effect: 'idempotent',
  run(_input, context) {
    const { folder } = context.input as { folder: string }
    appendFileSync(join(folder, 'paid'), context.idempotencyKey + '\\n')
    return 'paid'
  },
})

export default defineWorker({ instructions: 'You pay.', tools: [pay] })
`,
  'prove.ts': `import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { call, crashMatrix, say } from 'troupe/test'

const [redisUrl, ...only] = process.argv.slice(2)
const report = await crashMatrix({
  workers: 'workers',
  kind: 'payer',
  input: ({ folder }) => ({ folder }),
  replies: { payer: [call('pay'), say('done')] },
  check({ folder, result }) {
    assert.equal(result.status, 'completed')
    assert.equal(readFileSync(folder + '/paid', 'utf8').split('\\n').length - 1, 1, 'it was paid more than once')
  },
  only,
  ...(redisUrl ? { redisUrl } : {}),
})
console.log(JSON.stringify(report))
`,
  'inferred.ts': `import { crashMatrix, say, scriptedModel } from 'troupe/test'

export const model = scriptedModel('scripted/one', [say('done')])
export const prove = () => crashMatrix({ workers: 'workers', kind: 'payer', input: null })
`,
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      module: 'nodenext',
      target: 'es2024',
      lib: ['es2024', 'esnext.disposable'],
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      declaration: true,
      types: ['node'],
    },
    include: ['workers', 'prove.ts', 'inferred.ts'],
  }),
}

let project: PackedProject

beforeAll(async () => {
  project = await PackedProject.create({})
  for (const [path, text] of Object.entries(files)) await project.write(path, text)
}, 300_000)
afterAll(() => project?.[Symbol.asyncDispose]())

describe('troupe/test of the packed package', () => {
  test('troupe/test of the packed package passes at a point that a payer survives, with a Redis of its own', async () => {
    const { code, stdout, stderr } = await project.node(['prove.ts', '', 'before tool pay of payer #1'])
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(JSON.parse(stdout)).toMatchObject({ points: ['before tool pay of payer #1'], runs: 2, violations: [] })
  })

  test('troupe/test of the packed package fails with the point at which a payer pays twice', async () => {
    const { code, stderr } = await project.node(['prove.ts', inject('redisUrl'), 'after tool pay of payer #1'])
    expect(code).toBe(1)
    expect(stderr).toContain('The scenario does not survive a kill -9 at 1 of 1 points:')
    expect(stderr).toContain('  after tool pay of payer #1: check: it was paid more than once')
  })

  test('troupe/test of the packed package has types that a strict project can use', async () => {
    await project.link('@types/node')
    await project.link('typescript')
    const seen = await project.node(['node_modules/typescript/bin/tsc', '--project', '.'])
    expect(seen).toMatchObject({ code: 0, stdout: '' })
  })
})
