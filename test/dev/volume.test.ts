/** The volume of a folder's Redis in a container. It belongs to the folder as much as the files in it. */
import { createHash } from 'node:crypto'
import { cp, mkdir, mkdtemp, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { volumeOf } from '../../src/dev/volume.ts'

let root: string
let folder: string
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-volume-')))
  folder = join(root, 'redis')
  await mkdir(folder)
})
afterEach(() => rm(root, { recursive: true, force: true }))

async function change(of: Record<string, string>): Promise<void> {
  const file = join(folder, 'volume.json')
  await writeFile(file, JSON.stringify({ ...(JSON.parse(await readFile(file, 'utf8')) as object), ...of }))
}

test('a volume stays the same from one start to the next, and when the folder is moved (VOLUME-1)', async () => {
  const name = await volumeOf(folder)
  expect(name).toMatch(/^troupe-[0-9a-f]{16}$/)
  await writeFile(join(folder, 'address.json'), '{}')
  expect(await volumeOf(folder)).toBe(name)
  const moved = join(root, 'moved')
  await rename(folder, moved)
  expect(await volumeOf(moved)).toBe(name)
  expect(await volumeOf(moved)).toBe(name)
})

test('a folder at the place of a moved folder has another volume (VOLUME-2)', async () => {
  const name = await volumeOf(folder)
  await rename(folder, join(root, 'moved'))
  await mkdir(folder)
  expect(await volumeOf(folder)).not.toBe(name)
  expect(await volumeOf(join(root, 'moved'))).toBe(name)
})

test('a copy has another volume, even if the original is gone (VOLUME-2)', async () => {
  const name = await volumeOf(folder)
  const copy = join(root, 'copy')
  await cp(folder, copy, { recursive: true })
  await writeFile(join(copy, 'address.json'), '{}')
  const own = await volumeOf(copy)
  expect(own).not.toBe(name)
  await rm(folder, { recursive: true })
  expect(await volumeOf(copy)).toBe(own)
})

test('a volume stays the same if the device gets another number; a snapshot with another path has another volume (VOLUME-1, VOLUME-2)', async () => {
  const name = await volumeOf(folder)
  const { folderId } = JSON.parse(await readFile(join(folder, 'volume.json'), 'utf8')) as { folderId: string }
  const elsewhere = `1${folderId}`
  await change({ folderId: elsewhere })
  expect(await volumeOf(folder)).toBe(name)
  await change({ folderId: elsewhere, folder: join(root, 'original') })
  expect(await volumeOf(folder)).not.toBe(name)
})

test('a folder of an older version keeps the volume that was named by its path', async () => {
  await writeFile(join(folder, 'address.json'), '{}')
  const byPath = `troupe-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
  expect(await volumeOf(folder)).toBe(byPath)
  const moved = join(root, 'moved')
  await rename(folder, moved)
  expect(await volumeOf(moved)).toBe(byPath)
})

test.each(['', '[]', '{"name":"x; rm","folderId":"1","folder":"/"}'])(
  'a text that notes no volume is passed over: %j',
  async (text) => {
    await writeFile(join(folder, 'volume.json'), text)
    const name = await volumeOf(folder)
    expect(name).toMatch(/^troupe-[0-9a-f]{16}$/)
    expect(await volumeOf(folder)).toBe(name)
  },
)
