/** Duty: make a folder with those above it. `mkdir` with `recursive` tries for ever where nothing can be made in a folder that is there, such as /proc. */
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

export async function makeFolder(folder: string): Promise<void> {
  try {
    await makeOne(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(folder) === folder) throw error
    await makeFolder(dirname(folder))
    await makeOne(folder)
  }
}

/** Somebody else may have made it by now. */
async function makeOne(folder: string): Promise<void> {
  await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
}
