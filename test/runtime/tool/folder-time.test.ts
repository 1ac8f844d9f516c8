/** A folder that does not open, as on a network that does not answer. */
import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openWorkspace } from '../../../src/runtime/tool/workspace.ts'

test('a folder that does not open is given up after a time, and opens later', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hung-'))
  // Each open pipe without a writer holds one of the threads in which Node opens files. When all are held, no folder opens.
  const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4)
  const pipes = Array.from({ length: threads }, (_, index) => join(folder, `pipe-${index}`))
  execFileSync('mkfifo', pipes)
  const held = pipes.map((pipe) => open(pipe, 'r'))
  await expect(openWorkspace(folder, [], 20)).rejects.toThrow(/^the folder ".*hung-.*" did not open within 0\.02 s: /)
  const writers = pipes.map((pipe) => openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK))
  for (const file of await Promise.all(held)) await file.close()
  for (const writer of writers) closeSync(writer)
  expect((await openWorkspace(folder)).root).toContain('hung-')
})
