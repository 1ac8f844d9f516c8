/**
 * What the keys of one session hold, as the model sees it: only what the scripts decide by. Instants are not kept: a lease or a
 * wake-up is "over" when its time has passed. The run queue is a list, since the scores of one session grow with each place given.
 */

export interface Token {
  readonly epoch: number
  /** `<number>.<node>`: numbered by the node, so that an older claim is told from a newer one. */
  readonly nonce: string
}

export interface CommitId extends Token {
  readonly sequence: number
}

export type WorkerState = 'idle' | 'queued' | 'running' | 'parked' | 'terminal'

export interface WorkerRecord {
  readonly parent: string
  /** 0 if the worker is detached. */
  readonly parentRun: number
  readonly call: number
  /** `<worker>:<run>` of its ancestors, the root first; `<worker>:-` for an ancestor that spawned the next one as detached. */
  readonly path: readonly string[]
  status: WorkerState
  /** any | signals | gate | result:<child> */
  wait: string
  /** Where the run of the worker, or its last one, stands at the gate of the kind: in progress, waiting, or over. Empty if it never asked. */
  gates: '' | 'in' | 'runs' | 'out'
  run: number
  open: boolean
  pendingCalls: readonly number[]
  /** The epoch as in the token; the token's nonce is empty while no node holds the worker. */
  epoch: number
  nonce: string
  commit: CommitId | null
  version: number
  /** Wake-ups that the last commit answered. */
  wakeups: readonly string[]
  /** Starts as a suspect since the last commit. */
  isolated: number
  failed: boolean
  /** How many mails of each lane were consumed for ever. */
  inputsTaken: number
  resultsTaken: number
  signalsTaken: number
  /** How many signals the run still waits for. */
  signalsOpen: number
  /** The asks of the worker that are open. */
  asks: readonly string[]
  /** Answers as `answered:<ask>:<value>` or `expired:<ask>`. */
  signals: readonly string[]
  inbox: readonly string[]
  /** Results as `result:<child>`; empty where a result in the middle was consumed. */
  results: readonly string[]
  log: readonly string[]
}

export interface AskRecord {
  readonly worker: string
  readonly run: number
  /** Empty while the ask is open. */
  state: '' | 'answered' | 'expired' | 'withdrawn'
  /** The idempotency key of the answer, as its sender gave it. */
  key: string
  value: string
  /** The wake-ups that the script returned for the answer. */
  wakeups: readonly string[]
}

/** A lease, a wake-up or a busy wake-up; `over` when its time has passed. */
export interface Dated<Id> {
  readonly id: Id
  over: boolean
}

export interface Session {
  mode: 'job' | 'conversation'
  state: 'absent' | 'active' | 'cancelling' | 'completed' | 'failed' | 'cancelled'
  /** The wake-ups that the script returned for the creation. */
  wakeups: readonly string[]
  /** The cancels: `<worker>:<run>` or `<worker>:*`. */
  cancelled: readonly string[]
  /** Something that was cancelled is not finished yet. */
  unfinished: boolean
}

export interface Store {
  session: Session
  workers: Record<string, WorkerRecord>
  run: readonly string[]
  leases: Dated<string>[]
  wakeups: Dated<string>[]
  busy: Dated<string>[]
  /** Slots of the pool, as sweeps counted them. */
  readonly slots: number
  /** The last assignment of each node; a node has one slot here, or names its slots as nodes. */
  assignments: Record<string, { readonly nonce: string; readonly worker: string; readonly purpose: Mark }>
  /** Idempotency key to the answer it got. */
  idem: Record<string, { readonly position: number; readonly wakeups: readonly string[] }>
  dead: readonly string[]
  asks: Record<string, AskRecord>
  /** The inbox: asks that are open. */
  open: readonly string[]
  /** The asks that expire. */
  timers: readonly string[]
  /**
   * Workers whose runs are in progress at the gate of the kind, and those that wait there, in order. Whether the gate is listed, so that sweeps look
   * at it.
   */
  gate: { readonly in: readonly string[]; readonly waiting: readonly string[]; readonly isListed: boolean }
}

export type Mark = 'run' | 'cancelled' | 'poison'

export const rootId = 'root'

/** The asks of the root's first run: the first expires, the second does not. */
export const firstAsk = 'a1'
export const secondAsk = 'a2'

export function childIdOf(parent: string, run: number, call: number): string {
  return `${parent}/${run}.${call}`
}

export function newRecord(of: Partial<WorkerRecord>): WorkerRecord {
  return {
    parent: '',
    parentRun: 0,
    call: 0,
    path: [],
    status: 'queued',
    wait: 'any',
    gates: '',
    run: 1,
    open: false,
    pendingCalls: [],
    epoch: 0,
    nonce: '',
    commit: null,
    version: 0,
    wakeups: [],
    isolated: 0,
    failed: false,
    inputsTaken: 0,
    resultsTaken: 0,
    signalsTaken: 0,
    signalsOpen: 0,
    asks: [],
    signals: [],
    inbox: [],
    results: [],
    log: [],
    ...of,
  }
}

export function newStore(slots: number): Store {
  const session: Session = { mode: 'conversation', state: 'absent', wakeups: [], cancelled: [], unfinished: false }
  return {
    session,
    workers: {},
    run: [],
    leases: [],
    wakeups: [],
    busy: [],
    slots,
    assignments: {},
    idem: {},
    dead: [],
    asks: {},
    open: [],
    timers: [],
    gate: { in: [], waiting: [], isListed: false },
  }
}

/** A copy that may be written to; lists within it are replaced, never changed. */
export function copyStore(store: Store): Store {
  const workers: Record<string, WorkerRecord> = {}
  for (const id in store.workers) workers[id] = { ...(store.workers[id] as WorkerRecord) }
  const asks: Store['asks'] = {}
  for (const id in store.asks) asks[id] = { ...(store.asks[id] as AskRecord) }
  return {
    ...store,
    workers,
    asks,
    session: { ...store.session },
    leases: store.leases.map((lease) => ({ ...lease })),
    wakeups: store.wakeups.map((wakeup) => ({ ...wakeup })),
    busy: store.busy.map((wakeup) => ({ ...wakeup })),
    assignments: { ...store.assignments },
    idem: { ...store.idem },
  }
}
