/** Folders that commands make for the files that they write. */
import { mkdtemp, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../../../src/cli/host/make-folder.ts'

test('commands that make the same folders at the same moment all succeed', async () => {
  const folder = join(await mkdtemp(join(tmpdir(), 'folders-')), 'a', 'b', 'c')
  await Promise.all(Array.from({ length: 8 }, () => makeFolder(folder)))
  expect((await stat(folder)).isDirectory()).toBe(true)
})

test('a folder that cannot be made is refused at once', async () => {
  await expect(makeFolder('/proc/a/b')).rejects.toMatchObject({ code: 'ENOENT' })
})
