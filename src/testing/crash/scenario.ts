/** Duty: the scenario that a user describes: its fields, their checks and their defaults. */
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Ask } from '../../client/person/asks.ts'
import type { ModelSettings } from '../../core/definition/model.ts'
import { ConfigError } from '../../core/errors.ts'
import type { Json } from '../../core/history/chat/chat-message.ts'
import type { Entry, RunResult } from '../../core/history/entry.ts'
import { parseKind } from '../../core/ids.ts'
import { checkRedisUrl } from '../../core/redis-url.ts'
import type { UserCode } from './journal.ts'
import type { Replies } from './node/node-order.ts'
import { type Progress, progressTo } from './progress.ts'

/** The place of one run of the scenario. */
export interface RunPlace {
  /** An empty folder that only this run uses. Effects outside can be written there, to be counted afterwards. */
  readonly folder: string
  /** Different in each run, for effects that cannot be written into a folder. */
  readonly id: string
}

export interface WorkerHistory {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly parentId: string | null
  readonly entries: readonly Entry[]
}

/** A call of your code that began. A second call with the same key is a repetition. */
export interface CodeRun extends UserCode {
  /** 1 for the node that is killed, 2 for the one that takes over. */
  readonly life: 1 | 2
}

export interface Outcome extends RunPlace {
  readonly result: RunResult
  /** The histories of all workers of the session, the root first. */
  readonly histories: readonly WorkerHistory[]
  readonly runs: readonly CodeRun[]
  /** The point at which the node was killed. Null for the run without a crash. */
  readonly point: string | null
}

export interface Scenario {
  /** A folder of worker files, or a module that exports `workers`: definitions by kind. A path or a file URL. */
  readonly workers: string | URL
  /** The kind of the root worker. */
  readonly kind: string
  /** The input, or a function of the place if the input differs from run to run. */
  readonly input: Json | ((place: RunPlace) => unknown)
  /** Must throw if something is wrong after a crash. */
  readonly check?: (outcome: Outcome) => void | Promise<void>
  /** The model's replies for agents of a kind, in order. Each worker of the kind gets them from the beginning in each of its runs. */
  readonly replies?: Replies
  /** What somebody answers each ask of its workers, as soon as it is open. Default: nobody answers. */
  readonly answers?: (ask: Ask) => unknown
  /** Models of kinds without replies. Default, as for a node: TROUPE_MODEL and the variables of the providers. */
  readonly models?: ModelSettings
  /** Default: a Redis is started for the matrix and ended after it. */
  readonly redisUrl?: string
  /** If true, the result must be the same as that of the run without a crash. Default true. */
  readonly sameResult?: boolean
  /** `report`: violations are only in the report. `throw`: they are thrown as an error. Default `throw`. */
  readonly violations?: 'throw' | 'report'
  /** Called after each run. Default: prints a line to stderr if that is a terminal. */
  readonly onProgress?: (progress: Progress) => void
  /** Most points that are tried. If there are more, they are chosen evenly. Default 200. */
  readonly pointsMax?: number
  /** Tries only these points, by their names in a report, in order to investigate a violation. */
  readonly only?: readonly string[]
  /** How many runs go on at the same time. A run mostly waits for a lease to end. Default 4. */
  readonly concurrency?: number
  /** The time of a lease, after which another node takes over. Code that blocks its node for longer loses its lease. Default 1 000. */
  readonly leaseMs?: number
  /** A run that takes longer is a violation. Default 30 000. */
  readonly runMsMax?: number
  /** Arguments for Node in the node processes, such as `--import=tsx`. */
  readonly nodeArguments?: readonly string[]
}

export interface Plan {
  readonly workers: string
  readonly kind: string
  readonly inputOf: (place: RunPlace) => unknown
  /** Null: only troupe's own invariants are checked, and the run must complete. */
  readonly check: ((outcome: Outcome) => void | Promise<void>) | null
  readonly replies: Replies
  readonly answers: ((ask: Ask) => unknown) | null
  readonly models: ModelSettings | null
  readonly redisUrl: string | undefined
  readonly sameResult: boolean
  readonly violations: 'throw' | 'report'
  readonly onProgress: (progress: Progress) => void
  readonly pointsMax: number
  readonly only: readonly string[] | null
  readonly concurrency: number
  readonly leaseMs: number
  readonly runMsMax: number
  readonly nodeArguments: readonly string[]
}

const leaseMsMin = 500

/** All fields. The compiler reports a field that is missing here. */
const fields: Readonly<Record<keyof Scenario, true>> = {
  workers: true,
  kind: true,
  input: true,
  check: true,
  replies: true,
  answers: true,
  models: true,
  redisUrl: true,
  sameResult: true,
  violations: true,
  onProgress: true,
  pointsMax: true,
  only: true,
  concurrency: true,
  leaseMs: true,
  runMsMax: true,
  nodeArguments: true,
}

/** Throws a ConfigError that names the field. */
export async function planOf(scenario: Scenario): Promise<Plan> {
  if (typeof scenario !== 'object' || scenario === null) throw wrong('it takes a scenario: { workers, kind, … }.')
  const { input, violations = 'throw', redisUrl } = scenario
  const unknown = Object.keys(scenario).find((name) => !(name in fields))
  if (unknown !== undefined)
    throw wrong(`there is no field ${unknown}; a scenario has ${Object.keys(fields).join(', ')}.`)
  if (violations !== 'throw' && violations !== 'report') throw wrong('violations is "throw" or "report".')
  if (scenario.check !== undefined && typeof scenario.check !== 'function') throw wrong('check is a function.')
  if (scenario.answers !== undefined && typeof scenario.answers !== 'function')
    throw wrong('answers is a function of an ask.')
  if (redisUrl !== undefined) checkRedisUrl(redisUrl)
  checkReplies(scenario.replies ?? {})
  checkOnly(scenario.only)
  return {
    workers: await workersAt(scenario.workers),
    kind: parseKind(scenario.kind),
    inputOf: typeof input === 'function' ? input : () => input,
    check: scenario.check ?? null,
    replies: scenario.replies ?? {},
    answers: scenario.answers ?? null,
    models: scenario.models ?? null,
    redisUrl,
    sameResult: scenario.sameResult ?? true,
    violations,
    onProgress: scenario.onProgress ?? progressTo(process.stderr),
    pointsMax: whole('pointsMax', scenario.pointsMax ?? 200, 1),
    only: scenario.only ?? null,
    concurrency: whole('concurrency', scenario.concurrency ?? 4, 1),
    leaseMs: whole('leaseMs', scenario.leaseMs ?? 1_000, leaseMsMin),
    runMsMax: whole('runMsMax', scenario.runMsMax ?? 30_000, 1),
    nodeArguments: scenario.nodeArguments ?? [],
  }
}

function checkReplies(replies: unknown): void {
  const lists: [string, unknown][] = typeof replies === 'object' && replies !== null ? Object.entries(replies) : []
  if (typeof replies !== 'object') throw wrong('replies is an object of lists by kind.')
  for (const [kind, list] of lists)
    if (!Array.isArray(list) || list.length === 0)
      throw wrong(`the replies of kind "${kind}" are a list of what \`say\`, \`call\` and \`together\` give.`)
}

function checkOnly(only: unknown): void {
  if (only === undefined) return
  if (!Array.isArray(only) || only.length === 0 || !only.every((name) => typeof name === 'string'))
    throw wrong('only is a list of names of points, like ["after claim #1"].')
}

async function workersAt(workers: unknown): Promise<string> {
  const isUrl = workers instanceof URL || (typeof workers === 'string' && workers.startsWith('file:'))
  if (!isUrl && typeof workers !== 'string')
    throw wrong(
      'workers is a path or a file URL: a folder of worker files, or a module that exports `workers`. Definitions themselves cannot be given: other processes load them.',
    )
  const path = isUrl ? fileURLToPath(workers) : resolve(workers)
  const isThere = await stat(path).then(
    () => true,
    () => false,
  )
  if (!isThere) throw wrong(`workers is ${path}, which does not exist.`)
  return path
}

function whole(name: string, value: number, least: number): number {
  if (Number.isInteger(value) && value >= least) return value
  throw wrong(`${name} must be a whole number from ${least}, not ${JSON.stringify(value)}.`)
}

function wrong(what: string): ConfigError {
  return new ConfigError(`crashMatrix: ${what}`)
}
