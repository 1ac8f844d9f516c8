/** Duty: identify a folder independently of its path. */
import { stat } from 'node:fs/promises'

/**
 * Device and inode. A moved folder keeps both; a copy has its own. A device may get another number when the machine starts, but no process
 * survives that.
 */
export async function folderIdOf(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true })
  return `${dev}:${ino}`
}
