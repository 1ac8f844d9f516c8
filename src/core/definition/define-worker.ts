/**
 * Duty: what an author writes: a worker kind. Pure: a definition does nothing until a node runs it.
 * A handler worker is a function of one message; its reply, spawns, sends, timers and new state are committed together after
 * `receive` returns, or not at all.
 */
import type { z } from 'zod'
import { schemaProblem } from '../check/check-schema.ts'
import { didYouMean } from '../check/closest.ts'
import { shown } from '../check/shown.ts'
import { ConfigError } from '../errors.ts'
import { isKind, isPool, kindRule, unhostedPool } from '../ids.ts'
import { toJson } from '../json.ts'
import { policy, type SessionLimits } from '../policy.ts'
import type { Message } from '../worker/message.ts'
import { type AgentWorker, agentKeys, checkAgent } from './define-agent.ts'
import type { WorkerLog } from './worker-log.ts'

/** A child that was spawned, or any worker one may send to. */
export interface WorkerRef {
  readonly id: string
  readonly name: string
  readonly kind: string
}

export interface SpawnOptions {
  /** Shown to people; default: the kind and the number of the call. At most 64 bytes. */
  readonly name?: string | undefined
  /** A detached child outlives this run and posts no result; cancelling the session still reaches it. Default false. */
  readonly detached?: boolean | undefined
}

/** What `receive` may do. Nothing of it leaves before the commit; values must be JSON. It may be taken apart: `{ state, reply }`. */
export interface Self<State = unknown> {
  readonly id: string
  readonly name: string
  readonly kind: string
  readonly sessionId: string
  readonly parentId: string | null
  /** The root has depth 0; a spawn at `limits.depth` is refused. */
  readonly depth: number
  /** Number of the run, from 1. */
  readonly run: number
  /** Which try of this message it is, from 1. */
  readonly attempt: number
  readonly limits: SessionLimits
  /** Children of this run whose results have not been received yet, spawns of this call included. */
  readonly openChildren: number
  /** The state as of the last commit or the last `setState`. */
  readonly state: State
  /** Aborted when the run is cancelled, `timeoutMs` is over, the lease is lost or the node stops: stop working, nothing of it will be committed. */
  readonly signal: AbortSignal
  readonly log: WorkerLog
  /** Same for each try of this message: pass it to what must not happen twice outside. */
  readonly idempotencyKey: string
  /** Throws a LimitError when depth or children would be exceeded; the workers of the session are counted at the commit. */
  spawn(this: void, kind: string, input: unknown, options?: SpawnOptions): WorkerRef
  /** An input message to any worker of the same partition; by reference or id. */
  send(this: void, to: WorkerRef | string, value: unknown): void
  /** Ends the run with this result. Children still running are cancelled unless detached; open timers are dropped. */
  reply(this: void, value: unknown): void
  /** Ends the run as failed, without a retry: with `run_failed`, or with the code of an error of troupe. */
  fail(this: void, error: Error | string): void
  /** A durable timer: this run receives `{ kind: 'timer', value }` after about `ms`. */
  after(this: void, ms: number, value: unknown): void
  setState(this: void, next: State): void
}

interface HandlerFields<State, Input> {
  readonly description?: string
  /** Schema of the state; checked when it is read and set. Needs `initial`. */
  readonly state?: z.ZodType<State>
  /** The state of a worker before its first `setState`. Without it that is null, and the type of the state must have null in it. */
  readonly initial?: State
  /** Schema of input messages, and the type of their values; an input that does not fit fails the run with `input_invalid`. */
  readonly input?: z.ZodType<Input>
  /** Kinds it may spawn. Default: any. */
  readonly spawns?: readonly string[]
  /** Kinds hosted by the same nodes share a pool. Default: "default". */
  readonly pool?: string
  /** Retries of a message whose `receive` threw, before the run fails. Default 3. */
  readonly retries?: number
  /**
   * When a parent that waits for its children is woken. `each` (default): by the next result in call order, so that it may act on it at
   * once. `all`: when the last of them has reported; then it receives all results, in call order, in one turn. That costs a fraction.
   */
  readonly gather?: 'each' | 'all'
  /** A `receive` that takes longer is aborted and counts as thrown. Default: none. */
  readonly timeoutMs?: number
  /** Only an agent has them. */
  readonly instructions?: undefined
  receive(message: Message<Input>, self: Self<State>): void | Promise<void>
}

/** Without `initial` a state begins as null, which a state of this type may not be. */
type Beginning<State> = null extends State ? unknown : { readonly initial: State }

export type HandlerWorker<State = unknown, Input = unknown> = HandlerFields<State, Input> & Beginning<State>

const definitionMark = Symbol.for('troupe.worker')

export type HandlerDefinition = HandlerFields<never, never> & { readonly [definitionMark]: true }
export type AgentDefinition = AgentWorker & { readonly [definitionMark]: true }
export type WorkerDefinition = HandlerDefinition | AgentDefinition

const handlerKeys = new Set([
  'description',
  'state',
  'initial',
  'input',
  'spawns',
  'pool',
  'retries',
  'timeoutMs',
  'gather',
  'receive',
])

/**
 * Defines a worker kind; a file in the workers folder default-exports it, and the file's name is the kind. With `receive` it is a
 * handler, with `instructions` an agent.
 *
 *     export default defineWorker({
 *       state: z.object({ n: z.number() }), initial: { n: 0 },
 *       receive(message, self) {
 *         self.setState({ n: self.state.n + 1 });
 *         self.reply(self.state.n);
 *       },
 *     });
 *
 *     export default defineWorker({ instructions: 'You sort mail.', tools: [readMail, moveMail], spawns: ['reader'] });
 *
 * Throws a ConfigError that names the wrong field.
 */
export function defineWorker(worker: AgentWorker): AgentDefinition
export function defineWorker<State = unknown, Input = unknown>(worker: HandlerWorker<State, Input>): HandlerDefinition
// The compiler tells what is wrong in the words of the last one, which knows agents and handlers apart.
export function defineWorker<State = unknown, Input = unknown>(
  worker: AgentWorker | HandlerWorker<State, Input>,
): WorkerDefinition
export function defineWorker<State = unknown, Input = unknown>(
  worker: AgentWorker | HandlerWorker<State, Input>,
): WorkerDefinition {
  if (typeof worker !== 'object' || worker === null)
    throw new ConfigError('defineWorker takes an object with a receive function, or with instructions.')
  const isAgent = 'instructions' in worker
  if (isAgent && 'receive' in worker)
    throw new ConfigError('a worker has either instructions (an agent) or receive (a handler), not both.')
  const known = isAgent ? agentKeys : handlerKeys
  for (const key of Object.keys(worker)) {
    if (!known.has(key))
      throw new ConfigError(
        `defineWorker does not know the field "${key}" of ${isAgent ? 'an agent' : 'a handler'}; it takes ${[...known].join(', ')}.${didYouMean(key, [...known])}`,
      )
  }
  checkCommon(worker)
  if (isAgent) checkAgent(worker as AgentWorker)
  else checkHandler(worker)
  return Object.freeze({ ...worker, [definitionMark]: true }) as unknown as WorkerDefinition
}

export function isAgentDefinition(definition: WorkerDefinition): definition is AgentDefinition {
  return 'instructions' in definition
}

function checkHandler(worker: HandlerWorker<never, never> | HandlerWorker<unknown, unknown>): void {
  if (typeof worker.receive !== 'function')
    throw new ConfigError(
      'a worker needs a receive function: receive(message, self) { … }; or instructions, to be an agent.',
    )
  if (worker.state !== undefined && worker.initial === undefined) {
    throw new ConfigError('a worker with a state schema needs an initial state.')
  }
  checkSchema('state', worker.state)
  checkInitial(worker.initial)
  checkNumber('timeoutMs', worker.timeoutMs, 1, policy.timeoutMsMax)
  if (worker.gather !== undefined && worker.gather !== 'each' && worker.gather !== 'all')
    throw new ConfigError(`gather is 'each' or 'all', not ${shown(worker.gather)}.`)
}

function checkCommon(worker: { input?: unknown; pool?: unknown; spawns?: unknown; retries?: unknown }): void {
  const { input, pool, spawns, retries } = worker
  checkSchema('input', input)
  if (pool !== undefined && !isPool(pool)) {
    throw new ConfigError(`pool ${shown(pool)} is not a pool name: up to 32 lower-case letters, digits, "_" or "-".`)
  }
  if (pool === unhostedPool) {
    throw new ConfigError(
      `pool "${unhostedPool}" is reserved for workers whose kind no node hosts: choose another name.`,
    )
  }
  if (spawns !== undefined && !Array.isArray(spawns)) {
    throw new ConfigError('spawns is the list of kinds a worker may spawn: spawns: ["reader"].')
  }
  for (const kind of (spawns as readonly unknown[] | undefined) ?? []) {
    if (!isKind(kind)) throw new ConfigError(`spawns names ${shown(kind)}, which is not a worker kind: ${kindRule}.`)
  }
  checkNumber('retries', retries, 0, 1_000)
}

function checkSchema(field: string, schema: unknown): void {
  const problem = schemaProblem(field, schema)
  if (problem !== null) throw new ConfigError(problem)
}

/** It is the state of a worker before the first commit, and states are kept as JSON. */
function checkInitial(initial: unknown): void {
  try {
    toJson(initial, 'initial', Number.POSITIVE_INFINITY)
  } catch (cause) {
    throw new ConfigError((cause as Error).message, { cause })
  }
}

function checkNumber(field: string, value: unknown, least: number, most: number): void {
  if (value === undefined || (Number.isInteger(value) && (value as number) >= least && (value as number) <= most))
    return
  throw new ConfigError(`${field} must be a whole number from ${least} to ${most}, not ${shown(value)}.`)
}

export function isWorkerDefinition(value: unknown): value is WorkerDefinition {
  return typeof value === 'object' && value !== null && definitionMark in value
}
