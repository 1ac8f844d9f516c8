/**
 * Duty: name the moments at which a node is killed: before or after the nth call of one sort in the life of the node. Points are numbered by
 * calls and not by the clock, so that the same scenario always passes the same points.
 */

export type Side = 'before' | 'after'

export interface CrashPoint {
  readonly side: Side
  /** The sort of the call, like "commit of clerk". */
  readonly call: string
  /** The number of the call among those of its sort, from 1. */
  readonly nth: number
}

/** "after tool look_up of clerk #1". */
export function pointName({ side, call, nth }: CrashPoint): string {
  return `${side} ${call} #${nth}`
}

/** All points that a run passed, in order. */
export function pointsPassed(passes: readonly { readonly side: Side; readonly call: string }[]): CrashPoint[] {
  const counts = new Map<string, number>()
  return passes.map(({ side, call }) => {
    const sort = `${side} ${call}`
    const nth = (counts.get(sort) ?? 0) + 1
    counts.set(sort, nth)
    return { side, call, nth }
  })
}

/** At most `most` of these points, spread evenly, always with the first and the last. */
export function spread<Item>(items: readonly Item[], most: number): readonly Item[] {
  if (items.length <= most) return items
  if (most === 1) return items.slice(-1)
  const step = (items.length - 1) / (most - 1)
  return Array.from({ length: most }, (_, index) => items[Math.round(index * step)] as Item)
}
