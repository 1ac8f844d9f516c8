/**
 * Duty: the limits and defaults that a user may meet, in one table, each with its unit in its name. A node or a session may set its own.
 * Does not own: the sizes of batches and pages, which each module chooses for itself.
 * POLICY-1 Scripts enforce the limits that the record of the session holds.
 */

/** Limits that a session gets when it is created. The record of each worker holds them, and scripts enforce them. */
export interface WorkerLimits {
  /** How many workers a session may ever have, including its root. */
  readonly workers: number
  /** How many children of one worker may be without a result at the same time. */
  readonly children: number
  /** How deep the tree may be. The root has depth 0. */
  readonly depth: number
  /** How many inputs may wait in one mailbox. */
  readonly mailbox: number
}

/**
 * What all agents of a session may use together, or what they have used. The session keeps it, so that the limit can be raised while the session
 * lives (decision 0019).
 */
export interface Spending {
  /** Model calls of all agents together. */
  readonly modelCalls: number
  /** Tokens of all agents together, in and out. */
  readonly tokens: number
  /** Tool calls of all agents together, without those that were refused one by one. */
  readonly toolCalls: number
}

export type SessionLimits = WorkerLimits & Spending

/** What an access token gives its sessions to spend, or may give them within an hour. */
export interface Allowance extends Spending {
  /** How many sessions it creates. */
  readonly sessions: number
}

export const defaultSpending: Spending = { modelCalls: 500, tokens: 2_000_000, toolCalls: 10_000 }
export const defaultWorkerLimits: WorkerLimits = { workers: 200, children: 20, depth: 5, mailbox: 1_000 }
export const defaultSessionLimits: SessionLimits = { ...defaultWorkerLimits, ...defaultSpending }
/** The names of limits in calls and on the command line. */
export const limitNames = Object.keys(defaultSessionLimits) as readonly (keyof SessionLimits)[]

/** The text of limits in a record. */
export function encodeLimits({ workers, children, depth, mailbox }: WorkerLimits): string {
  return `${workers} ${children} ${depth} ${mailbox}`
}

/** The form of that text. */
export const limitsForm = /^\d+ \d+ \d+ \d+$/

/** A record without limits has the defaults. */
export function decodeLimits(text: string | undefined): WorkerLimits {
  if (text === undefined) return defaultWorkerLimits
  const [workers, children, depth, mailbox] = text.split(' ').map(Number) as [number, number, number, number]
  return { workers, children, depth, mailbox }
}

/** The form of what a session has spent, in the record of its root. A session without tool calls has two numbers. */
export const spentForm = /^\d+ \d+(?: \d+)?$/
/** The form of what it may spend. */
export const allowedForm = /^\d+ \d+ \d+$/

/** What a session may spend, in its stored form. */
export function encodeAllowed({ modelCalls, tokens, toolCalls }: Spending): string {
  return `${modelCalls} ${tokens} ${toolCalls}`
}

/** What a session may spend, or has spent. */
export function decodeSpending(text: string): Spending {
  const [modelCalls, tokens, toolCalls = 0] = text.split(' ').map(Number) as [number, number, number?]
  return { modelCalls, tokens, toolCalls }
}

/** The highest limits that a caller may set. With higher ones, a script could block Redis for too long. */
export const hardSessionLimits: SessionLimits = {
  workers: 100_000,
  children: 1_000,
  depth: 64,
  mailbox: 100_000,
  // Scripts count exactly up to 2^53.
  modelCalls: 1_000_000_000,
  tokens: 1_000_000_000_000,
  toolCalls: 1_000_000_000,
}

export const policy = {
  /** A lease lasts this long after the claim or its last renewal. */
  leaseMs: 15_000,
  renewEveryMs: 5_000,
  /** A node stops trusting its lease this much earlier than Redis would. */
  leaseMarginMs: 1_000,

  /** A wake-up without an answer is stale after this. */
  wakeupMs: 2_000,
  /** A turn that lasts longer than this no longer counts as an awake slot. */
  busyAfterMs: 100,
  /** Inline children that have not begun by then are released, so that other slots run them. */
  inlineChildrenMs: 20,
  /** A BullMQ job answers wake-ups for at most this long. */
  wakeupJobMs: 60_000,

  sweepEveryMs: 1_000,
  sweepBatch: 100,
  /** How often one node of a partition prunes old sessions, and each node registers its kinds again. */
  pruneEveryMs: 60_000,
  /** How long each sweep prunes while old sessions are left. */
  pruneMs: 200,
  /** A history to which nothing was written for so long is packed, if its worker rests: it takes less memory, and reading it costs a little more. */
  coldAfterMs: 600_000,
  /** How often one node of a partition looks for such histories. */
  coldEveryMs: 60_000,
  /** How long each sweep packs while there are any. */
  packMs: 200,
  /** A node that was not seen for this long is forgotten, and so are the claims of its slots. Its leases and wake-ups end before. */
  nodeForgottenMs: 60_000,

  /** A kind, or a pool, that no node has hosted for this long is forgotten, unless work of it waits. */
  kindForgottenMs: 30 * 24 * 3_600_000,

  /** After this many claims in a row without a commit, a worker is a suspect and runs isolated. */
  suspectAfterStarts: 2,
  /** After this many isolated starts without a commit, the run is quarantined. */
  poisonAfterIsolatedStarts: 3,
  /** How long code that goes on after the end of its turn keeps its node from claiming suspects. */
  overrunMs: 60_000,

  /** The longest timeout that code may set. Node fires a longer timer at once. */
  timeoutMsMax: 2_147_483_647,
  /** The longest timer that a handler may set, and the longest retry that an error may ask for. */
  timerMsMax: 366 * 24 * 3_600_000,

  turnSliceMs: 30_000,
  turnSliceSteps: 20,
  drainMs: 30_000,
  /** How long `onCancel` of a kind may take that sets no `onCancelMs`. */
  onCancelMs: 30_000,
  /** How long a callback or a hook of an agent kind may take. */
  hookMs: 30_000,
  /** The size of a text that a hook gives to a model. A longer one is cut. */
  hookTextBytesMax: 10_240,
  /** How often in one run the hook `stop` may ask its model for more. */
  heldAnswers: 3,
  /** How long a stopping node waits for the answers to its last calls to Redis. */
  goodbyeMs: 3_000,

  retries: 3,
  /** The same for a model call that its provider was too busy for at least once; if `retries` is higher, that number. */
  busyRetries: 10,
  retryBackoffMs: 200,
  retryBackoffMsMax: 30_000,
  /** Like retryBackoffMs, for model calls: the overload of a provider lasts for seconds (decision 0017). */
  modelBackoffMs: 1_000,
  /** The longest wait for which a provider may ask. A run whose provider asks for more fails. */
  modelRetryMsMax: 86_400_000,

  /** How many model calls one run may make, without blank replies. The tools of the last reply do not run, because no call would read their results. */
  iterations: 10,
  /** How many tool calls of one reply are run. The others get an error as their result. */
  callsPerReply: 128,
  /** For how many tool calls the replies of one run may ask. */
  toolCalls: 1_000,
  /** A model call of which nothing arrives for this long ends. */
  modelIdleMs: 300_000,
  /** A model call ends after this, even if its reply still arrives. */
  modelCallMs: 1_800_000,
  /** How long a reply that has finished waits for the event with its usage. */
  lastEventMs: 2_000,
  /** A reply with more text is cut off. */
  replyBytesMax: 8_388_608,
  toolMs: 120_000,
  /** How long the folder of a worker may take to open, and the files of its context to be read. */
  folderMs: 30_000,
  /** How many tool calls of one reply run at the same time. */
  toolsAtOnce: 16,
  toolOutputBytesMax: 200_000,
  /** How many bytes of a longer output the model sees; the whole is kept as a blob. */
  previewBytesMax: 10_000,
  /** How many bytes of a long result a model reads with one call at most. */
  readBytesMax: 50_000,
  /** The outputs of all calls of one reply share this: the more calls it has, the less of each output is kept. */
  replyOutputBytesMax: 2_097_152,
  /** Values of models and tools (arguments, facts, outputs) are nested at most this deep. */
  jsonDepthMax: 64,
  /** The size of all facts of one tool call together. Each fact also has the limit of a message. */
  factsBytesMax: 4_194_304,
  /** If a tool in a thread does not end within this after its signal fired, the thread is ended. */
  threadGraceMs: 500,
  /** A thread without a tool ends after this. */
  threadIdleMs: 30_000,
  /** MiB for the young generation of the heap of a thread. With it, a tool that uses up its memory ends its thread, and not its node. */
  threadYoungMb: 16,
  /** After this many blank replies in a row the run fails. */
  blankStops: 3,
  /** How often in a row a model goes on with a text that was cut off at its length. */
  continues: 3,
  /** How often in one run a model is told that its reply took too long, and in how many replies the arguments of calls may be no JSON. */
  recoveries: 3,
  /** How often in one run a model is told that its answer does not fit the output of its kind. */
  outputRetries: 3,
  /** After this many iterations in a row with the same errors the run fails. */
  sameErrors: 3,
  /** A lazy step is committed with the next one, or after this at the latest. */
  lazyCommitMs: 50,
  /** How often streamed text and the progress of tools are published. */
  deltaEveryMs: 40,
  /** A longer progress report of a tool is cut, with a note. */
  progressBytesMax: 16_384,
  /** Memory of a node for cached histories; an eighth of V8's heap limit if that is less. */
  historyCacheBytes: 268_435_456,

  /** A conversation of an agent with more messages warns of its length, once on each node. */
  historyWarnMessages: 10_000,
  /** A conversation with so many messages takes no more. */
  historyMessagesMax: 50_000,

  messageBytesMax: 1_048_576,
  /** How many images one message, and one request, may hold: further ones, the oldest first, become notes. */
  imagesMax: 10,
  /** The size of an image, a sound or a file of a message. Its message has a limit too. */
  mediaBytesMax: 10_485_760,
  /** Media in the result of a tool, in all: more becomes a note. */
  toolMediaBytesMax: 600_000,
  /** The size of one blob: a long result, or media. */
  blobBytesMax: 16_777_216,
  /** Blobs of the first message of a session together. */
  firstBlobBytesMax: 33_554_432,
  /** How many of them there may be. One script keeps all of them. */
  firstBlobsMax: 500,
  /** The size of all blobs of a session together. */
  sessionBlobBytesMax: 268_435_456,
  /** How many blobs a session may have. Pruning removes them in one script. */
  sessionBlobsMax: 3_000,
  /** How many endpoints of webhooks a namespace may have: each is looked at for each end of a session. */
  endpointsMax: 50,
  /** A submitted job with more data is refused before it is parsed. Its input has the limit of a message; other languages may escape each letter. */
  submitBytesMax: 4_194_304,
  /** How many objects, lists and names of fields the data of a submitted job may hold. */
  submitPartsMax: 100_000,
  /** A submitted job that was taken this often, and never ended, fails: it may be what ended its nodes. */
  submitStartsMax: 3,
  /** The shortest wait of a submitted job before it is tried again. */
  submitRetryMsMin: 1_000,
  /** The longest wait of a submitted job before it is tried again. */
  submitRetryMsMax: 600_000,
  /** How much one `receive` may ask for, as it costs Redis: a send counts 20, a spawn 12, an ask 8, a timer 4, and 306 bytes 1, beyond the first 100 of each. So 300 sends, 500 spawns, or 250 spawns of 3 700 bytes. */
  stepPartsMax: 6_000,
  /** The size of all that one `receive` passes, if that is all: inputs, messages, timers, asks, the state, the reply (of a child one and a half times, since its parent gets it too), and of what it receives a tenth of this at most; and of all tasks in one call of an agent. Bytes count as parts. */
  stepBytesMax: 1_835_008,
  /** How many timers and asks of one run may be open at once. The end of the run drops them in one script. */
  openSignalsMax: 1_500,
  /** How many messages a session may begin with. Many of them are written in pieces, before the session is there. */
  givenMessagesMax: 50_000,
  /** The size of all messages with which a session begins. */
  givenHistoryBytesMax: 33_554_432,
  /** A file with a conversation of another program that is larger is refused before it is read. */
  conversationBytesMax: 67_108_864,
  /** How many objects, lists and names of fields such a file may hold. */
  conversationPartsMax: 4_000_000,
  /** A claim returns at most this many bytes of mail. The next claim returns the rest. */
  claimMailBytes: 1_048_576,
  nameBytesMax: 64,
  /** How many runs of a kind, or of a key of it, may be in progress at once, if the kind says so at all. */
  runsAtOnceMax: 100_000,
  /** How many names a list of permissions may have. The record of each child holds them, and each spawn compares them. */
  permissionNamesMax: 256,
  /** The length of the folder in permissions. */
  folderBytesMax: 4_096,
  /** The length of a question of `self.ask`, which lists show. */
  questionBytesMax: 4_000,
  /** The length of the reason of a cancel, which every report shows. */
  reasonBytesMax: 1_000,

  /** How long a worker file may take to load. */
  loadMs: 10_000,
  slots: 50,
  /** The highest number of slots of a node. */
  slotsMax: 10_000,
  /** How many pools a node may serve. Its sweeps look at each of them, in one script. */
  nodePoolsMax: 200,
  retentionMs: 7 * 24 * 3_600_000,
  /** How long an answer is kept under an idempotency key of the caller, and under one that the client made. */
  givenKeyMs: 24 * 3_600_000,
  madeKeyMs: 600_000,
  /** How many workers a session may have that is forked. One script looks at all of them at the same moment, and another one makes all of the copy visible. */
  forkWorkersMax: 500,
  /** How many workers one script reads, with their mailboxes, states and asks; a worker that has changed since is read again. */
  forkPartWorkers: 100,
  /** How many bytes of mailboxes, states and asks one script reads; one worker may not have more. */
  forkPartBytes: 2_097_152,
  /** The same for all workers of the session together; their histories may have any size. */
  forkTotalBytesMax: 67_108_864,
  /** How many keys a copy may have: a few for each worker, one for each open ask and each blob. One script makes all of them stay. */
  forkKeysMax: 1_500,
  /** How many timers, retries and expiries of asks a copy may have. One script sets all of them. */
  forkTimersMax: 3_000,
  /** What an unfinished fork has written is removed after this. */
  forkKeptMs: 3_600_000,
  eventsKept: 100_000,
  /** About how many bytes of events are kept, if they are long. */
  eventsBytes: 67_108_864,
  deadLettersKept: 10_000,
} as const

/** The shortest retention, because a caller that waits for a result reads it from the session. */
export const retentionMsMin = 60_000

export type Policy = { readonly [K in keyof typeof policy]: number }

export const backOffStrategies = ['fixed', 'linear', 'exponential'] as const

export interface BackOff extends Pick<Policy, 'retryBackoffMs' | 'retryBackoffMsMax'> {
  /** Default: `exponential`. */
  readonly strategy?: (typeof backOffStrategies)[number]
}

const growth = {
  fixed: () => 1,
  linear: (attempt: number) => attempt,
  exponential: (attempt: number) => 2 ** Math.min(attempt - 1, 30),
} as const

/** The delay after attempt number `attempt`, counted from 1. It grows up to a cap; half of it is random, so that retries spread. */
export function retryDelayMs(attempt: number, random: number, settings: BackOff = policy): number {
  const full = Math.min(
    settings.retryBackoffMsMax,
    settings.retryBackoffMs * growth[settings.strategy ?? 'exponential'](attempt),
  )
  return Math.round(full / 2 + (full / 2) * random)
}

/** The delay that the error asks for, in whole ms and capped at the longest timer. If it asks for none, the delay of `retryDelayMs`. */
export function retryWaitMs(given: number | undefined, attempt: number, random: number, settings?: BackOff): number {
  if (typeof given !== 'number' || Number.isNaN(given)) return retryDelayMs(attempt, random, settings)
  return Math.round(Math.min(policy.timerMsMax, Math.max(0, given)))
}
