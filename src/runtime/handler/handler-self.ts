/**
 * Duty: the `self` of one receive: it collects what the handler asks for; nothing leaves before the commit.
 * F1 Every value is made JSON, and checked for size, at the call that gives it, so that the error points at the author's line.
 * F2 After receive has returned, self is closed: a late call is an error, not a lost effect. It is logged as well, since nobody may
 *    catch what is thrown then, and the process ends of it.
 * F3 What an author calls may be taken out of self: `receive(message, { reply })`.
 */
import { inspect } from 'node:util'
import { checkOptions, type Rules, yesOrNo } from '../../core/check/check-options.ts'
import { isObject } from '../../core/check/is-object.ts'
import { fitTo } from '../../core/check/schema-problems.ts'
import { shown } from '../../core/check/shown.ts'
import type { HandlerDefinition, Self, SpawnOptions, WorkerRef } from '../../core/definition/define-worker.ts'
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import { checkName, defaultName, nameRule } from '../../core/definition/worker-name.ts'
import { InputError, LimitError, RuntimeError, TerminalError, toRuntimeError } from '../../core/errors.ts'
import type { SpawnNote } from '../../core/history/entry.ts'
import { childId, isId, newId, parseKind, partitionOf, pastedId } from '../../core/ids.ts'
import { toJson } from '../../core/json.ts'
import { policy, type SessionLimits, type Spending, type WorkerLimits } from '../../core/policy.ts'
import type { Grant, SpawnOrder } from '../../core/ports/ports.ts'
import { encodeInput, type Message } from '../../core/worker/message.ts'
import { refusalError } from '../../core/worker/refusal.ts'
import { encodeGrant } from '../../core/worker/worker-grant.ts'

/** What a handler asked for in one receive. */
export interface Wishes {
  readonly spawns: SpawnOrder[]
  readonly spawnNotes: SpawnNote[]
  readonly sends: { workerId: string; mail: string }[]
  readonly timers: { id: string; ms: number; valueJson: string }[]
  stateJson: string | undefined
  replyJson: string | undefined
  failure: RuntimeError | undefined
}

export interface SelfContext {
  readonly grant: Grant
  readonly run: number
  readonly attempt: number
  /** Children spawned in this run before this receive. */
  readonly calls: number
  readonly openChildren: number
  readonly state: unknown
  readonly definition: HandlerDefinition
  readonly limits: WorkerLimits
  readonly spending: Spending
  readonly signal: () => AbortSignal
  readonly log: WorkerLog
  readonly message: Message
  /** Pool of a kind; "unhosted" when no node ever registered it. */
  poolOf(kind: string): string
}

const spawnRules: Rules<SpawnOptions> = { name: nameRule, detached: yesOrNo }

export class HandlerSelf implements Self<unknown> {
  readonly wishes: Wishes = {
    spawns: [],
    spawnNotes: [],
    sends: [],
    timers: [],
    stateJson: undefined,
    replyJson: undefined,
    failure: undefined,
  }
  readonly #context: SelfContext
  #state: unknown
  /** Of the mails and values asked for so far. */
  #bytes = 0
  /** What receive had done when it closed. */
  #closed: string | undefined

  constructor(context: SelfContext) {
    this.#context = context
    this.#state = context.state
  }

  get id(): string {
    return this.#context.grant.workerId
  }
  get name(): string {
    return this.#context.grant.name
  }
  get kind(): string {
    return this.#context.grant.kind
  }
  get sessionId(): string {
    return this.#context.grant.sessionId
  }
  get parentId(): string | null {
    return this.#context.grant.parentId
  }
  get depth(): number {
    return this.#context.grant.depth
  }
  get run(): number {
    return this.#context.run
  }
  get attempt(): number {
    return this.#context.attempt
  }
  get limits(): SessionLimits {
    return { ...this.#context.limits, ...this.#context.spending }
  }
  get openChildren(): number {
    return this.#context.openChildren + this.wishes.spawns.filter((spawn) => !spawn.detached).length
  }
  get state(): unknown {
    return this.#state
  }
  /** Else JavaScript would say that there is only a getter, and the message would be tried again. */
  set state(_next: unknown) {
    throw new InputError('self.state cannot be assigned: give the new state to self.setState(state).')
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

  readonly spawn = (kind: string, input: unknown, options: SpawnOptions = {}): WorkerRef => {
    this.#openForMore('spawn')
    const { grant, limits, definition } = this.#context
    parseKind(kind)
    checkOptions('spawn', options, spawnRules, InputError)
    if (definition.spawns && !definition.spawns.includes(kind)) {
      throw new TerminalError(
        `${this.kind} may not spawn "${kind}": its definition allows ${definition.spawns.join(', ') || 'nothing'}.`,
      )
    }
    if (grant.allowed.kinds && !grant.allowed.kinds.includes(kind)) {
      throw new LimitError(
        'grant_exceeded',
        `worker ${this.name} (${this.id}) may not spawn "${kind}": its grant allows ${grant.allowed.kinds.join(', ') || 'nothing'}.`,
      )
    }
    const detached = options.detached ?? false
    if (grant.depth + 1 > limits.depth) {
      throw new LimitError(
        'depth_exceeded',
        `worker ${this.name} (${this.id}) is at depth ${grant.depth} and the session allows ${limits.depth}: it may not spawn.`,
      )
    }
    if (!detached && this.openChildren + 1 > limits.children) {
      const refusal = { reason: 'children_exceeded', limit: limits.children, id: this.id }
      throw refusalError(refusal, `worker ${this.name} (${this.id})`)
    }
    const call = this.#context.calls + this.wishes.spawns.length + 1
    const id = childId(this.id, this.run, call)
    const name = checkName(options.name ?? defaultName(kind, call))
    const mail = encodeInput(this.id, toJson(input, `the input of ${name}`))
    this.#weigh('spawn', mail)
    const order = { id, kind, name, pool: this.#context.poolOf(kind), detached, call, mail }
    this.wishes.spawns.push({ ...order, grant: encodeGrant(grant.allowed) })
    this.wishes.spawnNotes.push({ call, id, kind, name, ...(detached ? { detached: true as const } : {}) })
    return { id, name, kind }
  }

  readonly send = (to: WorkerRef | string, value: unknown): void => {
    this.#openForMore('send')
    const given: unknown = isObject(to) ? to.id : to
    const workerId = typeof given === 'string' ? pastedId(given) : given
    if (!isId(workerId)) throw new InputError(`send takes a worker's reference or id, not ${shown(given ?? to)}.`)
    if (partitionOf(workerId) !== partitionOf(this.id)) {
      throw new InputError(
        `worker ${workerId} lives in another partition: sending between partitions is not possible yet.`,
      )
    }
    const mail = encodeInput(this.id, toJson(value, `the message to ${workerId}`))
    this.#weigh('send', mail)
    this.wishes.sends.push({ workerId, mail })
  }

  readonly reply = (value: unknown): void => {
    this.#open('reply')
    if (this.wishes.replyJson !== undefined || this.wishes.failure !== undefined) {
      throw new TerminalError(`${this.kind} replied twice to one message: a run ends once.`)
    }
    this.wishes.replyJson = toJson(value, 'the reply')
  }

  readonly fail = (error: Error | string): void => {
    this.#open('fail')
    if (this.wishes.replyJson !== undefined || this.wishes.failure !== undefined) {
      throw new TerminalError(`${this.kind} ended its run twice: a run ends once.`)
    }
    this.wishes.failure = failureOf(error)
  }

  readonly after = (ms: number, value: unknown): void => {
    this.#openForMore('after')
    if (!Number.isFinite(ms) || ms < 0 || ms > policy.timerMsMax)
      throw new InputError(
        `after takes a number of milliseconds from 0 to ${policy.timerMsMax} (a year), not ${shown(ms)}.`,
      )
    const valueJson = toJson(value, 'the value of the timer')
    this.#weigh('after', valueJson)
    this.wishes.timers.push({ id: newId(partitionOf(this.id)), ms: Math.round(ms), valueJson })
  }

  readonly setState = (next: unknown): void => {
    this.#open('setState')
    const schema = this.#context.definition.state
    const fit = schema && fitTo(schema, next)
    if (fit?.ok === false)
      throw new TerminalError(`the new state of ${this.kind} does not fit its schema: ${fit.reasons.join('; ')}`)
    this.wishes.stateJson = toJson(next, 'the state')
    this.#state = next
  }

  /** From now on every call is an error. `isLate`: receive goes on, though its time is over. */
  close({ isLate = false } = {}): void {
    this.#closed = isLate
      ? 'taken longer than its timeoutMs: let it end when self.signal fires'
      : 'returned: await everything before it returns'
  }

  #openForMore(call: string): void {
    this.#open(call)
    const { spawns, sends, timers } = this.wishes
    if (spawns.length + sends.length + timers.length < policy.stepPartsMax) return
    throw this.#tooBig(call, `had asked for ${policy.stepPartsMax} spawns, sends and timers, as many`)
  }

  /** What a refused call gave is not counted. */
  #weigh(call: string, text: string): void {
    const bytes = this.#bytes + Buffer.byteLength(text)
    if (bytes > policy.stepBytesMax)
      throw this.#tooBig(
        call,
        `had given away ${this.#bytes} bytes, and this would be more than ${policy.stepBytesMax}, as many`,
      )
    this.#bytes = bytes
  }

  #tooBig(call: string, what: string): LimitError {
    const advice = 'ask for the rest in another one (self.after(0, rest))'
    return new LimitError(
      'step_too_big',
      `self.${call} was called when ${this.kind} ${what} as one receive may: ${advice}.`,
    )
  }

  #open(call: string): void {
    if (this.#closed === undefined) return
    const late = `self.${call} was called after receive had ${this.#closed}.`
    this.log.error(`worker ${this.name} (${this.id}) of session ${this.sessionId}: ${late} It has no effect.`)
    throw new TerminalError(late)
  }
}

/** A run that was told to fail fails, whatever it was told as the reason; only what is thrown is taken for passing. */
function failureOf(error: unknown): RuntimeError {
  if (error instanceof RuntimeError) return error
  if (error instanceof Error) return new TerminalError(toRuntimeError(error).message, { cause: error })
  if (typeof error === 'string' && error !== '') return new TerminalError(error)
  const given = error === undefined || error === '' ? 'without a reason' : `with ${inspect(error, { depth: 2 })}`
  return new TerminalError(`self.fail was called ${given}: it takes an Error or a text.`)
}
