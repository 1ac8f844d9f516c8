/** Duty: the kinds that the worker files of a folder define. Throws a ConfigError that names the file that cannot be loaded. */
import type { WorkerDefinition } from '../core/define-worker.ts'

export async function loadLocalKinds(folder: string): Promise<Map<string, WorkerDefinition>> {
  const { loadWorkers } = await import('../compose.ts')
  return loadWorkers(folder)
}
