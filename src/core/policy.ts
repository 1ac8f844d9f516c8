/**
 * Duty: the limits and defaults that a user may meet, in one table, each with its unit in its name. How large the batches and pages of a
 * module are is its own.
 * A node or a session may set its own; the scripts enforce what the session's record says.
 */

/** Upper bounds that a session is created with; kept in the record of each worker and enforced by the scripts. */
export interface WorkerLimits {
  /** Workers a session may ever have, its root included. */
  readonly workers: number
  /** Children of one worker whose results are still open. */
  readonly children: number
  /** Depth of the tree: the root has depth 0. */
  readonly depth: number
  /** Messages that may wait in the inbox lane of one mailbox. */
  readonly mailbox: number
}

/**
 * What the agents of a session may use, all of them together; and what they have used. Kept with the session: it may be raised while the
 * session lives (decision 0019).
 */
export interface Spending {
  /** Model calls of all its agents together. */
  readonly modelCalls: number
  /** Tokens of all its agents together, in and out. */
  readonly tokens: number
}

export type SessionLimits = WorkerLimits & Spending

export const defaultSpending: Spending = { modelCalls: 500, tokens: 2_000_000 }
export const defaultWorkerLimits: WorkerLimits = { workers: 200, children: 20, depth: 5, mailbox: 1_000 }
export const defaultSessionLimits: SessionLimits = { ...defaultWorkerLimits, ...defaultSpending }
/** As callers and the command line call them. */
export const limitNames = Object.keys(defaultSessionLimits) as readonly (keyof SessionLimits)[]

/** Limits as a record keeps them. */
export function encodeLimits({ workers, children, depth, mailbox }: WorkerLimits): string {
  return `${workers} ${children} ${depth} ${mailbox}`
}

/** Those of a record without any are the default ones. */
export function decodeLimits(text: string | undefined): WorkerLimits {
  if (text === undefined) return defaultWorkerLimits
  const [workers, children, depth, mailbox] = text.split(' ').map(Number) as [number, number, number, number]
  return { workers, children, depth, mailbox }
}

/** Spending as a session keeps it. */
export function encodeSpending({ modelCalls, tokens }: Spending): string {
  return `${modelCalls} ${tokens}`
}

export function decodeSpending(text: string): Spending {
  const [modelCalls, tokens] = text.split(' ').map(Number) as [number, number]
  return { modelCalls, tokens }
}

/** The most a caller may ask for: beyond these a script could block Redis for too long. */
export const hardSessionLimits: SessionLimits = {
  workers: 100_000,
  children: 1_000,
  depth: 64,
  mailbox: 100_000,
  // What a script counts exactly, and then some.
  modelCalls: 1_000_000_000,
  tokens: 1_000_000_000_000,
}

export const policy = {
  /** A lease lasts this long after the claim or its last renewal. */
  leaseMs: 15_000,
  renewEveryMs: 5_000,
  /** A node stops trusting its lease this much earlier than Redis would. */
  leaseMarginMs: 1_000,

  /** A wake-up that no slot has answered is stale after this. */
  wakeupMs: 2_000,
  /** A turn that lasts longer than this no longer counts as an awake slot. */
  busyAfterMs: 100,
  /** Inline children that have not begun by then are released: other slots run them. */
  inlineChildrenMs: 20,
  /** A BullMQ job answers wake-ups for at most this long. */
  wakeupJobMs: 60_000,

  sweepEveryMs: 1_000,
  sweepBatch: 100,
  /** Old sessions are pruned this often, by one node of a partition, and kinds registered anew, by each. */
  pruneEveryMs: 60_000,
  /** Of each sweep while old sessions are left. */
  pruneMs: 200,
  /** A node unseen for this long is forgotten, with its assignments. Later than its leases and wake-ups. */
  nodeForgottenMs: 60_000,

  /** Claims without a commit in between after which a worker is run apart from others. */
  suspectAfterStarts: 2,
  /** Starts alone without a commit before the run is quarantined. */
  poisonAfterIsolatedStarts: 3,
  /** How long code that goes on after the end of its turn keeps its node from claiming suspects. */
  overrunMs: 60_000,

  /** A timeout that code may set: longer timers of Node fire at once. */
  timeoutMsMax: 2_147_483_647,
  /** The longest wait: a timer that a handler sets, a retry that an error asks for. */
  timerMsMax: 366 * 24 * 3_600_000,

  turnSliceMs: 30_000,
  turnSliceSteps: 20,
  drainMs: 30_000,
  /** How long a stopping node waits for Redis to take its last words. */
  goodbyeMs: 3_000,

  retries: 3,
  retryBackoffMs: 200,
  retryBackoffMsMax: 30_000,
  /** The same as retryBackoffMs for a model: what overloads a provider lasts for seconds (decision 0017). */
  modelBackoffMs: 1_000,

  /** Model calls of one run, but blank replies. The tools of the last reply are not run: nobody would read their results. */
  iterations: 10,
  modelCallMs: 300_000,
  /** A reply with more text is cut off. */
  replyBytesMax: 8_388_608,
  toolMs: 120_000,
  /** Tool calls of one reply that run at the same time. */
  toolsAtOnce: 16,
  toolOutputBytesMax: 100_000,
  /** Values of models and tools (arguments, facts, outputs) are nested at most this deep. */
  jsonDepthMax: 64,
  /** Facts that one tool call may establish, together; each has the limit of a message. */
  factsBytesMax: 4_194_304,
  /** A tool in a thread that does not end within this after its signal fired loses its thread. */
  threadGraceMs: 500,
  /** A thread without a tool ends after this. */
  threadIdleMs: 30_000,
  /** MiB that the young generation of a thread's heap may take, so that a tool that uses up its memory ends its thread, not its node. */
  threadYoungMb: 16,
  /** Blank replies in a row, before the run fails. */
  blankStops: 3,
  /** Iterations in a row with the same errors, before the run fails. */
  sameErrors: 3,
  /** A step that may wait is recorded with the next one, at the latest after this. */
  lazyCommitMs: 50,
  /** Text of a reply that is under way, and progress of a tool, are published this often. */
  deltaEveryMs: 40,
  /** More of what a tool tells as its progress is cut, with a note. */
  progressBytesMax: 16_384,
  /** What histories may take of a node's memory; an eighth of V8's heap limit, where that is less. */
  historyCacheBytes: 268_435_456,

  messageBytesMax: 1_048_576,
  /** Spawns, sends and timers of one `receive`, together: a script that writes more would hold Redis for too long. */
  stepPartsMax: 5_000,
  /** Of their values, together; also of the tasks that one call of an agent gives away. More would keep leases from being renewed. */
  stepBytesMax: 33_554_432,
  /** A claim hands out at most this many bytes of mail; the rest follows with the next claim. */
  claimMailBytes: 4_194_304,
  nameBytesMax: 64,
  /** Names that a list of an assignment may hold: each record of a child holds them, and a spawn compares them. */
  permissionNamesMax: 256,
  /** Of the folder that an assignment names. */
  folderBytesMax: 4_096,
  /** Of the reason that a cancel gives, which each report shows. */
  reasonBytesMax: 1_000,

  /** How long a worker file may take to load. */
  loadMs: 10_000,
  slots: 50,
  /** The most that a node may be started with. */
  slotsMax: 10_000,
  retentionMs: 7 * 24 * 3_600_000,
  /** How long an answer is kept under an idempotency key the caller gave, and under one the client made. */
  givenKeyMs: 24 * 3_600_000,
  madeKeyMs: 600_000,
  eventsKept: 100_000,
  deadLettersKept: 10_000,
} as const

/** The least that may be asked for: who waits for a result reads it from the session. */
export const retentionMsMin = 60_000

export type Policy = { readonly [K in keyof typeof policy]: number }

/** Delay before try `attempt` + 1 (attempt counts from 1): exponential, capped, with half of it jitter so that retries spread. */
export function retryDelayMs(
  attempt: number,
  random: number,
  settings: Pick<Policy, 'retryBackoffMs' | 'retryBackoffMsMax'> = policy,
): number {
  const full = Math.min(settings.retryBackoffMsMax, settings.retryBackoffMs * 2 ** Math.min(attempt - 1, 30))
  return Math.round(full / 2 + (full / 2) * random)
}

/**
 * The wait before the next try: what the error asks for, in whole ms and at most what a timer takes, where that is a time at all; else
 * by the rule above.
 */
export function retryWaitMs(
  given: number | undefined,
  attempt: number,
  random: number,
  settings?: Pick<Policy, 'retryBackoffMs' | 'retryBackoffMsMax'>,
): number {
  if (typeof given !== 'number' || Number.isNaN(given)) return retryDelayMs(attempt, random, settings)
  return Math.round(Math.min(policy.timerMsMax, Math.max(0, given)))
}
