/** Duty: make the kinds of one node from definitions; those that cannot be used are left out, if the caller says what becomes of them. */
import { fileURLToPath } from 'node:url'
import type { WorkerDefinition } from '../../core/definition/define-worker.ts'
import { ConfigError } from '../../core/errors.ts'
import type { Kind } from './kind.ts'
import type { KindMaker } from './kind-maker.ts'
import { readWorkers, type WorkerFolder } from './worker-loader.ts'

/** A folder of worker files, by its path or its file URL, or definitions by kind. */
export type Workers = string | URL | ReadonlyMap<string, WorkerDefinition> | Readonly<Record<string, WorkerDefinition>>

/** Without `onUnusable` the first kind that cannot be used throws its ConfigError. */
export function makeKinds(
  maker: KindMaker,
  definitions: Iterable<readonly [kind: string, definition: WorkerDefinition]>,
  onUnusable?: (kind: string, error: ConfigError) => void,
): Kind[] {
  return [...definitions].flatMap(([name, definition]) => {
    try {
      return [maker.make(name, definition)]
    } catch (thrown) {
      if (onUnusable === undefined || !(thrown instanceof ConfigError)) throw thrown
      onUnusable(name, thrown)
      return []
    }
  })
}

export async function workersOf(workers: Workers): Promise<WorkerFolder> {
  const folder = folderOf(workers)
  if (folder !== undefined) return readWorkers(folder)
  return { kinds: new Map(workers instanceof Map ? workers : Object.entries(workers)), broken: new Map(), skipped: [] }
}

/** The path of the folder; undefined for definitions. */
export function folderOf(workers: Workers): string | undefined {
  if (workers instanceof URL) return fileURLToPath(workers)
  return typeof workers === 'string' ? workers : undefined
}

export function noKinds(workers: Workers, unusable: number): string {
  if (unusable > 0) return 'no kind can be used: the warnings before this say why.'
  const folder = folderOf(workers)
  const where = folder === undefined ? 'no workers were given' : `the folder ${folder} holds no worker files`
  return `${where}: a worker file has \`export default defineWorker({ … })\`.`
}
