/** Which server program on a search path is used. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findLocalServer } from '../../src/dev/server-program.ts'

/** A search path of folders, each with a redis-server that does this. */
async function pathOf(...scripts: readonly string[]): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-path-')))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  const folders = scripts.map((_, at) => join(root, String(at)))
  for (const [at, folder] of folders.entries()) {
    await mkdir(folder)
    await writeFile(join(folder, 'redis-server'), `#!/bin/sh\n${scripts[at]}\n`, { mode: 0o755 })
  }
  return folders.join(delimiter)
}

const says = (version: string) => `echo "Redis server v=${version} sha=00000000:0 bits=64"`

test.each([
  ['is too old', says('5.0.7')],
  ['cannot run', 'exit 127'],
])('a program that %s does not hide a later one with the same name', async (_, first) => {
  const found = await findLocalServer(await pathOf(first, says('7.4.1')))
  expect(found).toMatchObject({ kind: 'found', program: { name: 'redis-server 7.4.1' } })
})

test('an error after no program could be used names the first one', async () => {
  const why = 'redis-server 5.0.7 is too old (6.2 or later is needed)'
  expect(await findLocalServer(await pathOf(says('5.0.7'), says('4.0.1')))).toEqual({ kind: 'unfit', why })
})

test('a program that fails without output is reported as failed', async () => {
  const found = await findLocalServer(await pathOf('exit 3'))
  expect(found).toMatchObject({ why: expect.stringMatching(/version \(Command failed: \S+redis-server --version\)$/) })
})
