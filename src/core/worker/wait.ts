/**
 * Duty: define the waits of a resting worker: the form of a wait in the record, the messages that end it, and its words for people.
 * Owns: all of this, together with lua/shared/record/waits.lua, the half that scripts need. Does not own: when a worker rests (the behaviours).
 * WAIT-1 What follows from the sort of a wait is asked here and in waits.lua. Whoever adds a sort adds it there, and in client/holdup.ts, for people; the
 *        compiler names the places. A test compares this file with waits.lua over a table of cases.
 * WAIT-2 A signal ends every wait except those for a retry, for a start and at a gate.
 */
import { preview } from '../check/preview.ts'
import { isId } from '../ids.ts'
import type { AskSort } from './ask/ask.ts'
import type { GateFacts } from './gates.ts'
import type { Lane } from './message/message.ts'

export type Wait =
  /** Any message ends this wait. */
  | { readonly kind: 'any' }
  /** A signal ends it, such as a timer of the open run. */
  | { readonly kind: 'signal' }
  /** Only its own timer ends this wait: then the next attempt begins. */
  | { readonly kind: 'retry' }
  /** No message ends this wait: the worker has not begun, and starts when a sibling has ended (`childrenAtOnce` of its parent's kind). */
  | { readonly kind: 'start' }
  /** No message ends this wait: the run begins when its gate opens (`concurrency` and `rate` of its kind). */
  | { readonly kind: 'gate' }
  /** The result of this child ends it. */
  | { readonly kind: 'result'; readonly child: string }
  /** It ends once this many results have come, counted over the life of the worker. */
  | { readonly kind: 'results'; readonly count: number }

/** The wait with which a turn ends; or `again`, if the worker goes on at once. */
export type TurnWait = Wait | { readonly kind: 'again' }

export const forAny: Wait = { kind: 'any' }
export const forSignal: Wait = { kind: 'signal' }
export const forRetry: Wait = { kind: 'retry' }
export const forStart: Wait = { kind: 'start' }
export const forGate: Wait = { kind: 'gate' }
export const goOn: TurnWait = { kind: 'again' }
export const forResult = (child: string): Wait => ({ kind: 'result', child })
export const forResults = (count: number): Wait => ({ kind: 'results', count })

/** The text of a wait in the record and in a commit. */
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
    case 'start':
    case 'gate':
    case 'again':
      return wait.kind
  }
}

/** The wait with this text; null if no wait has it. */
export function decodeWait(text: string): Wait | null {
  if (text === 'any') return forAny
  if (text === 'signals') return forSignal
  if (text === 'retry') return forRetry
  if (text === 'start') return forStart
  if (text === 'gate') return forGate
  const [, sort, what = ''] = /^(result|results):(.+)$/.exec(text) ?? []
  if (sort === 'result' && isId(what)) return forResult(what)
  return sort === 'results' && /^\d+$/.test(what) ? forResults(Number(what)) : null
}

/** A wait that only a script ends, when its time has come: no message does. */
export type WaitForScript = Extract<Wait, { readonly kind: 'retry' | 'start' | 'gate' }>

export function isForScript(wait: Wait): wait is WaitForScript {
  return scriptWaits[wait.kind]
}

const scriptWaits: Readonly<Record<Wait['kind'], boolean>> = {
  any: false,
  signal: false,
  retry: true,
  start: true,
  gate: true,
  result: false,
  results: false,
}

/** A message that has arrived. */
export interface Arrival {
  readonly lane: Lane
  /** The child whose result it is; undefined for any other message. */
  readonly child?: string | undefined
  /** How many messages have ever come into its lane, including this one. */
  readonly count: number
}

/** True if this message ends the wait. */
export function endsWait(wait: Wait, { lane, child, count }: Arrival): boolean {
  if (isForScript(wait)) return false
  switch (wait.kind) {
    case 'any':
      return true
    case 'signal':
      return lane === 'signals'
    case 'result':
      return lane === 'signals' || (lane === 'results' && child === wait.child)
    case 'results':
      return lane === 'signals' || (lane === 'results' && count >= wait.count)
  }
}

/** An ask of the worker that nobody has answered. */
export interface AwaitedAsk {
  readonly kind: AskSort
  readonly question: string
}

export interface WaitFacts {
  readonly timers: number
  readonly asks: number
  /** The oldest of its asks; undefined if it has none, or none that can be read. */
  readonly ask: AwaitedAsk | undefined
  /** How many children have not reported yet; and how many of them wait to start. */
  readonly openChildren: number
  readonly waitingChildren: number
  /** How many children its run has spawned. It waits for none of those that are detached. */
  readonly spawned: number
  /** How many attempts have failed. */
  readonly attempts: number
  /** The gate at which it waits; null if it waits at none, or nothing is known of that. */
  readonly gate: GateFacts | null
  /** The number of the call that spawned this child; null if it is not of this run. */
  readonly callOf: (child: string) => number | null
}

/** Words for people, to be read behind "waits for". */
export function waitText(wait: Wait, facts: WaitFacts): string {
  if (wait.kind === 'signal') return signalText(facts)
  const text = messageText(wait, facts)
  return facts.asks === 0 || wait.kind === 'retry' ? text : `${text}, or ${signalText({ ...facts, timers: 0 })}`
}

function signalText({ timers, asks, ask }: WaitFacts): string {
  if (asks === 0) return timers > 0 ? 'a timer' : 'a timer or an answer'
  const more = asks === 1 ? '' : `, and ${asks - 1} more ${asks === 2 ? 'ask' : 'asks'}`
  return `${askText(ask)}${more}${timers > 0 ? ', or a timer' : ''}`
}

function askText(ask: AwaitedAsk | undefined): string {
  const what = ask && preview(ask.question)
  switch (ask?.kind) {
    case undefined:
      return 'an answer'
    case 'question':
      return `a person to answer ${what}`
    case 'approval':
      return `a person to approve ${what}`
    case 'signal':
      return `the signal ${what}`
  }
}

function messageText(
  wait: Exclude<Wait, { readonly kind: 'signal' }>,
  { openChildren, waitingChildren, spawned, attempts, gate, callOf }: WaitFacts,
): string {
  const unstarted =
    waitingChildren === 0 ? '' : `, ${waitingChildren} of them ${waitingChildren === 1 ? 'waits' : 'wait'} to start`
  const of = spawned > openChildren ? ` of the ${spawned} that it spawned` : ''
  switch (wait.kind) {
    case 'any':
      return 'input'
    case 'retry':
      return `a retry after ${attempts} failed ${attempts === 1 ? 'attempt' : 'attempts'}`
    case 'start':
      return 'its turn to start: its parent has as many children at once as its kind allows'
    case 'gate':
      return gateText(gate)
    case 'results':
      if (openChildren === 0) return 'results of its children'
      return `results of its children; ${openChildren}${of} ${openChildren === 1 ? 'is' : 'are'} open${unstarted}`
    case 'result': {
      const call = callOf(wait.child)
      const which = call === null ? `worker ${wait.child}` : `its child number ${call} (${wait.child})`
      return openChildren === 1
        ? `the result of ${which}`
        : `the result of ${which}; ${openChildren} children are open${unstarted}`
    }
  }
}

/** The key is what a user gave: it is quoted, and cut. */
function gateText(gate: GateFacts | null): string {
  if (gate === null) return 'its turn to begin: its kind has as many runs as it allows'
  const { sort, kind, key, most, perMs, taken, ahead } = gate
  const of = key === null ? `kind ${kind}` : `kind ${kind} with key ${preview(key)}`
  const behind = ahead === 0 ? '' : `; ${ahead} ${ahead === 1 ? 'waits' : 'wait'} in front of it`
  if (sort === 'runs') return `a place: ${taken} of ${most} runs of ${of} are in progress${behind}`
  return `its turn to begin: ${most} ${most === 1 ? 'run' : 'runs'} of ${of} may begin within ${perMs} ms${behind}`
}
