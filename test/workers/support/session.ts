/**
 * Duty: runs worker definitions in memory: a stand-in for a session, without Redis and without durability. Messages and states go
 * through JSON and their schemas as in troupe, results come one by one in the order of the spawns, and the limits are enforced.
 */
import type { Definition, HandlerDefinition, HandlerWorker, Message, ResultMessage, Self, SpawnOptions } from 'troupe'
import { kindNamed } from '../../../src/core/definition/kind-types.ts'
import { defaultSessionLimits } from '../../../src/core/policy.ts'

type Limits = Self['limits']
type Status = ResultMessage['status']

/** The limits with which a session starts, except that its model calls do not bound the number of workers of a survey. */
export const startLimits: Limits = { ...defaultSessionLimits, modelCalls: 1_000 }
const messageBytesMax = 1_048_576
const nameBytesMax = 64

export interface Ran {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly depth: number
  readonly input: unknown
}

export interface Outcome {
  readonly status: Status
  readonly value: unknown
  readonly failure: string | null
}

export interface SessionOptions {
  readonly limits?: Partial<Limits>
  readonly signal?: AbortSignal
  /** What becomes of a worker instead of being run. */
  readonly disturb?: (worker: Ran) => Outcome | null
}

interface Call {
  readonly worker: Ran
  readonly call: number
}

/** What one `receive` did; nothing of it counts before it has returned. */
interface Effects {
  state: unknown
  ended: Outcome | null
  readonly calls: Call[]
}

interface Run {
  readonly worker: Ran
  readonly definition: HandlerDefinition
  openChildren: number
  spawned: number
}

export class MemorySession {
  readonly ran: Ran[] = []
  biggestMessage = 0
  biggestState = 0
  readonly #kinds: Readonly<Record<string, HandlerDefinition>>
  readonly #limits: Limits
  readonly #signal: AbortSignal
  readonly #disturb: (worker: Ran) => Outcome | null

  constructor(kinds: Readonly<Record<string, HandlerDefinition>>, options: SessionOptions = {}) {
    this.#kinds = kinds
    this.#limits = { ...startLimits, ...options.limits }
    this.#signal = options.signal ?? new AbortController().signal
    this.#disturb = options.disturb ?? (() => null)
  }

  run(kind: string, input: unknown): Promise<Outcome> {
    return this.#run({ id: 'root', kind, name: kind, depth: 0, input: this.#message(input) })
  }

  async #run(worker: Ran): Promise<Outcome> {
    this.ran.push(worker)
    if (this.ran.length > this.#limits.workers) throw new Error('workers_exceeded')
    const disturbed = this.#disturb(worker)
    if (disturbed !== null) return disturbed

    const definition = this.#kinds[worker.kind]
    if (definition === undefined) throw new Error(`kind_unknown: ${worker.kind}`)
    definition.input?.parse(worker.input)
    const handler = definition as unknown as HandlerWorker
    const run: Run = { worker, definition, openChildren: 0, spawned: 0 }
    const open: { readonly call: Call; readonly outcome: Promise<Outcome> }[] = []
    let state: unknown = definition.initial ?? null
    let message: Message = { kind: 'input', id: `${worker.id}:input`, from: null, value: worker.input }
    for (;;) {
      const effects: Effects = { state, ended: null, calls: [] }
      await handler.receive(message, this.#self(run, effects))
      state = effects.state
      if (effects.ended !== null) return effects.ended
      for (const call of effects.calls) {
        const outcome = this.#run(call.worker)
        // It is looked at when it is this child's turn.
        outcome.catch(() => {})
        open.push({ call, outcome })
      }
      const next = open.shift()
      if (next === undefined) return { status: 'completed', value: null, failure: null }
      const outcome = await next.outcome
      run.openChildren--
      message = resultMessage(next.call, outcome)
    }
  }

  #self(run: Run, effects: Effects): Self {
    const { worker, definition } = run
    return {
      id: worker.id,
      name: worker.name,
      kind: worker.kind,
      sessionId: 'session',
      parentId: null,
      depth: worker.depth,
      run: 1,
      attempt: 1,
      dryRun: false,
      blob: async () => null,
      limits: this.#limits,
      get openChildren() {
        return run.openChildren
      },
      get state() {
        return effects.state
      },
      signal: this.#signal,
      log: { debug() {}, info() {}, warn() {}, error() {} },
      idempotencyKey: worker.id,
      step: async (name, work) => (await work(name)) as never,
      spawn: (kind: string | Definition, input: unknown, options?: SpawnOptions) => {
        const call = this.#spawn(run, kindNamed(kind, 'spawn'), input, options?.name)
        effects.calls.push(call)
        return call.worker
      },
      send() {},
      after() {},
      ask: () => ({ id: '' }),
      reply: (value) => {
        effects.ended = { status: 'completed', value: this.#message(value), failure: null }
      },
      fail(error) {
        effects.ended = { status: 'failed', value: null, failure: error instanceof Error ? error.message : error }
      },
      setState: (next) => {
        const json = JSON.stringify(next)
        this.biggestState = Math.max(this.biggestState, Buffer.byteLength(json))
        if (Buffer.byteLength(json) > messageBytesMax) throw new Error('the state is too big')
        effects.state = definition.state?.parse(JSON.parse(json)) ?? JSON.parse(json)
      },
    }
  }

  #spawn(run: Run, kind: string, input: unknown, name: string | undefined): Call {
    const { worker, definition } = run
    if (worker.depth >= this.#limits.depth) throw new Error('depth_exceeded')
    if (run.openChildren >= this.#limits.children) throw new Error('children_exceeded')
    if (!definition.spawns?.includes(kind)) throw new Error(`${worker.kind} may not spawn ${kind}`)
    run.openChildren++
    const call = ++run.spawned
    const given = name ?? `${kind} ${call}`
    if (Buffer.byteLength(given) > nameBytesMax) throw new Error(`the name ${given} is too long`)
    const id = `${worker.id}.${call}`
    return { call, worker: { id, kind, name: given, depth: worker.depth + 1, input: this.#message(input) } }
  }

  /** What a message becomes on its way. */
  #message(value: unknown): unknown {
    const json = JSON.stringify(value)
    this.biggestMessage = Math.max(this.biggestMessage, Buffer.byteLength(json))
    if (Buffer.byteLength(json) > messageBytesMax) throw new Error('message_too_big')
    return JSON.parse(json)
  }
}

function resultMessage({ worker, call }: Call, outcome: Outcome): ResultMessage {
  const { status, value, failure } = outcome
  const at = { origin: 'handler', at: 0, attempt: 1, retryable: false } as const
  const head = {
    kind: 'result',
    id: `${worker.id}:${call}`,
    from: worker.id,
    name: worker.name,
    workerKind: worker.kind,
    call,
  } as const
  if (status === 'completed') return { ...head, status, value, failure: null }
  return { ...head, status, value: null, failure: { code: 'run_failed', message: failure ?? '', ...at } }
}
