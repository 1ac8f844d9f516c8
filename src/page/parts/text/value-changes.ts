/** Duty: how one JSON value differs from another, place by place, and text word by word. */
import { diffWordsWithSpace } from 'diff'
import { isObject } from '../../../core/check/is-object.ts'

/** A text that both have, or that only one has. */
export interface Piece {
  readonly text: string
  readonly of: 'both' | 'before' | 'after'
}

export interface Change {
  /** The path `tasks[0].kind`; empty: the whole value. */
  readonly path: string
  readonly pieces: readonly Piece[]
}

/** Texts that differ in more words than can be compared in this time are shown one after the other. */
const compareMsMost = 100

export function changesBetween(before: unknown, after: unknown, path = ''): Change[] {
  if (isObject(before) && isObject(after))
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) =>
      changesBetween(own(before, name), own(after, name), path === '' ? name : `${path}.${name}`),
    )
  if (Array.isArray(before) && Array.isArray(after))
    return Array.from({ length: Math.max(before.length, after.length) }, (_, at) => at).flatMap((at) =>
      changesBetween(before[at], after[at], `${path}[${at}]`),
    )
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  return [{ path, pieces: piecesOf(before, after) }]
}

/** A model may call an argument `constructor`: what every object inherits is no part of the value. */
function own(value: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

function piecesOf(before: unknown, after: unknown): Piece[] {
  const words =
    typeof before === 'string' && typeof after === 'string'
      ? diffWordsWithSpace(before, after, { timeout: compareMsMost })
      : undefined
  if (words === undefined)
    return [
      ...(before === undefined ? [] : [{ text: textOf(before), of: 'before' as const }]),
      ...(after === undefined ? [] : [{ text: textOf(after), of: 'after' as const }]),
    ]
  return words.map(({ value, removed, added }) => ({ text: value, of: removed ? 'before' : added ? 'after' : 'both' }))
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
