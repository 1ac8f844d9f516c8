/** Files and folders that a tool opens through its workspace, while others change the folder (WORKSPACE-3, INSIDE-1 to INSIDE-3). */
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openInside } from '../../../src/runtime/tool/folder-chain.ts'
import { openWorkspace } from '../../../src/runtime/tool/workspace.ts'
import { makeFifo } from '../../workers/support/folders.ts'

let root: string
let outside: string

beforeEach(() => {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'workspace-files-')))
  onTestFinished(() => rmSync(top, { recursive: true }))
  root = join(top, 'jail')
  outside = join(top, 'outside')
  mkdirSync(join(root, 'sub', 'deep'), { recursive: true })
  mkdirSync(outside)
  writeFileSync(join(outside, 'note.txt'), 'secret')
  writeFileSync(join(root, 'sub', 'note.txt'), 'inside')
  symlinkSync(outside, join(root, 'out'))
  symlinkSync('sub', join(root, 'in'))
})

describe('a workspace', () => {
  test('a workspace reads and lists what is inside, also through links that stay inside', async () => {
    const workspace = await openWorkspace(root)
    expect((await workspace.read('sub/note.txt')).toString()).toBe('inside')
    expect((await workspace.read('in/note.txt')).toString()).toBe('inside')
    expect(await workspace.list()).toEqual([
      { name: 'in', sort: 'link' },
      { name: 'out', sort: 'link' },
      { name: 'sub', sort: 'folder' },
    ])
    expect(await workspace.list('in')).toEqual([
      { name: 'deep', sort: 'folder' },
      { name: 'note.txt', sort: 'file' },
    ])
    await using file = await workspace.open(join(root, 'sub', 'note.txt'))
    expect((await file.stat()).size).toBe(6)
  })

  test.each<[string, 'read' | 'list' | 'open', RegExp]>([
    ['out/note.txt', 'read', /leads out of the worker's folder/],
    ['out', 'list', /leads out of the worker's folder/],
    ['../outside/note.txt', 'open', /holds "\.\."/],
    ['none', 'read', /does not exist/],
    ['none', 'list', /does not exist/],
    ['sub', 'read', /"sub" is no regular file/],
    ['.', 'open', /"\." is no regular file/],
    ['sub/note.txt', 'list', /"sub\/note\.txt" is no folder/],
  ])('a workspace refuses %s (%s) with a sentence', async (path, how, why) => {
    const workspace = await openWorkspace(root)
    await expect(workspace[how](path)).rejects.toThrow(why)
  })

  test('a workspace neither waits for a pipe nor reads it (INSIDE-3)', async () => {
    makeFifo(join(root, 'pipe'))
    const workspace = await openWorkspace(root)
    await expect(workspace.read('pipe')).rejects.toThrow('"pipe" is no regular file')
    expect(await workspace.list()).toContainEqual({ name: 'pipe', sort: 'other' })
  })

  test('a workspace reads no more than it is asked for', async () => {
    writeFileSync(join(root, 'large'), 'x'.repeat(200_000))
    const workspace = await openWorkspace(root)
    expect(await workspace.read('large')).toHaveLength(200_000)
    expect(await workspace.read('large', { bytesMax: 200_000 })).toHaveLength(200_000)
    await expect(workspace.read('large', { bytesMax: 199_999 })).rejects.toThrow(
      '"large" has more than 199999 bytes: read a part of it with open.',
    )
  })
})

test.each([true, false])(
  'a folder that was exchanged for a link after its path was checked is not followed (by names: %s)',
  async (isByNames) => {
    await using _ = await openInside(root, ['sub', 'note.txt'], 'file', isByNames)
    await expect(openInside(root, ['out', 'note.txt'], 'file', isByNames)).rejects.toMatchObject({
      code: expect.stringMatching(/^(?:ELOOP|ENOTDIR)$/),
    })
    await expect(openInside(root, ['out'], 'folder', isByNames)).rejects.toMatchObject({
      code: expect.stringMatching(/^(?:ELOOP|ENOTDIR)$/),
    })
  },
)

test.runIf(process.platform === 'linux')(
  'a folder and a link that change places again and again never let anything outside be read or listed (INSIDE-1)',
  async () => {
    const workspace = await openWorkspace(root)
    const [folder, moved] = [join(root, 'sub'), join(root, 'moved')]
    writeFileSync(join(outside, 'only outside'), '')
    const over = new AbortController()
    const exchanging = (async () => {
      while (!over.signal.aborted) {
        renameSync(folder, moved)
        symlinkSync(outside, folder)
        await setImmediate()
        unlinkSync(folder)
        renameSync(moved, folder)
        await setImmediate()
      }
    })()
    const seen = new Set<string>()
    const wanted = ['deep', 'inside', 'note.txt']
    const deadline = performance.now() + 60_000
    // On a busy machine the folder changes places so often that few looks succeed.
    for (let round = 0; round < 1_500 || (seen.size < wanted.length && performance.now() < deadline); round++) {
      const [read, listed] = await Promise.allSettled([workspace.read('sub/note.txt'), workspace.list('sub')])
      if (read.status === 'fulfilled') seen.add(read.value.toString())
      if (listed.status === 'fulfilled') for (const { name } of listed.value) seen.add(name)
    }
    over.abort()
    await exchanging
    expect([...seen].sort()).toEqual(wanted)
  },
)
