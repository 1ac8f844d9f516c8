/** Finding and running programs of the system, without a server. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findProgram, isAlive, runProgram } from '../../src/dev/program.ts'

test('a program is found by a relative search path, and can be run from any folder', async () => {
  const file = await findProgram(['sh'], relative(process.cwd(), '/bin'))
  expect(file).toBe('/bin/sh')
})

test('a program that takes too long is killed', async () => {
  const root = await mkdtemp(join(tmpdir(), 'troupe-program-'))
  onTestFinished(() => rm(root, { recursive: true }))
  const script = 'echo $$ > "$0/pid"; trap "" TERM; while :; do sleep 0.05; done'
  expect(await runProgram('/bin/sh', ['-c', script, root], 3_000)).toMatchObject({ ok: false })
  expect(isAlive(Number(await readFile(join(root, 'pid'), 'utf8')))).toBe(false)
})
