import { closeSync, fstatSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { measureFile } from '../../workers/_survey/measure/measure.ts'
import { FolderChain } from '../../workers/_survey/tree/chain.ts'
import { type Access, bestAccess, OpenFolder } from '../../workers/_survey/tree/folder.ts'
import { type BytePath, fromText } from '../../workers/_survey/tree/path.ts'
import { codeOf } from '../../workers/_survey/tree/reason.ts'
import { makeFifo, temporaryFolder, write } from './support/folders.ts'

const options = { textBytesMax: 0, checkpoint: () => {} }
const text = (name: string): BytePath => fromText(name)

function openTop(folder: string, access: Access): OpenFolder {
  const top = OpenFolder.openTop(text(folder), access)
  onTestFinished(() => top.close())
  return top
}

function codeThrownBy(work: () => unknown): string {
  try {
    work()
    return 'nothing'
  } catch (error) {
    return codeOf(error)
  }
}

const ways: Access[] = bestAccess === 'descriptor' ? ['descriptor', 'path'] : ['path']

describe.skipIf(process.platform === 'win32').each(ways)('an open folder, by %s', (access) => {
  test('an open folder lists names with their type', () => {
    const folder = write(temporaryFolder(), { file: '', 'sub/x': '' })
    symlinkSync('file', join(folder, 'link'))
    makeFifo(join(folder, 'fifo'))
    const listed = [...openTop(folder, access).list()].sort((a, b) => (a.name < b.name ? -1 : 1))
    expect(listed).toEqual([
      { name: 'fifo', sort: 'other' },
      { name: 'file', sort: 'file' },
      { name: 'link', sort: 'link' },
      { name: 'sub', sort: 'folder' },
    ])
  })

  test('an open folder opens no link, even if the listing said it was a file or folder (FOLDER-1)', () => {
    const outside = write(temporaryFolder(), { 'secret/file': 'secret' })
    const folder = write(temporaryFolder(), { 'sub/file': 'own', file: 'own' })
    const top = openTop(folder, access)
    rmSync(join(folder, 'sub'), { recursive: true })
    rmSync(join(folder, 'file'))
    symlinkSync(join(outside, 'secret'), join(folder, 'sub'))
    symlinkSync(join(outside, 'secret/file'), join(folder, 'file'))
    expect(codeThrownBy(() => top.openFolder(text('sub')))).toMatch(/^(ENOTDIR|ELOOP)$/)
    expect(codeThrownBy(() => top.openFile(text('file')))).toBe('ELOOP')
    expect(measureFile(top, text('file'), options)).toEqual({ kind: 'unfit', sort: 'link' })
  })

  test('the reader of a folder does not wait for a FIFO that took the place of a file (FOLDER-2)', () => {
    const folder = write(temporaryFolder(), { file: 'own' })
    const top = openTop(folder, access)
    rmSync(join(folder, 'file'))
    makeFifo(join(folder, 'file'))
    expect(measureFile(top, text('file'), options)).toEqual({ kind: 'unfit', sort: 'other' })
  })

  test('an open folder reports a vanished file as gone', () => {
    const folder = write(temporaryFolder(), { file: 'own' })
    const top = openTop(folder, access)
    rmSync(join(folder, 'file'))
    expect(measureFile(top, text('file'), options)).toMatchObject({ kind: 'gone' })
  })
})

/** A folder `sub` that was opened, and then swapped for a link to a folder outside. */
function swapped(access: Access): OpenFolder {
  const outside = write(temporaryFolder(), { 'sub/file': 'secret\n\n\n', 'sub/deep/file': 'secret\n\n\n' })
  const folder = write(temporaryFolder(), { 'sub/file': 'own\n', 'sub/deep/file': 'own\n' })
  const sub = openTop(folder, access).openFolder(text('sub'))
  onTestFinished(() => sub.close())
  renameSync(join(folder, 'sub'), join(folder, 'moved'))
  symlinkSync(join(outside, 'sub'), join(folder, 'sub'))
  return sub
}

describe.skipIf(process.platform === 'win32')('an open folder that is replaced by a link (FOLDER-1)', () => {
  test.skipIf(bestAccess !== 'descriptor')(
    'an open folder that a link replaces stays the same folder when it is read by its descriptor',
    () => {
      const sub = swapped('descriptor')
      expect(measureFile(sub, text('file'), options)).toMatchObject({ kind: 'file', bytes: 4, lines: 1 })
      expect([...sub.list()]).toHaveLength(2)
      const deep = sub.openFolder(text('deep'))
      expect(measureFile(deep, text('file'), options)).toMatchObject({ lines: 1 })
      deep.close()
    },
  )

  test('an open folder that a link replaces is not read when it is read by its path', () => {
    const sub = swapped('path')
    expect(codeThrownBy(() => sub.openFile(text('file')))).toBe('ENOTDIR')
    expect(codeThrownBy(() => [...sub.list()])).toBe('ENOTDIR')
    expect(codeThrownBy(() => sub.openFolder(text('deep')))).toBe('ENOTDIR')
    expect(codeThrownBy(() => sub.lstat(text('file')))).toBe('ENOTDIR')
    const unreadable = 'was replaced while it was surveyed'
    expect(measureFile(sub, text('file'), options)).toMatchObject({ bytes: 0, lines: 0, unreadable })
  })
})

describe.skipIf(bestAccess !== 'descriptor')('a chain of folders', () => {
  const openDescriptors = () => readdirSync('/proc/self/fd').length

  test('a chain of folders keeps few folders open, however deep the tree is (CHAIN-1), and none after it was closed', () => {
    const names = Array.from({ length: 200 }, (_, index) => `f${index}`)
    const folder = temporaryFolder()
    mkdirSync(join(folder, ...names), { recursive: true })
    writeFileSync(join(folder, ...names, 'file'), 'deep')
    const top = openTop(folder, 'descriptor')
    const before = openDescriptors()
    const chain = new FolderChain(top)
    const path = (depth: number) => text(names.slice(0, depth).join('/'))
    for (const depth of [200, 199, 3, 0, 150, 1, 200]) {
      expect([...chain.reach(path(depth)).list()].map((entry) => entry.name)).toEqual([names[depth] ?? 'file'])
      expect(openDescriptors() - before).toBeLessThanOrEqual(13)
    }
    chain.close()
    expect(openDescriptors()).toBe(before)
  })

  test('a chain of folders can be used again after a folder could not be opened', () => {
    const folder = write(temporaryFolder(), { 'a/b/file': '' })
    const before = openDescriptors()
    const top = OpenFolder.openTop(text(folder))
    const chain = new FolderChain(top)
    expect(codeThrownBy(() => chain.reach(text('a/none/b')))).toBe('ENOENT')
    expect(codeThrownBy(() => chain.reach(text('a/b/file')))).toBe('ENOTDIR')
    const descriptor = chain.reach(text('a/b')).openFile(text('file'))
    expect(fstatSync(descriptor).isFile()).toBe(true)
    closeSync(descriptor)
    chain.close()
    top.close()
    expect(openDescriptors()).toBe(before)
  })
})
