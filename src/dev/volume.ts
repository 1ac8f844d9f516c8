/**
 * Duty: the name of the volume in which a container keeps the data of a folder's Redis. The folder remembers it.
 *
 * V1  A folder keeps its volume where it is moved, and where its device gets another number when the machine starts.
 * V2  No two folders have the same: neither a copy, which remembers that of another, nor who takes the place of a folder that was moved.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { folderIdOf } from './folder-id.ts'

interface KnownVolume {
  readonly name: string
  /** Whose it is: the folder's id and path. */
  readonly folderId: string
  readonly folder: string
}

/** `folder` is a real path. The caller holds the start lock. */
export async function volumeOf(folder: string): Promise<string> {
  const file = join(folder, 'volume.json')
  const folderId = await folderIdOf(folder)
  const known = await readVolume(file)
  const isOwn = known !== undefined && isSameFolder(known, folderId, folder)
  if (isOwn && known.folderId === folderId && known.folder === folder) return known.name
  const name = isOwn ? known.name : await newName(folder, known === undefined)
  // At once: a name that was lost half-way would be data that is lost.
  await writeFile(`${file}.new`, JSON.stringify({ name, folderId, folder }))
  await rename(`${file}.new`, file)
  return name
}

/** A device has another number at times, but not another path as well; a snapshot has both, with the inode of its original. */
function isSameFolder(known: KnownVolume, folderId: string, folder: string): boolean {
  const inode = (id: string) => id.slice(id.indexOf(':'))
  return known.folderId === folderId || (known.folder === folder && inode(known.folderId) === inode(folderId))
}

/** Older versions named it by the folder's path, and did not write that down. */
async function newName(folder: string, mayBeOlder: boolean): Promise<string> {
  const isOlder = mayBeOlder && (await stat(join(folder, 'address.json')).catch(() => undefined)) !== undefined
  const id = isOlder ? createHash('sha256').update(folder).digest('hex').slice(0, 16) : randomBytes(8).toString('hex')
  return `troupe-${id}`
}

async function readVolume(file: string): Promise<KnownVolume | undefined> {
  try {
    const known = JSON.parse(await readFile(file, 'utf8')) as Partial<KnownVolume>
    const { name, folderId, folder } = known
    const isWhole = typeof folderId === 'string' && typeof folder === 'string' && typeof name === 'string'
    return isWhole && /^troupe-[0-9a-f]{16}$/.test(name) ? { name, folderId, folder } : undefined
  } catch {
    return undefined
  }
}
