/**
 * Duty: `testHandler` and `testAgent`: run a worker without processes and without Redis, and show what it asked for.
 * Owns: what a test gives and gets. Does not own: the worker's record in memory (memory-worker.ts), turns, handlers and agents (runtime).
 */

import { holdsBytes, withBytes } from '../client/submission/attached.ts'
import { hasLongMedia, withKeptMedia } from '../client/submission/kept-media.ts'
import { type AgentDefinition, type HandlerDefinition, isAgentDefinition } from '../core/definition/define-worker.ts'
import type { Definition } from '../core/definition/kind-types.ts'
import { readLogCall, type WorkerLog } from '../core/definition/worker-log.ts'
import { ConfigError } from '../core/errors.ts'
import type { AgentResult } from '../core/history/agent-result.ts'
import { decodeEntry, type Entry } from '../core/history/entry.ts'
import { askId } from '../core/ids.ts'
import { toJson } from '../core/json.ts'
import { policy, type WorkerLimits } from '../core/policy.ts'
import type { SpawnOrder } from '../core/ports/ports.ts'
import { encodeAnswer } from '../core/worker/ask/ask.ts'
import { decodeMessage, type Outcome } from '../core/worker/message/message.ts'
import type { Permissions } from '../core/worker/permissions.ts'
import { type Failure, toFailure } from '../core/worker/run/failure.ts'
import { type ScriptedReply, scriptedModel } from '../models/local/scripted-model.ts'
import { openModels } from '../models/model-source.ts'
import { KindMaker } from '../runtime/node/kind-maker.ts'
import { Turn } from '../runtime/turn/turn.ts'
import type { TurnHost } from '../runtime/turn/turn-host.ts'
import { loneHost } from './lone-host.ts'
import { MemoryBlobs } from './memory-blobs.ts'
import { MemoryWorker } from './memory-worker.ts'
import { answerJsonOf, type TestAnswers, type TestAsk, testAskOf } from './test-asks.ts'

/** The message that `receive` gets. A field that is left out has a usual value. */
export type TestMessage =
  | { readonly kind: 'input'; readonly value?: unknown; readonly from?: string | null }
  | { readonly kind: 'timer'; readonly value?: unknown }
  | {
      readonly kind: 'answer'
      readonly value?: unknown
      /** Id of the ask. Default: that of an ask that the run made before. */
      readonly id?: string
      /** Default: answered. */
      readonly status?: 'answered' | 'expired'
      readonly by?: string
      readonly reason?: string
    }
  | {
      readonly kind: 'result'
      readonly value?: unknown
      /** With an error the child has failed. */
      readonly error?: Error
      readonly workerKind?: string
      readonly name?: string
      /** The number of the spawn. Default 1. */
      readonly call?: number
    }

/** What a child answers to its input, by kind. What such a function throws fails the child. */
export type TestChildren = Readonly<Record<string, (input: unknown) => unknown>>

interface TestSettings {
  /** Default: that of the definition, else `test`. */
  readonly kind?: string
  readonly name?: string
  /** Default: those of a session. */
  readonly limits?: Partial<WorkerLimits>
  /** Default: nothing is restricted. */
  readonly permissions?: Permissions
  /** With it, spawned children answer at once, and the run goes on with their results. Default: the run waits for them. */
  readonly children?: TestChildren
  /** With it, asks are answered at once, and the run goes on with the answers. Default: the run waits for them. */
  readonly answers?: TestAnswers
}

type NamedSettings = TestSettings & { readonly kind: string }

export interface TestHandlerOptions extends TestSettings {
  /** Default: an input of null. */
  readonly message?: TestMessage
  /** The state before the message. Default: the definition's `initial`. */
  readonly state?: unknown
  /** How many other children of the run are still open. Default 0. */
  readonly openChildren?: number
  /** The number of the attempt, from 1. */
  readonly attempt?: number
  /** Steps that the run has recorded before: value by name. */
  readonly steps?: Readonly<Record<string, unknown>>
}

export interface TestAgentOptions extends TestSettings {
  readonly input?: unknown
  /** What the model answers, call by call. Made with say, call and together. */
  readonly replies: readonly (ScriptedReply | Error)[]
}

export interface TestSpawn {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly input: unknown
  readonly detached: boolean
}

/** `Result`: what the definition says of its result. */
export interface TestRun<Result = unknown> {
  /** `waits`: for a child, a timer or an answer. `retries`: an attempt failed, and there would be another. */
  readonly status: 'completed' | 'failed' | 'waits' | 'retries'
  /** The result of a completed run; else undefined. */
  readonly reply: Result | undefined
  /** The failure of the run, or of the attempt. */
  readonly failure: Failure | null
  /** The state afterwards; null for an agent. */
  readonly state: unknown
  readonly spawns: readonly TestSpawn[]
  readonly sends: readonly { readonly to: string; readonly value: unknown }[]
  readonly timers: readonly { readonly ms: number; readonly value: unknown }[]
  readonly asks: readonly TestAsk[]
  /** What `self.step` recorded, in order. */
  readonly steps: readonly { readonly name: string; readonly value: unknown }[]
  readonly log: readonly { readonly level: string; readonly message: string; readonly fields: object }[]
  /** The history, as `troupe worker history` shows it. */
  readonly history: readonly Entry[]
}

/** Runs a handler on one message (index.ts). */
export async function testHandler<Given, Result>(
  definition: HandlerDefinition<Given, Result>,
  options: TestHandlerOptions = {},
): Promise<TestRun<Result>> {
  if (isAgentDefinition(definition)) throw new ConfigError('testHandler takes a handler: test an agent with testAgent.')
  const { message = { kind: 'input' }, state, openChildren = 0, attempt = 1, steps = {} } = options
  const stateJson = state === undefined ? null : toJson(state, 'the state')
  const settings = named(options, definition)
  const worker = newWorker(settings, stateJson)
  const test = new WorkerTest<Result>(worker, definition, settings)
  for (const [name, value] of Object.entries(steps)) worker.noteStep(name, toJson(value, `step "${name}"`))
  putMessage(worker, { ...message, value: await test.sent(message.value) }, openChildren)
  if (attempt > 1) worker.stand({ attempt: attempt - 1, retrying: `${laneOf[message.kind]}:0` })
  const result = await test.run()
  return { ...result, state: worker.stateJson === null ? (definition.initial ?? null) : JSON.parse(worker.stateJson) }
}

/** Runs an agent with scripted replies of its model (index.ts). */
export async function testAgent<Given, Result extends AgentResult>(
  definition: AgentDefinition<Given, Result>,
  options: TestAgentOptions,
): Promise<TestRun<Result>> {
  if (!isAgentDefinition(definition))
    throw new ConfigError('testAgent takes an agent: test a handler with testHandler.')
  const settings = named(options, definition)
  const worker = newWorker(settings, null)
  const model = scriptedModel(`scripted/${settings.kind}`, options.replies)
  const test = new WorkerTest<Result>(worker, { ...definition, model }, settings)
  worker.putInput(null, toJson(await test.sent(options.input), 'the input'))
  const result = await test.run()
  return { ...result, state: null }
}

function named(settings: TestSettings, { kind = 'test' }: Definition): NamedSettings {
  return { ...settings, kind: settings.kind ?? kind }
}

function newWorker(
  { kind, name = kind, limits = {}, permissions = {} }: NamedSettings,
  stateJson: string | null,
): MemoryWorker {
  return new MemoryWorker({ kind, name, stateJson, limits, permissions })
}

const laneOf = { input: 'inbox', timer: 'signals', answer: 'signals', result: 'results' } as const

function putMessage(worker: MemoryWorker, message: TestMessage, openChildren: number): void {
  const valueJson = toJson(message.value, 'the value of the message')
  const first = message.kind === 'result' ? (message.call ?? 1) : 0
  const others = Array.from({ length: openChildren }, (_, index) => first + 1 + index)
  const open = { open: true, calls: first + openChildren, pendingCalls: others }
  switch (message.kind) {
    case 'input':
      worker.putInput(message.from ?? null, valueJson)
      break
    case 'timer':
      worker.stand({ ...open, signalsOpen: 1 })
      worker.putTimer(valueJson)
      break
    case 'answer': {
      const { id = askId(worker.id, 1, 'inbox-0', 1), status = 'answered', by = null, reason = null } = message
      worker.stand({ ...open, signalsOpen: 1 })
      worker.putAnswer(id, encodeAnswer(valueJson, { status, by, reason }))
      break
    }
    case 'result': {
      worker.stand({ ...open, pendingCalls: [first, ...others] })
      const { workerKind = 'child', name = `${workerKind}-${first}`, error } = message
      worker.putResult({ kind: workerKind, name }, first, error ? failed(error) : { status: 'completed', valueJson })
    }
  }
}

function failed(error: unknown): Outcome {
  return { status: 'failed', failure: toFailure(error, 'handler', 1, Date.now()) }
}

type Line = TestRun['log'][number]

/** `Result`: the type of its reply, which nothing checks here. */
class WorkerTest<Result> {
  readonly #worker: MemoryWorker
  readonly #blobs = new MemoryBlobs()
  readonly #definition: HandlerDefinition | AgentDefinition
  readonly #settings: NamedSettings
  readonly #log: Line[] = []
  /** How many requests were looked through for children and asks that are answered. */
  #answered = 0

  constructor(worker: MemoryWorker, definition: HandlerDefinition | AgentDefinition, settings: NamedSettings) {
    this.#worker = worker
    this.#definition = definition
    this.#settings = settings
  }

  /** A value as its sender has it: with bytes and long media as blocks and blobs. */
  async sent(value: unknown): Promise<unknown> {
    const read = holdsBytes(value) ? withBytes(value) : value
    return hasLongMedia(read) ? withKeptMedia(read, this.#worker.sessionId, this.#blobs) : read
  }

  async run(): Promise<Omit<TestRun<Result>, 'state'>> {
    const maker = new KindMaker(openModels({ env: {} }))
    try {
      const { behaviour } = maker.make(this.#settings.kind, this.#definition)
      do {
        const turn = new Turn(this.#worker.assignment(), this.#host())
        await behaviour(turn)
        await turn.finished
        if (turn.over !== 'ended')
          throw new Error(`the turn ended as ${turn.over}: ${JSON.stringify(this.#log.at(-1))}`)
      } while (await this.#goesOn())
    } finally {
      await maker.close()
    }
    return this.#result()
  }

  /** True if the run goes on after a slice of its turn, or after its children have reported and its asks were answered. */
  async #goesOn(): Promise<boolean> {
    const { requests } = this.#worker
    const last = requests.at(-1)
    if (requests.some(({ outcome }) => outcome !== undefined) || last?.end?.retryMs !== undefined) return false
    if (last?.end?.wait === 'again') return true
    const { children, answers } = this.#settings
    const recent = requests.slice(this.#answered)
    this.#answered = requests.length
    if (children !== undefined)
      for (const spawn of recent.flatMap(({ spawns }) => spawns.filter(({ detached }) => !detached)))
        this.#worker.putResult(spawn, spawn.call, await resultOf(spawn, children))
    if (answers !== undefined)
      for (const ask of recent.flatMap(({ asks }) => asks))
        this.#worker.putAnswer(ask.id, await answerJsonOf(ask, this.#worker.id, answers))
    return this.#worker.hasMail
  }

  #host(): TurnHost {
    return loneHost({ store: this.#worker, blobs: this.#blobs, log: this.#logger(), policy })
  }

  #logger(): WorkerLog {
    const at = (level: string) => (text: string, more?: Record<string, unknown>) => {
      const [message, fields] = readLogCall(text, more)
      this.#log.push({ level, message, fields })
    }
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  }

  #result(): Omit<TestRun<Result>, 'state'> {
    const { requests } = this.#worker
    const history = this.#worker.history.map(decodeEntry)
    const isRetry = requests.at(-1)?.end?.retryMs !== undefined
    const outcome = requests.find((request) => request.outcome !== undefined)?.outcome
    const ended = history.find(({ type }) => type === 'completed')
    return {
      status: outcome === 'completed' || outcome === 'failed' ? outcome : isRetry ? 'retries' : 'waits',
      reply: (ended?.type === 'completed' ? ended.value : undefined) as Result | undefined,
      failure: requests.findLast(({ failure }) => failure !== undefined)?.failure ?? null,
      spawns: requests.flatMap(({ spawns }) => spawns.map(spawnOf)),
      sends: requests.flatMap(({ sends }) =>
        sends.map(({ workerId, mail }) => ({ to: workerId, value: inputOf(mail) })),
      ),
      timers: requests.flatMap(({ timers }) =>
        timers.map(({ ms, valueJson }) => ({ ms, value: JSON.parse(valueJson) })),
      ),
      asks: requests.flatMap(({ asks }) => asks.map(testAskOf)),
      steps: history.flatMap((entry) => (entry.type === 'step' ? [{ name: entry.name, value: entry.value }] : [])),
      log: this.#log,
      history,
    }
  }
}

async function resultOf({ kind, mail }: SpawnOrder, children: TestChildren): Promise<Outcome> {
  try {
    const answer = children[kind]
    if (answer === undefined) throw new ConfigError(`children names no kind "${kind}", which was spawned.`)
    return { status: 'completed', valueJson: toJson(await answer(inputOf(mail)), `the answer of ${kind}`) }
  } catch (error) {
    return failed(error)
  }
}

function spawnOf({ id, kind, name, mail, detached }: SpawnOrder): TestSpawn {
  return { id, kind, name, input: inputOf(mail), detached }
}

function inputOf(mail: string): unknown {
  return decodeMessage(mail, '').value
}
