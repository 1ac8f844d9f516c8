/** Duty: the folder of worker files, and the kinds that its files define: those of the user, and those that come with troupe. */
import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Config } from '../../config.ts'
import type { WorkerDefinition } from '../../core/definition/define-worker.ts'
import type { ConfigError } from '../../core/errors.ts'
import { safe, tell } from '../terminal/output.ts'

export const workersFolderDefault = './workers'

/** The folder that the person named, or the default folder if that exists. */
export async function workersFolder(config: Config): Promise<string | undefined> {
  if (config.workers !== undefined) return config.workers
  const found = await stat(workersFolderDefault).catch(() => undefined)
  return found?.isDirectory() ? workersFolderDefault : undefined
}

/** The workers that come with troupe: beside `src` when the sources run, inside `dist` when the build runs. */
export function bundledWorkersFolder(): string {
  const folder = import.meta.url.endsWith('.ts') ? '../../../workers' : '../../workers'
  return fileURLToPath(new URL(folder, import.meta.url))
}

interface LocalFolder {
  readonly kinds: Map<string, WorkerDefinition>
  /** What is wrong with the file of a kind, by kind. */
  readonly broken: ReadonlyMap<string, ConfigError>
}

/** Tells which files are passed over. */
export async function readLocalKinds(folder: string, say: (line: string) => void = tell): Promise<LocalFolder> {
  const { readWorkers } = await import('../../compose.ts')
  const { kinds, broken, skipped } = await readWorkers(folder)
  for (const sentence of skipped) say(`troupe: ${safe(sentence)}`)
  return { kinds, broken }
}

/** Throws a ConfigError that names the file that cannot be loaded. */
export async function loadLocalKinds(folder: string): Promise<Map<string, WorkerDefinition>> {
  const { kinds, broken } = await readLocalKinds(folder)
  for (const error of broken.values()) throw error
  return kinds
}
