/** Duty: where worker files are: those of the user, and those that come with troupe. */
import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Config } from '../../config.ts'

export const workersFolderDefault = './workers'

/** The folder that was named, or the default one where it exists. */
export async function workersFolder(config: Config): Promise<string | undefined> {
  if (config.workers !== undefined) return config.workers
  const found = await stat(workersFolderDefault).catch(() => undefined)
  return found?.isDirectory() ? workersFolderDefault : undefined
}

/** The workers that come with troupe: beside the sources when it runs from them, inside dist when it is built. */
export function bundledWorkersFolder(): string {
  const place = import.meta.url.endsWith('.ts') ? '../../../workers' : '../../workers'
  return fileURLToPath(new URL(place, import.meta.url))
}
