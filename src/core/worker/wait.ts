/**
 * Duty: the grammar of a wait, which says what a resting worker waits for: its form in the record, what ends it, and its words for people.
 * Owns: all of it, with lua/shared/waits.lua, which is the half that scripts need. Does not own: when a worker rests (the behaviours).
 * WAIT-1 A new sort of wait is added here and in waits.lua, and nowhere else; a test compares the two over a table of cases.
 * WAIT-2 A signal ends every wait but that for a retry.
 */
import { isId } from '../ids.ts'
import type { Lane } from './message.ts'

export type Wait =
  /** For any message. */
  | { readonly kind: 'any' }
  /** For a timer of the open run. */
  | { readonly kind: 'signal' }
  /** For the next attempt at what failed: its own timer wakes the worker, and no message does. */
  | { readonly kind: 'retry' }
  /** For the result of this child. */
  | { readonly kind: 'result'; readonly child: string }
  /** Until this many results have ever come, counted over the worker's life. */
  | { readonly kind: 'results'; readonly count: number }

/** What the end of a turn says: the wait of a worker that rests, or that it goes on at once. */
export type TurnWait = Wait | { readonly kind: 'again' }

export const forAny: Wait = { kind: 'any' }
export const forSignal: Wait = { kind: 'signal' }
export const forRetry: Wait = { kind: 'retry' }
export const goOn: TurnWait = { kind: 'again' }
export const forResult = (child: string): Wait => ({ kind: 'result', child })
export const forResults = (count: number): Wait => ({ kind: 'results', count })

/** A wait as the record keeps it, and as a commit says it. */
export function encodeWait(wait: TurnWait): string {
  switch (wait.kind) {
    case 'signal':
      return 'signals'
    case 'result':
      return `result:${wait.child}`
    case 'results':
      return `results:${wait.count}`
    case 'any':
    case 'retry':
    case 'again':
      return wait.kind
  }
}

/** Null for a text that no wait has. */
export function decodeWait(text: string): Wait | null {
  if (text === 'any') return forAny
  if (text === 'signals') return forSignal
  if (text === 'retry') return forRetry
  const [, sort, what = ''] = /^(result|results):(.+)$/.exec(text) ?? []
  if (sort === 'result' && isId(what)) return forResult(what)
  return sort === 'results' && /^\d+$/.test(what) ? forResults(Number(what)) : null
}

/** A message that came. */
export interface Arrival {
  readonly lane: Lane
  /** The child whose result it is. */
  readonly child?: string | undefined
  /** How many messages of its lane have ever come, this one included. */
  readonly count: number
}

/** Does this message end the wait? */
export function endsWait(wait: Wait, { lane, child, count }: Arrival): boolean {
  switch (wait.kind) {
    case 'any':
      return true
    case 'retry':
      return false
    case 'signal':
      return lane === 'signals'
    case 'result':
      return lane === 'signals' || (lane === 'results' && child === wait.child)
    case 'results':
      return lane === 'signals' || (lane === 'results' && count >= wait.count)
  }
}

export interface WaitFacts {
  /** Children whose results are still to come. */
  readonly openChildren: number
  /** Failed attempts at what is tried again. */
  readonly attempts: number
  /** The number of the spawning call that made this child; null where it is none of the run. */
  callOf(child: string): number | null
}

/** What the worker waits for, to be read behind "waits for". */
export function waitText(wait: Wait, { openChildren, attempts, callOf }: WaitFacts): string {
  switch (wait.kind) {
    case 'any':
      return 'input'
    case 'signal':
      return 'a timer'
    case 'retry':
      return `a retry after ${attempts} failed ${attempts === 1 ? 'try' : 'tries'}`
    case 'results':
      if (openChildren === 0) return 'results of its children'
      return `results of its children; ${openChildren} ${openChildren === 1 ? 'is' : 'are'} open`
    case 'result': {
      const call = callOf(wait.child)
      const which = call === null ? `worker ${wait.child}` : `its child number ${call} (${wait.child})`
      return openChildren === 1 ? `the result of ${which}` : `the result of ${which}; ${openChildren} children are open`
    }
  }
}
