/**
 * Duty: the `self` of one receive. It collects what the handler asks for; nothing takes effect before the commit.
 * Does not own: what becomes of these requests (handler.ts).
 * SELF-1 Each value is turned into JSON, and checked for its size, by the call that passes it. The error then points at the author's line.
 * SELF-2 After receive has returned, self is closed. A later call has no effect, and is logged with the author's line. It does not throw:
 *        often nobody would catch that error, and then the process would end, with all workers that it runs.
 * SELF-3 Methods may be taken out of self: `receive(message, { reply })`.
 */
import { inspect } from 'node:util'
import type { KeptBlob } from '../../core/blob.ts'
import { checkOptions, oneOfRule, type Rules, yesOrNo } from '../../core/check/check-options.ts'
import { isError } from '../../core/check/is-error.ts'
import { isObject } from '../../core/check/is-object.ts'
import { preview } from '../../core/check/preview.ts'
import { fitTo } from '../../core/check/schema-problems.ts'
import { checkSpawn } from '../../core/definition/child-limits.ts'
import type {
  AskOptions,
  AskQuestion,
  AskRef,
  HandlerDefinition,
  Self,
  SpawnOptions,
} from '../../core/definition/define-worker.ts'
import { checkInput, type Definition, kindNamed, type WorkerRef } from '../../core/definition/kind-types.ts'
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import { checkName, defaultName, nameRule } from '../../core/definition/worker-name.ts'
import { InputError, LimitError, RuntimeError, TerminalError, toRuntimeError } from '../../core/errors.ts'
import type { BlobName } from '../../core/history/chat/media.ts'
import { askId, childId, isId, newId, partitionOf, pastedId } from '../../core/ids.ts'
import { toJson } from '../../core/json.ts'
import { policy, type SessionLimits, type Spending, type WorkerLimits } from '../../core/policy.ts'
import type { Assignment, BlobStore } from '../../core/ports/ports.ts'
import { type DeepReadonly, readOnly } from '../../core/read-only.ts'
import { encodeInput, encodeLimitedInput, type Message } from '../../core/worker/message/message.ts'
import { type SendTime, sendTimes } from '../../core/worker/message/steer.ts'
import { encodePermissions, reachOf } from '../../core/worker/permissions.ts'
import { refusalError } from '../../core/worker/refusal.ts'
import { askOf } from './handler-asks.ts'
import { readBlob } from './handler-blobs.ts'
import { resultJson } from './handler-result.ts'
import type { HandlerSteps } from './handler-steps.ts'
import { ReceiveBounds } from './receive-bounds.ts'
import type { Requests } from './requests.ts'

interface SendOptions {
  readonly when?: SendTime
}

const sendRules: Rules<SendOptions> = { when: oneOfRule(sendTimes) }

export interface SelfContext {
  readonly assignment: Assignment
  readonly run: number
  readonly attempt: number
  /** How many children this run had spawned before this receive. */
  readonly calls: number
  readonly openChildren: number
  /** Its open timers and asks before this receive, without the one that it receives. */
  readonly signalsOpen: number
  /** The state before this receive; or the state that this JSON stands for, as the next receive would see it. Throws if it does not fit. */
  readState(json: string | undefined): unknown
  readonly definition: Pick<HandlerDefinition, 'state' | 'spawns' | 'output' | 'limits' | 'childrenAtOnce'>
  readonly limits: WorkerLimits
  readonly spending: Spending
  readonly signal: () => AbortSignal
  readonly log: WorkerLog
  readonly message: Pick<Message, 'id'>
  readonly blobs: Pick<BlobStore, 'find' | 'read'>
  readonly steps: Pick<HandlerSteps, 'recorded' | 'record' | 'taking'>
  /** Calls that the last step of a cancelled run may not make; absent in `receive`. */
  readonly refused?: ReadonlySet<string>
  /** Called when a call comes after self was closed. The stack of the error begins at the author's code; for a step that had begun before, it does not. */
  onLateCall(error: Error): void
  /** Pool of a kind. "unhosted" if no node has ever registered the kind. */
  poolOf(kind: string): string
}

const spawnRules: Rules<SpawnOptions> = { name: nameRule, detached: yesOrNo }

/** Code that waits for a step after `receive` has returned goes no further. */
function never(): Promise<never> {
  return new Promise(() => {})
}

export class HandlerSelf implements Self<unknown> {
  readonly requests: Requests = {
    spawns: [],
    spawnNotes: [],
    sends: [],
    timers: [],
    asks: [],
    askNotes: [],
    stateJson: undefined,
    replyJson: undefined,
    failure: undefined,
  }
  readonly #context: SelfContext
  /** Names of the steps of this receive. */
  readonly #steps = new Set<string>()
  /** What `self.state` returned last, and for which `stateJson`. Parsed when it is first read, because a state may be large. */
  #state: { readonly of: string | undefined; readonly value: unknown } | undefined
  readonly #bounds: ReceiveBounds
  /** How receive had ended when self was closed, as the end of a sentence. Undefined while self is open. */
  #closed: string | undefined

  constructor(context: SelfContext) {
    this.#context = context
    this.#bounds = new ReceiveBounds(context.assignment.kind, this.requests, context.signalsOpen, context.message)
  }

  get id(): string {
    return this.#context.assignment.workerId
  }
  get name(): string {
    return this.#context.assignment.name
  }
  get kind(): string {
    return this.#context.assignment.kind
  }
  get sessionId(): string {
    return this.#context.assignment.sessionId
  }
  get parentId(): string | null {
    return this.#context.assignment.parentId
  }
  get depth(): number {
    return this.#context.assignment.depth
  }
  get run(): number {
    return this.#context.run
  }
  get dryRun(): boolean {
    return this.#context.assignment.isDryRun
  }
  get attempt(): number {
    return this.#context.attempt
  }
  get limits(): SessionLimits {
    return { ...this.#context.limits, ...this.#context.spending }
  }
  get openChildren(): number {
    return this.#context.openChildren + this.requests.spawns.filter((spawn) => !spawn.detached).length
  }
  get state(): unknown {
    const { stateJson } = this.requests
    if (this.#state === undefined || this.#state.of !== stateJson)
      this.#state = { of: stateJson, value: this.#context.readState(stateJson) }
    return this.#state.value
  }
  /** Without a setter, JavaScript would throw an unclear TypeError, and the message would be retried. */
  set state(_next: unknown) {
    if (this.#isClosed('state')) return
    throw new InputError('self.state cannot be assigned: call self.setState(state) with the new state.')
  }
  get signal(): AbortSignal {
    return this.#context.signal()
  }
  get log(): WorkerLog {
    return this.#context.log
  }
  get idempotencyKey(): string {
    return `${this.id}/${this.run}/${this.#context.message.id}`
  }

  readonly step = <Value>(
    name: string,
    work: (key: string) => Value | Promise<Value>,
  ): Promise<DeepReadonly<Value>> => {
    if (this.#isClosed('step')) return never()
    const result = this.#takeStep(name, work)
    // Whoever awaits it gets the error. If nobody does, it must not end the process.
    result.catch(() => {})
    return result as Promise<DeepReadonly<Value>>
  }

  async #takeStep(name: string, work: (key: string) => unknown): Promise<unknown> {
    if (typeof name !== 'string' || name === '' || Buffer.byteLength(name) > policy.nameBytesMax)
      throw new InputError(`step takes a name of 1 to ${policy.nameBytesMax} bytes, not ${preview(name)}.`)
    if (typeof work !== 'function')
      throw new InputError(`step takes a function that does "${name}", not ${preview(work)}.`)
    if (this.#steps.has(name))
      throw new TerminalError(
        `${this.kind} called step("${name}") twice in one receive: a name stands for one step of the run. Name the second one otherwise.`,
      )
    this.#steps.add(name)
    const { steps } = this.#context
    let valueJson = await steps.recorded(name)
    if (valueJson === undefined) {
      if (this.#isClosed('step', `"${name}" was to begin`)) return never()
      valueJson = await steps.taking(async () => {
        const value = toJson(await work(`${this.id}/${this.run}/step/${name}`), `the value of step "${name}"`)
        if (this.#isClosed('step', `"${name}" ended`)) return undefined
        await steps.record(name, value)
        return value
      })
      if (valueJson === undefined) return never()
    }
    return this.#closed === undefined ? readOnly(JSON.parse(valueJson) as unknown) : never()
  }

  readonly spawn = (childKind: string | Definition, input: unknown, options: SpawnOptions = {}): WorkerRef => {
    const { assignment, limits, definition } = this.#context
    // A worker that will never exist: code that goes on with it may only send to it, and that is late, too.
    if (this.#isClosed('spawn')) return neverSpawned(this.id, childKind, options)
    this.#bounds.checkOneMore('spawn')
    const kind = kindNamed(childKind, 'spawn')
    checkOptions('spawn', options, spawnRules, InputError)
    if (definition.spawns && !definition.spawns.includes(kind)) {
      throw new TerminalError(
        `${this.kind} may not spawn "${kind}": its definition allows ${definition.spawns.join(', ') || 'nothing'}.`,
      )
    }
    if (assignment.permissions.kinds && !assignment.permissions.kinds.includes(kind)) {
      throw new LimitError(
        'permission_exceeded',
        `worker ${this.name} (${this.id}) may not spawn "${kind}": its permissions allow ${assignment.permissions.kinds.join(', ') || 'nothing'}.`,
      )
    }
    const detached = options.detached ?? false
    checkSpawn(definition, assignment, detached ? null : this.openChildren + 1)
    if (assignment.depth + 1 > limits.depth) {
      throw new LimitError(
        'depth_exceeded',
        `worker ${this.name} (${this.id}) is at depth ${assignment.depth} and the session allows ${limits.depth}: it may not spawn. A new session may get a higher limits.depth.`,
      )
    }
    // Children that wait to start do not count, and only as many start as the session allows.
    if (!detached && definition.childrenAtOnce === undefined && this.openChildren + 1 > limits.children) {
      const refusal = { reason: 'children_exceeded', limit: limits.children, id: this.id } as const
      throw refusalError(refusal, `worker ${this.name} (${this.id})`)
    }
    const call = this.#context.calls + this.requests.spawns.length + 1
    const id = childId(this.id, this.run, call)
    const name = checkName(options.name ?? defaultName(kind, call))
    const inputJson = toJson(input, `the input of ${name}`)
    checkInput(childKind, kind, inputJson)
    const mail = encodeInput(this.id, inputJson)
    const permissions = encodePermissions(assignment.permissions)
    // A commit holds these permissions once for all children.
    this.#bounds.count('spawn', this.requests.spawns.length === 0 ? mail + permissions : mail)
    const order = { id, kind, name, pool: this.#context.poolOf(kind), detached, call, mail }
    this.requests.spawns.push({ ...order, permissions })
    this.requests.spawnNotes.push({ call, id, kind, name, ...(detached ? { detached: true as const } : {}) })
    return { id, name, kind }
  }

  readonly send = (to: WorkerRef | string, value: unknown, options: SendOptions = {}): void => {
    if (this.#isClosed('send')) return
    checkOptions('send', options, sendRules, InputError)
    const { when } = options
    this.#bounds.checkOneMore('send')
    const recipient: unknown = isObject(to) ? to.id : to
    const workerId = typeof recipient === 'string' ? pastedId(recipient) : recipient
    if (!isId(workerId)) throw new InputError(`send takes a worker's reference or id, not ${preview(recipient ?? to)}.`)
    const { permissions } = this.#context.assignment
    const mail = encodeLimitedInput(
      this.id,
      encodePermissions(permissions),
      toJson(value, `the message to ${workerId}`),
    )
    this.#bounds.count('send', mail)
    const steering = when === 'queue' ? undefined : when
    this.requests.sends.push({ workerId, mail, reach: reachOf(permissions), when: steering })
  }

  readonly reply = (value: unknown): void => {
    if (this.#isClosed('reply')) return
    if (this.requests.replyJson !== undefined || this.requests.failure !== undefined) {
      throw new TerminalError(`${this.kind} replied twice to one message: a run ends once.`)
    }
    const replyJson = resultJson(this.#context.definition, this.kind, value)
    // The history of a child has its reply, and its parent gets it. It counts less than twice: a child may answer whatever reaches it with the largest value.
    this.#bounds.count('reply', replyJson, this.parentId === null ? 1 : 1.5)
    this.requests.replyJson = replyJson
  }

  readonly fail = (error: Error | string): void => {
    if (this.#isClosed('fail')) return
    if (this.requests.replyJson !== undefined || this.requests.failure !== undefined) {
      throw new TerminalError(`${this.kind} ended its run twice: a run ends once.`)
    }
    this.requests.failure = failureOf(error)
  }

  readonly after = (ms: number, value: unknown): void => {
    if (this.#isClosed('after')) return
    this.#bounds.checkOneMore('after')
    if (typeof ms !== 'number' || Number.isNaN(ms) || ms > policy.timerMsMax)
      throw new InputError(
        `after takes a number of milliseconds from 0 to ${policy.timerMsMax} (a year), not ${preview(ms)}.`,
      )
    const valueJson = toJson(value, 'the value of the timer')
    this.#bounds.count('after', valueJson)
    this.requests.timers.push({ id: newId(partitionOf(this.id)), ms: Math.round(Math.max(0, ms)), valueJson })
  }

  readonly ask = (question: AskQuestion, options: AskOptions = {}): AskRef => {
    const id = askId(this.id, this.run, this.#context.message.id, this.requests.asks.length + 1)
    if (this.#isClosed('ask')) return { id }
    this.#bounds.checkOneMore('ask')
    const { order, note } = askOf(id, question, options)
    this.#bounds.count('ask', order.body + (order.expiry?.answer ?? ''))
    this.requests.asks.push(order)
    this.requests.askNotes.push(note)
    return { id }
  }

  readonly setState = (next: unknown): void => {
    if (this.#isClosed('setState')) return
    const schema = this.#context.definition.state
    const fit = schema && fitTo(schema, next)
    if (fit?.ok === false)
      throw new TerminalError(`the new state of ${this.kind} does not fit its schema: ${fit.reasons.join('; ')}`)
    const stateJson = toJson(next, 'the state')
    this.#bounds.countState(stateJson)
    this.requests.stateJson = stateJson
  }

  readonly blob = (medium: BlobName): Promise<KeptBlob | null> =>
    this.#isClosed('blob') ? never() : readBlob(this.#context.blobs, this.sessionId, medium)

  /** From now on no call has an effect. `isLate`: receive still runs, although its time is over. Returns false if it was closed before. */
  close({ isLate = false } = {}): boolean {
    const wasOpen = this.#closed === undefined
    this.#closed = isLate
      ? `taken longer than its ${this.#context.refused === undefined ? 'timeoutMs' : 'onCancelMs'}: let it end when self.signal fires`
      : 'returned: await everything before it returns'
    return wasOpen
  }

  /** True after receive has returned: then the call is reported, and must have no effect. `what`: for a step, which is no call any more. */
  #isClosed(
    call: 'step' | 'spawn' | 'send' | 'reply' | 'fail' | 'after' | 'ask' | 'setState' | 'blob' | 'state',
    what?: string,
  ): boolean {
    const { refused } = this.#context
    if (refused?.has(call))
      throw new TerminalError(
        `self.${call} cannot be used in onCancel: the run was cancelled, so it starts nothing more and has its result. Use self.send, or do it outside.`,
      )
    if (this.#closed === undefined) return false
    const code = refused === undefined ? 'receive' : 'onCancel'
    const late = new Error(`self.${call} ${what ?? 'was called'} after ${code} had ${this.#closed}. It has no effect.`)
    if (call !== 'state' && what === undefined) Error.captureStackTrace(late, this[call])
    this.#context.onLateCall(late)
    return true
  }
}

function neverSpawned(parentId: string, kind: string | Definition, { name }: SpawnOptions): WorkerRef {
  const named = typeof kind === 'string' ? kind : (kind.kind ?? '')
  return { id: newId(partitionOf(parentId)), name: name ?? named, kind: named }
}

/** `self.fail` always fails the run, whatever value it gets. Only a thrown error may be retried. */
function failureOf(error: unknown): RuntimeError {
  if (error instanceof RuntimeError) return error
  if (isError(error)) return new TerminalError(toRuntimeError(error).message, { cause: error })
  if (typeof error === 'string' && error !== '') return new TerminalError(error)
  const argument = error === undefined || error === '' ? 'without a reason' : `with ${inspect(error, { depth: 2 })}`
  return new TerminalError(`self.fail was called ${argument}: it takes an Error or a text.`)
}
