/**
 * Duty: the gates of a run: what a record says of them, and what a node asks for when a run begins.
 * GATES-1 A gate is one limit of a kind, for all its runs or for one key of their inputs. It is named by a digest of the key, so that no key is part of the
 *         name of a Redis key.
 * GATES-2 A value of a record has at most 64 bytes: two names of 22 letters and a state fit.
 */
import { digestAsked } from '../ids.ts'

/** `runs`: how many are in progress at once. `rate`: how many begin within a time. */
export type GateSort = 'runs' | 'rate'

/** A gate that a run must pass before it begins. */
export interface GateOrder {
  readonly sort: GateSort
  readonly id: string
  /** The key for people; null: the gate is for all runs of the kind, or the key is not known any more. */
  readonly key: string | null
  readonly most: number
  /** For a rate: the time within which so many runs may begin. */
  readonly perMs?: number
}

/** in: the run begins. waits: it waits at a gate, and its turn is over; `opensInMs`: null if that is not known. never: all that are in progress there wait for it. */
export type EnterAnswer =
  | { readonly kind: 'in' | 'fenced' | 'cancelled' | 'never' }
  | { readonly kind: 'waits'; readonly opensInMs: number | null }

/** `in`: the run is in progress. `out`: the run is over. Otherwise the run waits at this gate. */
export interface RunGates {
  readonly state: 'in' | 'out' | GateSort
  readonly runs: string | null
  readonly rate: string | null
  /** The gates are in another partition. How many commits the worker had when the run asked there. */
  readonly guestVersion?: number
}

/** The worker whose run asks. */
export interface Enterer {
  readonly workerId: string
  readonly token: string
  readonly kind: string
  /** How often it has committed. */
  readonly version: number
  readonly depth: number
}

export interface GatedWorker {
  /** The gates of the worker's run, or of its last run. Null or absent: there are none. */
  readonly gates?: RunGates | null
}

/** The id of a gate for all runs of its kind. */
const gateOfAll = 'all'

export function gateIdOf(key: string | null): string {
  return key === null ? gateOfAll : digestAsked(key)
}

/** The form of what a record says of gates. */
export const gatesForm = /^((in|out|runs|rate) (-|[\w-]{3,22}) (-|[\w-]{3,22})( \d{1,13})?)?$/

/** Null: its run has no gates. */
export function decodeGates(text: string): RunGates | null {
  const [state, runs, rate, version] = text.split(' ')
  if (runs === undefined || rate === undefined) return null
  return {
    state: state as RunGates['state'],
    runs: runs === '-' ? null : runs,
    rate: rate === '-' ? null : rate,
    ...(version !== undefined && { guestVersion: Number(version) }),
  }
}

/** The name of a run at gates in another partition (store/lua/shared/turn/gates.lua). */
export function guestName(
  { workerId, kind, version }: Pick<Enterer, 'workerId' | 'kind' | 'version'>,
  { runs, rate }: { readonly runs?: string | null | undefined; readonly rate?: string | null | undefined },
): string {
  return `${kind} ${workerId}:${version} ${runs ?? '-'} ${rate ?? '-'}`
}

/** The worker of a run with such a name, and the version of its record when the run asked for its gates; null for any other text. */
export function guestIn(name: string): Pick<Enterer, 'workerId' | 'version'> | null {
  const [, workerId, version] = /^\S+ ([0-9a-f-]{36}):(\d+) /.exec(name) ?? []
  return workerId === undefined ? null : { workerId, version: Number(version) }
}

/** A gate as it is now, for people. */
export interface GateFacts {
  readonly sort: GateSort
  readonly kind: string
  readonly key: string | null
  readonly most: number
  readonly perMs: number | null
  /** How many runs are in progress there; of a rate: how many began within its time, as far as that is known. */
  readonly taken: number
  /** How many workers wait in front of the one that is shown. */
  readonly ahead: number
}

/** A gate at which somebody waits. */
export interface BusyGate extends Omit<GateFacts, 'ahead'> {
  readonly waiting: number
}
