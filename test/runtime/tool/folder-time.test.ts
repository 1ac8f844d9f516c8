/** A folder that does not open, as on a network that does not answer. */
import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openWorkspace } from '../../../src/runtime/tool/workspace.ts'

/** Each open pipe without a writer holds one of the threads in which Node opens files. While all are held, no folder opens. */
async function hungFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'hung-'))
  const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4)
  const pipes = Array.from({ length: threads }, (_, index) => join(folder, `pipe-${index}`))
  execFileSync('mkfifo', pipes)
  const held = pipes.map((pipe) => open(pipe, 'r'))
  const release = async () => {
    const writers = pipes.map((pipe) => openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK))
    for (const file of await Promise.all(held)) await file.close()
    for (const writer of writers) closeSync(writer)
  }
  return { folder, release }
}

test('a folder that does not open is given up after a time, and opens later', async () => {
  const { folder, release } = await hungFolder()
  await expect(openWorkspace(folder, [], 20)).rejects.toThrow(/^the folder ".*hung-.*" did not open within 0\.02 s: /)
  await release()
  expect((await openWorkspace(folder)).root).toContain('hung-')
})

test('a folder that hangs is looked at once, however often it is opened meanwhile (FOLDER-TIME-1)', async () => {
  const { folder, release } = await hungFolder()
  const calls = () => process.getActiveResourcesInfo().filter((name) => name.startsWith('FSReq')).length
  await expect(openWorkspace(folder, [], 20)).rejects.toThrow(/did not open within/)
  const before = calls()
  const late = /did not open within 0\.02 s, because another look at it has not ended: see whether it lies on a network/
  for (const bounds of [[], [], ['/']]) await expect(openWorkspace(folder, bounds, 20)).rejects.toThrow(late)
  expect(calls()).toBe(before)
  const waiting = openWorkspace(folder)
  await release()
  expect((await waiting).root).toContain('hung-')
})
