/**
 * Around the scripts: three clients, two nodes with one slot each, the queue of wake-ups, and all that may go wrong. A world is plain
 * data; what it does next is an action, data as well. A script runs as one action, since Redis runs it alone; what a node sends
 * depends only on what it was answered before, so that no other moment of a node needs an action of its own.
 */
import type { Answer, Assigned, Call } from './calls.ts'
import { newStore, type Store } from './records.ts'
import type { Sight } from './sights.ts'

/** How often each thing may still go wrong. */
export interface Faults {
  /** A node dies; another takes its place at once. */
  crashes: number
  /** A call was executed, its answer is lost, and it is sent again. */
  lostAnswers: number
  /** A call arrives once more, at any time later, and nobody waits for its answer. */
  lateCalls: number
  /** A lease ends although its node lives. */
  expiries: number
  lostJobs: number
  doubledJobs: number
  /** A wake-up is stale although somebody is on its way. */
  staleWakeups: number
  /** A turn lasts so long that it is renewed. */
  renews: number
  /** How often a slot may stop at the end of its turn. */
  leaves: number
  /** A run ends and does not wait for its child. */
  abandons: number
  cancels: number
  /** How often Redis may go back to an earlier moment of its own. */
  failOvers: number
  /** A fork looks at a worker. */
  looks: number
}

/** How far a node is with a worker; what it has recorded since the claim stands in the numbers, and the mail is that of the assignment. */
export interface Turn {
  readonly assignment: Assigned
  readonly sequence: number
  readonly version: number
  readonly run: number
  readonly open: boolean
  readonly pendingCalls: readonly number[]
  readonly inputsConsumed: number
  /** The result that the assignment held was received. */
  readonly resultsConsumed: boolean
  /** How many signals of the assignment were received. */
  readonly signalsConsumed: number
  readonly signalsOpen: number
  /** The node was told that the worker is cancelled. */
  readonly cancelled: boolean
  /**
   * ask: a run may begin only when the gate of its kind lets it in. No second run begins in its turn. lost: it is in, and Redis may have lost that.
   * none: the kind has no gate.
   */
  readonly gate: 'none' | 'ask' | 'in' | 'lost' | 'left'
  readonly program: Program
}

/** A call that was executed, and what it was answered, so that a second answer can be compared; null after a fail-over. */
export interface Executed {
  readonly call: Call
  readonly answer: Answer | null
}

export interface Slot {
  /** The program of the kind that it runs. */
  readonly program: Program
  /** The name of the node; a node that takes the place of a dead one has a new name. */
  readonly node: string
  /** The wake-up that the node works for; empty while it sleeps. */
  readonly wakeup: string
  readonly isBusy: boolean
  /** The wake-up is to be set anew by the next claim. */
  readonly keepWakeup: boolean
  /** The number of its next claim. */
  readonly claims: number
  /** A node with a wake-up and without a turn is about to claim. */
  readonly turn: Turn | null
  /** Sent and executed, its answer lost: it will be sent again. */
  readonly pending: Executed | null
}

/** Facts that no key holds, and that checks need. */
export interface Ghost {
  /** Inputs accepted by each worker, in order. */
  readonly accepted: Readonly<Record<string, readonly string[]>>
  /** How often each worker was started since its last commit. */
  readonly starts: Readonly<Record<string, number>>
  /** `<worker>:<run>` and `<worker>:*` of everything ever cancelled. */
  readonly cancelled: readonly string[]
  /** A crash, a sweep or a fail-over left less wake-ups than the rule wants; the next sweep of an idle node mends it. */
  readonly owesWakeups: boolean
}

export interface Client {
  readonly state: 'new' | 'done'
  readonly pending: Executed | null
}

export interface World {
  readonly store: Store
  readonly slots: readonly Slot[]
  readonly clients: readonly Client[]
  readonly jobs: readonly string[]
  readonly late: readonly Executed[]
  readonly faults: Faults
  /** The state that a lagging replica holds. */
  readonly replica: { readonly store: Store; readonly ghost: Ghost } | null
  readonly ghost: Ghost
  /** The facts that a fork has read. */
  readonly sight: Sight | null
  readonly mode: 'job' | 'conversation'
  readonly program: Program
}

/**
 * What the root's first run does: it spawns a child and waits for its result; asks twice and waits for an answer; or spawns two detached children and
 * ends, and of all runs one is in progress at once.
 */
export type Program = 'spawns' | 'asks' | 'gates'

/** The fate of a call: its answer arrives; is lost; or the call comes once more later. */
export type Fate = 'fine' | 'lost' | 'late'

export type Action =
  | { readonly kind: 'submit'; readonly client: number; readonly fate: Fate }
  | { readonly kind: 'take'; readonly slot: number; readonly job: number }
  | { readonly kind: 'claim' | 'enter'; readonly slot: number; readonly fate: Fate }
  | {
      readonly kind: 'commit'
      readonly slot: number
      readonly how: 'step' | 'end' | 'leave' | 'abandon'
      readonly fate: Fate
    }
  | { readonly kind: 'sendAgain'; readonly from: 'slot' | 'client'; readonly index: number }
  | { readonly kind: 'sweep'; readonly slot: number }
  | { readonly kind: 'renew'; readonly slot: number }
  | { readonly kind: 'crash'; readonly slot: number }
  | { readonly kind: 'look'; readonly worker: string }
  | { readonly kind: 'arrive'; readonly late: number }
  | { readonly kind: 'expire'; readonly worker: string; readonly fault: boolean }
  | { readonly kind: 'stale'; readonly wakeup: string; readonly fault: boolean }
  | { readonly kind: 'loseJob' | 'doubleJob'; readonly job: number }
  | { readonly kind: 'fire' | 'cancel' | 'finish' | 'replicate' | 'failOver' }

/** Two clients answer the first ask, each in its own way. */
const clientsOf = { spawns: 3, asks: 4, gates: 3 } as const

export function newWorld(
  faults: Partial<Faults>,
  mode: World['mode'] = 'conversation',
  program: Program = 'spawns',
  clients: number = clientsOf[program],
): World {
  const slot = (node: string): Slot => ({
    node,
    program,
    wakeup: '',
    isBusy: false,
    keepWakeup: false,
    claims: 1,
    turn: null,
    pending: null,
  })
  return {
    store: newStore(2),
    slots: [slot('n1'), slot('n2')],
    clients: Array.from({ length: clients }, () => ({ state: 'new', pending: null })),
    jobs: [],
    late: [],
    faults: { ...noFaults, ...faults },
    replica: null,
    ghost: { accepted: {}, starts: {}, cancelled: [], owesWakeups: false },
    sight: null,
    mode,
    program,
  }
}

const noFaults: Faults = {
  crashes: 0,
  lostAnswers: 0,
  lateCalls: 0,
  expiries: 0,
  lostJobs: 0,
  doubledJobs: 0,
  staleWakeups: 0,
  renews: 0,
  leaves: 0,
  abandons: 0,
  cancels: 0,
  failOvers: 0,
  looks: 0,
}
