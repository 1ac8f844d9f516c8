/**
 * The world of the model of guests: workers of the first partition and of another one, the gates that the first one has for both, and the calls that are
 * under way between the two. A name of a run is `<worker>` in the first partition, and `<worker>:<version>` of a guest.
 */

export type Standing = 'in' | 'waits' | 'out' | 'later'

export type Sort = 'runs' | 'rate'

/** One worker, its record, and what its node knows. */
export interface Worker {
  readonly isGuest: boolean
  /** The key of its input: its run passes the gate `runs <key>`. */
  readonly key: string
  version: number
  status: 'queued' | 'running' | 'parked' | 'over'
  gates: { readonly state: 'in' | 'out' | Sort; readonly version: number } | null
  /** asks: the node waits for an answer of the first partition. cancelled: it was told so when the run was about to begin. */
  turn: 'none' | 'new' | 'asks' | 'in' | 'cancelled'
  isCancelled: boolean
  runsLeft: number
}

export interface Gate {
  in: string[]
  waiting: string[]
  /** How many runs began within the time of the rate. */
  begun: number
}

/** A script that was called and has not run yet. */
export interface Call {
  /** host and guest: the scripts of these names. enter: the node has the answer of host. */
  readonly script: 'host' | 'guest' | 'enter'
  /** For host: `asks` or a standing. For guest: `in` or `out`. For enter: what host answered. */
  readonly says: string
  readonly run: string
  /** The node that called is dead. */
  isStale: boolean
}

export interface Limits {
  readonly runs?: number
  /** How many runs of all keys begin within the time. */
  readonly rate?: number
}

export interface Faults {
  /** Calls that come twice. */
  twice: number
  cancels: number
  /** How often the first partition loses all that it knows of guests. */
  forgets: number
}

export interface World {
  readonly limits: Limits
  readonly heals: boolean
  readonly workers: Worker[]
  /** By `runs <key>` and `rate all`. */
  readonly gates: Record<string, Gate>
  /** Who waits at gates, in the order in which they came. */
  arrivals: string[]
  /** The guests in the list of the first partition: they may begin, and their own partition does not know. */
  news: string[]
  /** The guests in the list of the other partition. */
  told: string[]
  calls: Call[]
  /** The runs that the first partition let begin within the time of the rate. */
  admitted: string[]
  readonly faults: Faults
}

export interface Scene {
  readonly name: string
  readonly limits: Limits
  readonly workers: readonly { readonly isGuest: boolean; readonly key: string; readonly runs: number }[]
  readonly faults?: Partial<Faults>
  /** A look at a gate also asks about the guests in progress there. Absent: what the partitions tell each other must be enough. */
  readonly heals?: true
  /** How many calls may be under way at once. */
  readonly callsMost: number
}

export function newWorld({ limits, workers, faults, heals }: Scene): World {
  const keys = [...new Set(workers.map(({ key }) => key))]
  const names = [...(limits.runs ? keys.map((key) => `runs ${key}`) : []), ...(limits.rate ? ['rate all'] : [])]
  return {
    limits,
    heals: heals === true,
    workers: workers.map(({ isGuest, key, runs }) => ({
      isGuest,
      key,
      version: 0,
      status: 'queued',
      gates: null,
      turn: 'none',
      isCancelled: false,
      runsLeft: runs,
    })),
    gates: Object.fromEntries(names.map((name) => [name, { in: [], waiting: [], begun: 0 }])),
    arrivals: [],
    news: [],
    told: [],
    calls: [],
    admitted: [],
    faults: { twice: 0, cancels: 0, forgets: 0, ...faults },
  }
}

export function workerOf(world: World, run: string): Worker {
  return world.workers[Number(run.split(':')[0])] as Worker
}

/** The gates that this worker's runs pass, in the order in which they ask there. */
export function gatesOf({ gates }: World, { key }: Worker): [Sort, Gate][] {
  const all: [Sort, Gate | undefined][] = [
    ['runs', gates[`runs ${key}`]],
    ['rate', gates['rate all']],
  ]
  return all.filter((one): one is [Sort, Gate] => one[1] !== undefined)
}
