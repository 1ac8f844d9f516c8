/** Programs of the system, as far as no server is needed. */
import { relative } from 'node:path'
import { expect, test } from 'vitest'
import { findProgram } from '../../src/dev/program.ts'

test('a program is found by a path that is relative to the current folder, and can be run from any', async () => {
  const file = await findProgram(['sh'], relative(process.cwd(), '/bin'))
  expect(file).toBe('/bin/sh')
})
