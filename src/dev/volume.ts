/**
 * Duty: choose the name of the volume in which a container keeps the data of a folder's Redis. The folder remembers the name.
 * VOLUME-1 A folder keeps its volume when it is moved, and when its device gets another number at the start of the machine.
 * VOLUME-2 No two folders have the same volume: neither a copy of a folder, which also copies the remembered name, nor a new folder at the place
 *          of a moved one.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { folderIdOf } from './folder-id.ts'

interface KnownVolume {
  readonly name: string
  /** Id and path of the folder to which the volume belongs. */
  readonly folderId: string
  readonly folder: string
}

/** `folder` must be a real path, and the caller must hold the start lock. */
export async function volumeOf(folder: string): Promise<string> {
  const file = join(folder, 'volume.json')
  const folderId = await folderIdOf(folder)
  const known = await readVolume(file)
  const isOwn = known !== undefined && isSameFolder(known, folderId, folder)
  if (isOwn && known.folderId === folderId && known.folder === folder) return known.name
  const name = isOwn ? known.name : await newName(folder, known === undefined)
  // Written atomically: if the name were lost, so would be the data.
  await writeFile(`${file}.new`, JSON.stringify({ name, folderId, folder }))
  await rename(`${file}.new`, file)
  return name
}

/** The device number may change, but then the path stays. A snapshot has the inode of its original, but another device number and another path. */
function isSameFolder(known: KnownVolume, folderId: string, folder: string): boolean {
  const inode = (id: string) => id.slice(id.indexOf(':'))
  return known.folderId === folderId || (known.folder === folder && inode(known.folderId) === inode(folderId))
}

/** Older versions derived the name from the path of the folder and did not store it. */
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
