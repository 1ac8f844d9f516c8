/**
 * Duty: define what an author writes for a worker kind. Pure: a definition does nothing until a node runs it.
 * A handler is a function of one message. Its reply, spawns, sends, timers and new state are committed together after `receive` has
 * returned, or not at all.
 */
import type { z } from 'zod'
import type { KeptBlob } from '../blob.ts'
import { schemaProblem } from '../check/check-schema.ts'
import { didYouMean } from '../check/closest.ts'
import { preview } from '../check/preview.ts'
import { ConfigError } from '../errors.ts'
import type { AgentResult, AgentResultOf } from '../history/agent-result.ts'
import type { BlobName } from '../history/chat/media.ts'
import { isKind, isPool, kindRule, unhostedPool } from '../ids.ts'
import { toJson } from '../json.ts'
import { policy, type SessionLimits } from '../policy.ts'
import type { DeepReadonly } from '../read-only.ts'
import type { Message } from '../worker/message/message.ts'
import type { SendTime } from '../worker/message/steer.ts'
import { type AgentWorker, agentKeys, checkAgent } from './agent/define-agent.ts'
import { type ChildLimits, checkDeclared, childLimitNames } from './child-limits.ts'
import {
  type Definition,
  definitionMark,
  type FreeName,
  isDefinition,
  type KnownName,
  type TakenBy,
  type WorkerRef,
} from './kind-types.ts'
import { type CancelSelf, checkOnCancel } from './on-cancel.ts'
import { checkRetry, type RetrySettings, retriesMost } from './retry-settings.ts'
import { type ConcurrencySettings, checkRunLimits, type RateSettings } from './run-limits.ts'
import type { WorkerIdentity } from './worker-identity.ts'
import type { WorkerLog } from './worker-log.ts'

export interface SpawnOptions {
  /** A name for people to read. Default: the kind and the number of the spawn. At most 64 bytes. */
  readonly name?: string | undefined
  /** A detached child outlives this run and returns no result. A cancel of the session still stops it. Default false. */
  readonly detached?: boolean | undefined
}

/** A question, or the name of an event in another system. */
export type AskQuestion = string | { readonly signal: string }

export interface AskOptions {
  /** The schema of the answer. It is checked when somebody answers. */
  readonly schema?: z.ZodType | undefined
  /** The answer must be one of these texts. */
  readonly options?: readonly string[] | undefined
  /** After this long the ask expires; `onExpiry` says what happens then. Default: never. */
  readonly expiresMs?: number | undefined
  /**
   * If nobody answers in time: with `'fail'` the run fails with `ask_expired`, which names the ask. Any other value is what the worker receives, as
   * the value of a message with the status `expired`. Default null.
   */
  readonly onExpiry?: unknown
}

/** An ask that this worker made. */
export interface AskRef {
  readonly id: string
}

/** What `receive` may do. Nothing takes effect before the commit. Values must be JSON. It may be destructured: `{ state, reply }`. */
export interface Self<State = unknown, Reply = unknown> extends WorkerIdentity {
  /** Number of the run, from 1. */
  readonly run: number
  /** Which attempt of this message it is, from 1. */
  readonly attempt: number
  /** True in a copy of a session that was made as a dry run (`session.fork({ dryRun: true })`): do nothing outside. */
  readonly dryRun: boolean
  readonly limits: SessionLimits
  /** How many children of this run have not returned a result yet, including those spawned in this receive. */
  readonly openChildren: number
  /** The state after the last commit or the last `setState`. Read-only at every depth: change a copy, and pass it to `setState`. */
  readonly state: DeepReadonly<State>
  /** Aborts when the run is cancelled, `timeoutMs` is over, the lease is lost or the node stops. Then nothing will be committed: stop working. */
  readonly signal: AbortSignal
  readonly log: WorkerLog
  /** The same for each attempt of this message. Pass it to services that must not do the same work twice. */
  readonly idempotencyKey: string
  /**
   * Does something outside at most once per run, or again only under the same key: `await self.step('charge', (key) => pay(key, 30))`.
   * What `work` returns must be JSON. It is recorded by a commit of its own before `step` answers; an attempt or a start after a crash then
   * gets the recorded value, and `work` is not called. If the process dies before the record, `work` is called again with the same
   * `idempotencyKey`. A name stands for one step of the run; using it twice in one `receive` fails the run.
   */
  step<Value>(
    this: void,
    name: string,
    work: (idempotencyKey: string) => Value | Promise<Value>,
  ): Promise<DeepReadonly<Value>>
  /** Starts a child of the kind with this name, of which the compiler knows nothing. */
  spawn<Given, Name extends string = string>(
    this: void,
    kind: Name & FreeName<Name>,
    input: NoInfer<DeepReadonly<Given>>,
    options?: SpawnOptions,
  ): WorkerRef<Given>
  // The compiler reports errors in terms of the last overload.
  /**
   * Starts a child of this definition, or of the kind with this name: then the type of its input is known. An input is checked at once against the
   * schema of a definition. (For a name, the type is known once `troupe kinds --types` has written the kinds of the project.) Throws a LimitError if
   * the session allows no deeper or no more children. The workers of the session are counted by the commit.
   */
  spawn<Kind extends KnownName | Definition>(
    this: void,
    kind: Kind,
    input: DeepReadonly<TakenBy<Kind>>,
    options?: SpawnOptions,
  ): WorkerRef<TakenBy<Kind>>
  /**
   * Sends an input message to any worker, by reference or id. `when`: the next run of a busy worker receives it (`queue`, the default),
   * or the run in progress (`steer`), which may be interrupted for it (`interrupt`).
   */
  send<Given>(
    this: void,
    to: WorkerRef<Given> | string,
    value: NoInfer<DeepReadonly<Given>>,
    options?: { readonly when?: SendTime },
  ): void
  /**
   * Ends the run with this result. Throws if the result does not fit `output` of the kind. Children that still run are cancelled unless they are
   * detached. Open timers are dropped.
   */
  reply(this: void, value: DeepReadonly<Reply>): void
  /** Ends the run as failed, without a retry. The code is `run_failed`, or that of the error if it is one of troupe's. */
  fail(this: void, error: Error | string): void
  /** Sets a durable timer. This run receives `{ kind: 'timer', value }` after about `ms`; at once if `ms` is negative. */
  after(this: void, ms: number, value: unknown): void
  /**
   * Asks somebody outside: a person, or another system (`{ signal: 'paid' }`). The run stays open, and the worker holds no slot meanwhile. It
   * receives `{ kind: 'answer', id, status, value, by, reason }`, where `id` is that of the returned ask. `troupe ask answer <id>` or
   * `troupe.asks.answer(id, value)` answers. Every attempt of this message asks under the same ids. Nobody can answer before the commit: give an id
   * away with a later message (docs/asks.md).
   */
  ask(this: void, question: AskQuestion, options?: AskOptions): AskRef
  /** Sets the state. A read of `self.state` then returns it as the next `receive` will see it. */
  setState(this: void, next: DeepReadonly<State>): void
  /**
   * The bytes of a medium: of a block of a message (image, audio, file), which holds them or names a blob of the session by its `url`; or of the blob of that
   * name. Null if the session has no such blob. Nothing is fetched from elsewhere.
   */
  blob(this: void, medium: BlobName): Promise<KeptBlob | null>
}

interface HandlerFields<State, Input, Given, Reply, Result> {
  /**
   * The name under which nodes host this definition: the name of its file, or its key in `workers`. With it, `sessions.create` and `self.spawn` take
   * the definition in place of the name.
   */
  readonly kind?: string
  readonly description?: string
  /** Schema of the state. The state is checked when it is read and when it is set. Needs `initial`. */
  readonly state?: z.ZodType<State>
  /** The state of a worker before its first `setState`. Without `initial` that state is null, so the state's type must include null. */
  readonly initial?: State
  /** Schema of input messages, and the type of their values. An input that does not fit fails the run with `input_invalid`. */
  readonly input?: z.ZodType<Input, Given>
  /**
   * Schema of its result. The result is recorded as the schema returns it. A result that does not fit fails the run, and so does an end without a
   * reply, unless the schema allows null.
   */
  readonly output?: z.ZodType<Result, Reply>
  /** Kinds that it may spawn. Default: any. */
  readonly spawns?: readonly string[]
  /** Limits of its children, within those of the session. */
  readonly limits?: ChildLimits
  /**
   * How many children of a run run at once, within `limits.children` of the session. Further ones wait to start, in the order of their spawns: when a
   * child has ended, the next one starts. A worker waits for 1 000 at most. Detached children do not count. Default: all run at once.
   */
  readonly childrenAtOnce?: number
  /** How many runs of this kind, or of each key of their inputs, are in progress at once over all nodes. Further ones wait, without a slot. Default: any number. */
  readonly concurrency?: ConcurrencySettings<DeepReadonly<Input>>
  /** How many runs of this kind, or of each key of their inputs, begin within a time over all nodes. Further ones wait, without a slot. Default: any number. */
  readonly rate?: RateSettings<DeepReadonly<Input>>
  /** The pool of this kind. Kinds that the same nodes host share a pool. Default: "default". */
  readonly pool?: string
  /** How often a message is retried after `receive` threw, before the run fails. Default 3. */
  readonly retries?: number
  /** How often, and after which waits, a message is retried. */
  readonly retry?: RetrySettings
  /**
   * When a parent that waits for its children continues. `each` (default): with the next result, in the order of the spawns, so that it can
   * act on it at once. `all`: when the last child has reported; it then receives all results, in that order, in one turn, which costs a
   * fraction of the commits.
   */
  readonly await?: 'each' | 'all'
  /** A `receive` that takes longer is aborted, as if it had thrown. Default: no limit. */
  readonly timeoutMs?: number
  /**
   * Called once when a run in progress is cancelled, as its last step: to undo what the run did outside, and to tell others. It may send
   * messages, set the state and log. Whatever it does, the run ends as cancelled. See docs/sagas.md.
   */
  onCancel?(this: void, self: CancelSelf<State>, reason: string): void | Promise<void>
  /** How long `onCancel` may take, and how long it waits for a `receive` that ignores its signal. Default 30 000. */
  readonly onCancelMs?: number
  /** Only an agent has `instructions`. */
  readonly instructions?: undefined
  /** The message, like the state, is read-only at every depth. */
  receive(message: Message<DeepReadonly<Input>>, self: Self<State, Reply>): void | Promise<void>
}

/** Requires `initial` if the type of the state does not include null, because without `initial` the state begins as null. */
type Beginning<State> = null extends State ? unknown : { readonly initial: State }

/** `Input`: what `receive` gets. `Given`: what others pass. `Reply`: what `self.reply` takes. `Result`: what others get. */
export type HandlerWorker<
  State = unknown,
  Input = unknown,
  Given = Input,
  Reply = unknown,
  Result = Reply,
> = HandlerFields<State, Input, Given, Reply, Result> & Beginning<State>

export type HandlerDefinition<Given = unknown, Result = unknown> = HandlerFields<
  never,
  never,
  never,
  unknown,
  unknown
> &
  Definition<Given, Result>
/** `Result`: an AgentResult, whose `output` has a type if its kind says so. */
export type AgentDefinition<Given = unknown, Result = AgentResult> = AgentWorker & Definition<Given, Result>
type ResultOfAgent<Output> = [Output] extends [never] ? AgentResult : AgentResultOf<Output>
export type WorkerDefinition<Given = unknown, Result = unknown> =
  | HandlerDefinition<Given, Result>
  | AgentDefinition<Given>

const handlerKeys = new Set([
  'kind',
  'description',
  'state',
  'initial',
  'input',
  'output',
  'spawns',
  'limits',
  'childrenAtOnce',
  'concurrency',
  'rate',
  'pool',
  'retries',
  'retry',
  'timeoutMs',
  'await',
  'onCancel',
  'onCancelMs',
  'receive',
])

/**
 * Defines a worker kind. A file in the workers folder exports it by default, and the name of the file is the kind. A definition with
 * `receive` is a handler, one with `instructions` is an agent.
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
export function defineWorker<Given = unknown, Output = never>(
  worker: AgentWorker<Given, Output>,
): AgentDefinition<Given, ResultOfAgent<Output>>
export function defineWorker<State = unknown, Input = unknown, Given = Input, Reply = unknown, Result = Reply>(
  worker: HandlerWorker<State, Input, Given, Reply, Result>,
): HandlerDefinition<Given, Result>
// The compiler reports errors in terms of the last overload, which distinguishes agents and handlers.
export function defineWorker<State = unknown, Input = unknown, Given = Input, Reply = unknown, Result = Reply>(
  worker: AgentWorker<Given> | HandlerWorker<State, Input, Given, Reply, Result>,
): WorkerDefinition<Given, Result>
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

function checkHandler(worker: {
  readonly receive?: unknown
  readonly state?: unknown
  readonly initial?: unknown
  readonly limits?: unknown
  readonly childrenAtOnce?: unknown
  readonly timeoutMs?: number
  readonly await?: unknown
}): void {
  if (typeof worker.receive !== 'function')
    throw new ConfigError(
      'a worker needs a receive function: receive(message, self) { … }; or instructions, to be an agent.',
    )
  if (worker.state !== undefined && worker.initial === undefined) {
    throw new ConfigError('a worker with a state schema needs an initial state.')
  }
  checkSchema('state', worker.state)
  checkDeclared(worker, childLimitNames, 'a handler')
  checkInitial(worker.initial)
  checkNumber('timeoutMs', worker.timeoutMs, 1, policy.timeoutMsMax)
  if (worker.await !== undefined && worker.await !== 'each' && worker.await !== 'all')
    throw new ConfigError(`await must be 'each' or 'all', not ${preview(worker.await)}.`)
}

function checkCommon(worker: {
  kind?: unknown
  input?: unknown
  output?: unknown
  pool?: unknown
  spawns?: unknown
  retries?: unknown
  retry?: unknown
  concurrency?: unknown
  rate?: unknown
  onCancel?: unknown
  onCancelMs?: unknown
}): void {
  const { kind, input, output, pool, spawns, retries } = worker
  if (kind !== undefined && !isKind(kind))
    throw new ConfigError(`kind ${preview(kind)} is not a worker kind: ${kindRule}.`)
  checkSchema('input', input)
  checkSchema('output', output)
  if (pool !== undefined && !isPool(pool)) {
    throw new ConfigError(
      `pool ${preview(pool)} is not a valid name of a pool: use up to 32 lower-case letters, digits, "_" or "-".`,
    )
  }
  if (pool === unhostedPool) {
    throw new ConfigError(
      `pool "${unhostedPool}" is reserved for workers whose kind no node hosts: choose another name.`,
    )
  }
  if (spawns !== undefined && !Array.isArray(spawns)) {
    throw new ConfigError('spawns must be the list of kinds that a worker may spawn: spawns: ["reader"].')
  }
  for (const kind of (spawns as readonly unknown[] | undefined) ?? []) {
    if (!isKind(kind)) throw new ConfigError(`spawns names ${preview(kind)}, which is not a worker kind: ${kindRule}.`)
  }
  checkNumber('retries', retries, 0, retriesMost)
  checkRetry(worker)
  checkRunLimits(worker)
  checkOnCancel(worker)
}

function checkSchema(field: string, schema: unknown): void {
  const problem = schemaProblem(field, schema)
  if (problem !== null) throw new ConfigError(problem)
}

/** `initial` is the state before the first commit, and states are stored as JSON. */
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
  throw new ConfigError(`${field} must be a whole number from ${least} to ${most}, not ${preview(value)}.`)
}

export function isWorkerDefinition(value: unknown): value is WorkerDefinition {
  return isDefinition(value)
}
