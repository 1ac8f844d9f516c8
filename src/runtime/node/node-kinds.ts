/** Duty: make the kinds of one node from definitions; those that cannot be used are left out, if the caller says what becomes of them. */
import type { WorkerDefinition } from '../../core/definition/define-worker.ts'
import { ConfigError } from '../../core/errors.ts'
import type { Kind } from './kind.ts'
import type { KindMaker } from './kind-maker.ts'
import { readWorkers, type WorkerFolder } from './worker-loader.ts'

/** A folder of worker files, or definitions by kind. */
type Workers = string | ReadonlyMap<string, WorkerDefinition> | Readonly<Record<string, WorkerDefinition>>

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
  if (typeof workers === 'string') return readWorkers(workers)
  return { kinds: new Map(workers instanceof Map ? workers : Object.entries(workers)), broken: new Map(), skipped: [] }
}

export function noKinds(workers: Workers, unusable: number): string {
  if (unusable > 0) return 'no kind can be used: the warnings before this say why.'
  const where = typeof workers === 'string' ? `the folder ${workers} holds no worker files` : 'no workers were given'
  return `${where}: a worker file has \`export default defineWorker({ … })\`.`
}
