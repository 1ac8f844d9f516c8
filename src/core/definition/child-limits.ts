/** Duty: check what a kind declares of its children: how many, how deep, how many at once. It can only narrow what the session allows. */
import { didYouMean } from '../check/closest.ts'
import { isObject } from '../check/is-object.ts'
import { preview } from '../check/preview.ts'
import { ConfigError, LimitError } from '../errors.ts'
import { hardSessionLimits, type WorkerLimits } from '../policy.ts'

export interface ChildLimits {
  /** How many children a worker of this kind may wait for at most, with those that wait to start. Default: the limit of the session. */
  readonly children?: number
  /** How deep in the tree its children may be, from 1; the root has depth 0. Default: the limit of the session. */
  readonly depth?: number
}

export const childLimitNames = ['children', 'depth'] as const

interface Declared {
  readonly limits?: ChildLimits | undefined
  readonly childrenAtOnce?: number | undefined
}

/** Throws a ConfigError that names the wrong field. `known`: what `limits` may hold. */
export function checkDeclared(
  { limits, childrenAtOnce }: { readonly limits?: unknown; readonly childrenAtOnce?: unknown },
  known: readonly string[],
  whose: 'an agent' | 'a handler',
): void {
  if (limits !== undefined && !isObject(limits))
    throw new ConfigError(`limits must be an object like { children: 100 }, not ${preview(limits)}.`)
  for (const name of Object.keys(limits ?? {})) {
    if (!known.includes(name))
      throw new ConfigError(
        `limits of ${whose} may hold ${known.join(', ')}, not ${JSON.stringify(name)}.${didYouMean(name, known)}`,
      )
  }
  for (const name of childLimitNames) checkMost(`limits.${name}`, limits?.[name], hardSessionLimits[name])
  checkMost('childrenAtOnce', childrenAtOnce, hardSessionLimits.children)
}

function checkMost(field: string, value: unknown, most: number): void {
  if (value === undefined || (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most)) return
  throw new ConfigError(`${field} must be a whole number from 1 to ${most}, not ${preview(value)}.`)
}

/** The limits of a worker of this kind: those of its session, or narrower ones that the kind declares. */
export function limitsWithin(session: WorkerLimits, { limits = {} }: Declared): WorkerLimits {
  const { children = session.children, depth = session.depth } = limits
  if (children >= session.children && depth >= session.depth) return session
  return { ...session, children: Math.min(children, session.children), depth: Math.min(depth, session.depth) }
}

/**
 * Throws a LimitError if the kind allows no such spawn. `awaited`: how many children's results are still to come, new ones included; null for a
 * detached child.
 */
export function checkSpawn(
  { limits = {} }: Declared,
  worker: { readonly kind: string; readonly name: string; readonly workerId: string; readonly depth: number },
  awaited: number | null,
): void {
  const { kind, name, workerId, depth } = worker
  const who = `worker ${name} (${workerId})`
  if (limits.depth !== undefined && depth + 1 > limits.depth)
    throw new LimitError(
      'depth_exceeded',
      `${who} is at depth ${depth} and its kind "${kind}" allows ${limits.depth}: it may not spawn. Raise limits.depth of the definition.`,
    )
  if (limits.children !== undefined && awaited !== null && awaited > limits.children)
    throw new LimitError(
      'children_exceeded',
      `${who} may not spawn: its kind "${kind}" allows ${limits.children} children whose results it still awaits, new ones included. Wait for results, or raise limits.children of the definition.`,
    )
}
