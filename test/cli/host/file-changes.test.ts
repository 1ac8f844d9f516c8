/** A file that is followed, such as that of the tokens of a server. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { FileChanges } from '../../../src/cli/host/file-changes.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-changes-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('a change between the first read of a file and its watch is told, and so is each later one (CHANGES-1)', async () => {
  const file = join(folder, 'tokens.json')
  writeFileSync(file, 'a')
  using changes = await FileChanges.since(file)
  writeFileSync(file, 'b')
  let told = 0
  changes.tell(() => told++)
  await waitUntil('the first change is told', () => told === 1)
  rmSync(file)
  await waitUntil('that the file is gone is told', () => told === 2)
  writeFileSync(file, 'c')
  await waitUntil('that it is back is told', () => told === 3)
  expect(told).toBe(3)
})
