/** What a folder is known by, wherever it is. */
import { stat } from 'node:fs/promises'

/**
 * Device and inode: a folder that was moved keeps them, a copy has its own. A device may get another number when the machine starts:
 * no process outlives that.
 */
export async function folderIdOf(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true })
  return `${dev}:${ino}`
}
