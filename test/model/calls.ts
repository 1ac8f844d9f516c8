/** The calls of the scripts as data, and their answers. A call that comes twice is the same call. */
import type { Mark, Token, WorkerRecord } from './records.ts'

export interface Claiming {
  readonly node: string
  /** `<number>.<node>`; empty: nothing is claimed (leave). */
  readonly nonce: string
  readonly wakeup: string
  readonly maySuspect: boolean
  readonly wasBusy: boolean
  readonly keepWakeup: boolean
}

export interface SpawnCall {
  readonly kind: 'spawn'
  readonly mode: 'job' | 'conversation'
  readonly mail: string
  readonly seed: number
}

export interface PostCall {
  readonly kind: 'post'
  readonly worker: string
  readonly mail: string
  readonly key: string
  readonly seed: number
}

export interface AnswerCall {
  readonly kind: 'answer'
  readonly ask: string
  readonly key: string
  readonly value: string
  readonly seed: number
}

/** The timers that are due: all of them. */
export interface FireCall {
  readonly kind: 'fire'
  readonly seed: number
}

export interface ClaimCall extends Claiming {
  readonly kind: 'claim'
}

/** A run is about to begin. */
export interface EnterCall {
  readonly kind: 'enter'
  readonly worker: string
  readonly token: Token
}

export interface CommitCall {
  readonly kind: 'commit'
  readonly worker: string
  readonly token: Token
  readonly sequence: number
  readonly version: number
  readonly open: boolean
  readonly pendingCalls: readonly number[]
  /** How many results were to come when the run ended, or still are. */
  readonly pendingCount: number
  readonly entries: readonly string[]
  readonly inputsConsumed: number
  readonly signalsConsumed: number
  readonly signalsOpen: number
  readonly asks: readonly { readonly id: string; readonly expires: boolean }[]
  readonly resultsConsumed: readonly number[]
  readonly resultsSeen: number
  readonly outcome: '' | 'completed' | 'failed' | 'cancelled'
  /** Mail for the parent; empty for none. */
  readonly result: string
  /** The consumed input goes to the dead letters. */
  readonly dead: boolean
  readonly spawns: readonly {
    readonly id: string
    readonly call: number
    readonly mail: string
    readonly detached: boolean
  }[]
  /** Empty if the turn goes on. */
  readonly wait: string
  readonly next: Claiming
  readonly seed: number
}

export interface RenewCall {
  readonly kind: 'renew'
  readonly worker: string
  readonly token: Token
  readonly wakeup: string
  readonly seed: number
}

export interface SweepCall {
  readonly kind: 'sweep'
  readonly free: number
  readonly seed: number
}

export interface CancelCall {
  readonly kind: 'cancel'
}

export interface FinishCall {
  readonly kind: 'finish'
}

export type Call =
  | SpawnCall
  | PostCall
  | AnswerCall
  | FireCall
  | ClaimCall
  | EnterCall
  | CommitCall
  | RenewCall
  | SweepCall
  | CancelCall
  | FinishCall

export interface Assigned {
  readonly kind: 'assigned'
  readonly worker: string
  readonly purpose: Mark
  readonly token: Token
  readonly suspect: boolean
  readonly version: number
  readonly run: number
  readonly open: boolean
  readonly gates: WorkerRecord['gates']
  readonly pendingCalls: readonly number[]
  readonly resultsTaken: number
  readonly signalsOpen: number
  readonly signals: readonly string[]
  readonly results: readonly string[]
  readonly inbox: readonly string[]
}

export type Claimed = Assigned | { readonly kind: 'empty' | 'unfit' | 'none' | 'later' }

export type Answer =
  | { readonly kind: 'ok' | 'again'; readonly position: number; readonly wakeups: readonly string[] }
  | {
      readonly kind: 'committed'
      readonly version: number
      readonly wakeups: readonly string[]
      readonly claimed: Claimed
      /** A run waits for the place of the run that has ended. */
      readonly opensGate: boolean
    }
  | { readonly kind: 'fenced'; readonly claimed: Claimed }
  | { readonly kind: 'conflict'; readonly version: number }
  | { readonly kind: 'cancelled' | 'not_found' | 'terminal' | 'done' | 'wait' }
  | { readonly kind: 'in' | 'waits' }
  | { readonly kind: 'session_finished'; readonly state: string }
  | { readonly kind: 'answered'; readonly by: string }
  | { readonly kind: 'other' | 'expired' | 'withdrawn' }
  | { readonly kind: 'fired'; readonly fired: number; readonly wakeups: readonly string[] }
  | { readonly kind: 'verdict'; readonly verdict: 'kept' | 'fenced' | 'cancelled'; readonly wakeups: readonly string[] }
  | { readonly kind: 'swept'; readonly healed: number; readonly wakeups: readonly string[] }
  | Claimed
