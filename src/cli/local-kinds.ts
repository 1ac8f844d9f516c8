/** Duty: the kinds that the worker files of a folder define, and which of them cannot run here. */
import type { Config } from '../config.ts'
import type { WorkerDefinition } from '../core/define-worker.ts'
import type { ConfigError } from '../core/errors.ts'

/** Throws a ConfigError that names the file that cannot be loaded. */
export async function loadLocalKinds(folder: string): Promise<Map<string, WorkerDefinition>> {
  const { loadWorkers } = await import('../compose.ts')
  return loadWorkers(folder)
}

export async function unusableLocalKinds(
  kinds: ReadonlyMap<string, WorkerDefinition>,
  models: Config['modelSettings'],
): Promise<ReadonlyMap<string, ConfigError>> {
  const { unusableKinds } = await import('../compose.ts')
  return unusableKinds(kinds, models)
}
