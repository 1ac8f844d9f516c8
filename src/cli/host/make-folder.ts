/** Duty: make a folder with those above it. `mkdir` with `recursive` tries for ever where nothing can be made in a folder that is there, such as /proc. */
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error
    await makeFolder(dirname(folder))
    await mkdir(folder)
  }
}
