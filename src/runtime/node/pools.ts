/** Duty: the pools of the kinds that a node was given, and the check that each pool which the node shall host has a kind. */
import { didYouMean } from '../../core/check/closest.ts'
import { preview } from '../../core/check/preview.ts'
import { isWorkerDefinition, type WorkerDefinition } from '../../core/definition/define-worker.ts'
import { ConfigError } from '../../core/errors.ts'
import { defaultPool } from '../../core/ids.ts'

/** A value that is no definition is refused where its kind is made. */
export function poolOf(definition: WorkerDefinition): string {
  return (isWorkerDefinition(definition) ? definition.pool : undefined) ?? defaultPool
}

/** A pool without a kind is a misspelt one: its kinds would wait for a node in silence. */
export function checkPools(wanted: readonly string[], known: readonly string[]): void {
  const empty = wanted.find((pool) => !known.includes(pool))
  if (empty === undefined) return
  const advice = didYouMean(empty, known)
  throw new ConfigError(`no worker kind is in the pool ${preview(empty)}: the pools are ${known.join(', ')}.${advice}`)
}
