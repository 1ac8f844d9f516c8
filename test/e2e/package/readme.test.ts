/** The programs and commands of README.md, as a reader would copy them, against the package that npm would install. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { newNamespace } from '../../support/namespace.ts'
import { PackedProject } from '../../support/package/packed-project.ts'

const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
const namespace = newNamespace()
let project: PackedProject

/** The program that README shows after naming this file, in a namespace of this test. */
function programOf(file: string): string {
  const after = readme.slice(readme.indexOf(`\`${file}\``))
  const program = /```ts\n([\s\S]*?)```/.exec(after)?.[1]
  if (program === undefined) throw new Error(`README.md shows no program after it names ${file}.`)
  return program.replaceAll("'tour'", `'${namespace}'`).replace('{troupe.0}', `{${namespace}.0}`)
}

beforeAll(async () => {
  const redisUrl = inject('redisUrl')
  project = await PackedProject.create({ REDIS_URL: redisUrl, TROUPE_NAMESPACE: namespace })
  for (const file of ['use.ts', 'workers/counter.ts', 'workers/clerk.ts', 'submit.ts'])
    await project.write(file, programOf(file))
})
afterAll(() => project?.[Symbol.asyncDispose]())

describe('README.md', () => {
  test('the library program of the README prints what its comments say', async () => {
    const { code, stdout, stderr } = await project.node(['use.ts'])
    expect(stderr).toBe('')
    expect(code).toBe(0)
    const [, first, second] = /^([\s\S]*?\})\n([\s\S]*?\})\n/.exec(stdout) ?? []
    expect(first?.replace(/\s+/g, ' ')).toBe(commentAfter('session.result())'))
    expect(second?.replace(/\s+/g, ' ')).toBe(commentAfter('session.result({ run: 2 }))'))
    expect(stdout.trim().split('\n').at(-1)).toBe('session.completed')
  })

  test('the counter and the clerk of the README run with the commands that are shown', async () => {
    for (const command of ['npx troupe run counter 3', `npx troupe run clerk '{"article":"lamp"}'`]) {
      expect(readme).toContain(`$ ${command}\n`)
      const args = command
        .split(' ')
        .slice(2)
        .map((word) => word.replaceAll("'", ''))
      const { code, stdout } = await project.troupe(args)
      expect(code).toBe(0)
      expect(stdout).toMatch(args[1] === 'counter' ? /^counted to 3$/m : /lamp|400/)
    }
  })

  test('the BullMQ program of the README gets the ids of the session that its job became', async () => {
    const node = project.troupe(['node', '--json'])
    try {
      const { code, stdout } = await project.node(['submit.ts'])
      expect(code).toBe(0)
      expect(stdout).toMatch(/sessionId: '[\w-]+'/)
    } finally {
      const { stdout } = await project.troupe(['doctor', '--json'])
      process.kill(Number(/"pid":(\d+)/.exec(stdout)?.[1]), 'SIGTERM')
    }
    expect((await node).code).toBe(0)
  })
})

function commentAfter(code: string): string | undefined {
  return readme.slice(readme.indexOf(code)).split('\n')[0]?.split(' // ')[1]
}
