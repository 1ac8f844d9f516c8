/** Duty: the pools of the kinds that a node was given, and the check that each pool that the node is to host has a kind, and that there are not too many. */
import { didYouMean } from '../../core/check/closest.ts'
import { preview } from '../../core/check/preview.ts'
import { isWorkerDefinition, type WorkerDefinition } from '../../core/definition/define-worker.ts'
import { ConfigError } from '../../core/errors.ts'
import { defaultPool } from '../../core/ids.ts'
import { policy } from '../../core/policy.ts'

/** A value that is no definition is refused where its kind is made. */
export function poolOf(definition: WorkerDefinition): string {
  return (isWorkerDefinition(definition) ? definition.pool : undefined) ?? defaultPool
}

/** `known`: the pools that have kinds; `wanted`: those of them that the node is to host, or undefined for all. */
export function checkPools(wanted: readonly string[] | undefined, known: readonly string[]): void {
  // A pool without a kind is a misspelt one: its kinds would wait for a node in silence.
  const empty = wanted?.find((pool) => !known.includes(pool))
  if (empty !== undefined) {
    const advice = didYouMean(empty, known)
    throw new ConfigError(
      `no worker kind is in the pool ${preview(empty)}: the pools are ${known.join(', ')}.${advice}`,
    )
  }
  const count = new Set(wanted ?? known).size
  if (count > policy.nodePoolsMax)
    throw new ConfigError(
      `this node would serve ${count} pools, and a node serves ${policy.nodePoolsMax} at most: it looks at each of them once a second. Put more kinds into one pool, or start several nodes for some pools each (pools of startNode, troupe node --pool).`,
    )
}
