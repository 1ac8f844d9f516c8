/** Duty: the kinds that the worker files of a folder define. */
import type { WorkerDefinition } from '../../core/definition/define-worker.ts'

/** Throws a ConfigError that names the file that cannot be loaded. */
export async function loadLocalKinds(folder: string): Promise<Map<string, WorkerDefinition>> {
  const { loadWorkers } = await import('../../compose.ts')
  return loadWorkers(folder)
}
