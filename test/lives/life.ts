/**
 * Duty: one random life of an agent: messages, replies of all sorts, failing tools, denials, crashes, cancels, compactions, forks, undo. The turns
 * are those of a node, on a worker in memory.
 * LIFE-1 Every prompt is valid. What a run owes stands in each of its prompts: its input, and results of what really happened.
 * LIFE-2 A tool of effect once runs once for a call at most, and never for a call that was denied.
 * LIFE-3 Without its summaries a history gives the prompts that it would have given if none had been written, byte by byte.
 */

import { z } from 'zod'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import type { ModelRequest } from '../../src/core/definition/model.ts'
import { defineTool, type Tool } from '../../src/core/definition/tool/define-tool.ts'
import type { WorkerLog } from '../../src/core/definition/worker-log.ts'
import { TerminalError, TransientError } from '../../src/core/errors.ts'
import { ContextContainer } from '../../src/core/history/context-container.ts'
import type { Entry } from '../../src/core/history/entry.ts'
import { encodeGivenHistory } from '../../src/core/history/given-history.ts'
import { cancelledText } from '../../src/core/history/run/open-calls.ts'
import { policy } from '../../src/core/policy.ts'
import { type ApprovalDetails, bindDecision } from '../../src/core/worker/ask/approval-ask.ts'
import { decodeAskBody } from '../../src/core/worker/ask/ask.ts'
import { toFailure } from '../../src/core/worker/failure.ts'
import { type ScriptedReply, scriptedModel } from '../../src/models/local/scripted-model.ts'
import { openModels } from '../../src/models/model-source.ts'
import type { Behaviour } from '../../src/runtime/node/kind.ts'
import { KindMaker } from '../../src/runtime/node/kind-maker.ts'
import { Turn } from '../../src/runtime/turn/turn.ts'
import type { TurnHost } from '../../src/runtime/turn/turn-host.ts'
import { MemoryBlobs } from '../../src/testing/memory-blobs.ts'
import type { Random } from '../support/fault-settings.ts'
import { LifeChances } from './life-chances.ts'
import { LifeWorker } from './life-worker.ts'
import { promptFaults } from './prompt-rules.ts'

const silent: WorkerLog = { debug() {}, info() {}, warn() {}, error() {} }
const maker = new KindMaker(openModels({ env: {} }))
/** Short waits: nothing here waits for them. */
const quick = { ...policy, attempts: 2 }

export type OnPrompt = (request: ModelRequest) => Promise<void> | void

/** What happened, for a report that counts. */
export interface LifeCounts {
  prompts: number
  crashes: number
  cancels: number
  denials: number
  compactions: number
  forks: number
  undone: number
  failures: number
}

export const noCounts = (): LifeCounts => ({
  prompts: 0,
  crashes: 0,
  cancels: 0,
  denials: 0,
  compactions: 0,
  forks: 0,
  undone: 0,
  failures: 0,
})

export class Life {
  readonly faults: string[] = []
  readonly counts: LifeCounts
  readonly #chances: LifeChances
  readonly #onPrompt: OnPrompt
  #worker: LifeWorker
  #behaviour: Behaviour
  #turn: Turn | null = null
  #inputs = 0
  readonly #ran = new Map<string, number>()
  readonly #denied = new Set<string>()
  /** Outputs of once calls that ran, by the id of the call in this worker. */
  readonly #reported = new Map<string, string>()

  constructor(random: Random, counts: LifeCounts = noCounts(), onPrompt: OnPrompt = () => {}) {
    this.#chances = new LifeChances(random)
    this.counts = counts
    this.#onPrompt = onPrompt
    this.#worker = this.#newWorker()
    this.#behaviour = this.#newNode()
  }

  get history(): readonly string[] {
    return this.#worker.history
  }

  async live(): Promise<void> {
    const steps = 4 + this.#chances.below(8)
    for (let step = 0; step < steps && this.faults.length === 0; step++) {
      this.#happen()
      await this.#drive()
      this.#checkUndo()
    }
    this.#checkOnce()
  }

  #newWorker(): LifeWorker {
    const worker = new LifeWorker({ kind: 'agent', name: 'agent', stateJson: null, limits: {}, permissions: {} })
    worker.fate = () => {
      const chance = this.#chances.random()
      if (chance > 0.06) return 'recorded'
      this.counts.crashes++
      return chance < 0.03 ? 'lost' : 'unanswered'
    }
    return worker
  }

  /** A node that has no memory of the worker. */
  #newNode(): Behaviour {
    const summariser = scriptedModel('scripted/summary', () => this.#chances.summary())
    return maker.make(
      'agent',
      defineWorker({
        instructions: 'You live.',
        model: scriptedModel('scripted/life', (request) => this.#reply(request)),
        tools: this.#tools(),
        spawns: ['child'],
        compaction: { window: 2_000, at: 0.2, keep: 1 + this.#chances.below(4), model: summariser },
      }),
    ).behaviour
  }

  #tools(): Tool[] {
    const input = z.object({ n: z.number() })
    const run = (effect: string) => (_: unknown, context: { toolCallId: string; idempotencyKey: string }) => {
      const { toolCallId, idempotencyKey } = context
      if (this.#denied.has(toolCallId)) this.faults.push(`denied call ${toolCallId} ran`)
      if (this.#chances.chance(0.1))
        throw this.#chances.one([new Error('it broke'), new TransientError('try later'), new TerminalError('over')])
      if (effect === 'once') this.#ran.set(idempotencyKey, (this.#ran.get(idempotencyKey) ?? 0) + 1)
      const output = this.#chances.one([`output of ${toolCallId}`, '', ' ', `x${'y'.repeat(this.#chances.below(400))}`])
      if (effect === 'once') this.#reported.set(toolCallId, output)
      if (this.#chances.chance(0.03)) void this.#cancelTurn()
      const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }
      const content = [
        { type: 'text', text: output },
        ...Array.from({ length: 1 + this.#chances.below(4) }, () => image),
      ]
      return this.#chances.one<unknown>([output, { of: toolCallId }, null, { content }])
    }
    return [
      defineTool({ name: 'look', description: 'Looks.', effect: 'pure', input, run: run('pure') }),
      defineTool({ name: 'put', description: 'Puts.', effect: 'idempotent', input, run: run('idempotent') }),
      defineTool({ name: 'pay', description: 'Pays.', effect: 'once', input, run: run('once') }),
      defineTool({ name: 'post', description: 'Posts.', effect: 'once', approval: 'never', input, run: run('once') }),
    ]
  }

  // The model.

  async #reply(request: ModelRequest): Promise<ScriptedReply | Error> {
    this.counts.prompts++
    this.#checkPrompt(request)
    await this.#onPrompt(request)
    if (this.#chances.chance(0.04)) void this.#cancelTurn()
    return this.#chances.reply()
  }

  #cancelTurn(): Promise<void> {
    this.counts.cancels++
    return this.#turn?.cancel() ?? Promise.resolve()
  }

  // What happens from outside.

  #happen(): void {
    const worker = this.#worker
    const chance = this.#chances.random()
    if (chance < 0.1 && worker.isOpen) {
      this.counts.cancels++
      worker.cancelAtRest()
    } else if (chance < 0.2) this.#fork()
    else if (chance < 0.3) this.#undo()
    else if (chance < 0.4) this.#behaviour = this.#newNode()
    for (const ask of worker.openAsks.values()) {
      const body = decodeAskBody(ask.body)
      const details = body?.details as ApprovalDetails
      const isApproved = this.#chances.chance(0.6)
      if (!isApproved) {
        this.counts.denials++
        this.#denied.add(details.toolCallId)
      }
      worker.answer(
        ask,
        bindDecision({ decision: isApproved ? 'approve' : 'deny' }, details, worker.id),
        'anna',
        isApproved ? null : 'no',
      )
    }
    for (const spawn of worker.openChildren.values()) {
      const failure = toFailure(new Error('the child broke'), 'handler', 1, 1)
      worker.report(
        spawn,
        this.#chances.chance(0.7)
          ? { status: 'completed', valueJson: '{"text":"helped"}' }
          : { status: 'failed', failure },
      )
    }
    if (!worker.isOpen || this.#chances.chance(0.2)) this.#input()
  }

  #input(): void {
    const text = this.#chances.one([
      `task-${++this.#inputs}.`,
      `task-${++this.#inputs}. [Previous conversation handoff]`,
      ' ',
      `task-${++this.#inputs}. ${'word '.repeat(this.#chances.below(80))}`,
    ])
    const value = this.#chances.one<unknown>([
      text,
      {
        content: [
          { type: 'text', text },
          { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
        ],
      },
    ])
    this.#worker.putInput(this.#chances.chance(0.2) ? 'w1' : null, JSON.stringify(value))
  }

  /** The life goes on in another session that begins with the same messages. */
  #fork(): void {
    if (this.#worker.isOpen) return
    this.counts.forks++
    const { history } = this.#folded(this.#worker.entries())
    this.#worker = this.#newWorker()
    this.#worker.history.push(
      ...encodeGivenHistory(history.messages.map((message, index) => ({ ...message, id: `m${index}` }))),
    )
    this.#behaviour = this.#newNode()
  }

  /** The last summary no longer stands for anything. */
  #undo(): void {
    const entries = this.#worker.entries()
    if (!entries.some(({ type }) => type === 'compacted')) return
    this.counts.undone++
    this.#worker.append({ type: 'expanded', v: 1, at: 1, run: this.#worker.run, epoch: 1 })
    this.#behaviour = this.#newNode()
  }

  // Turns.

  async #drive(): Promise<void> {
    for (let turns = 0; turns < 60; turns++) {
      const before = this.#worker.requests.length
      const turn = new Turn(this.#worker.assignment(), this.#host())
      this.#turn = turn
      await this.#behaviour(turn)
      await turn.finished
      if (turn.over !== 'ended') {
        if (turn.over !== 'fenced') this.faults.push(`a turn ended as ${String(turn.over)}`)
        this.#behaviour = this.#newNode()
        continue
      }
      const last = this.#worker.requests.at(-1)
      if (last?.outcome === 'failed') this.counts.failures++
      const goesOn = last?.end?.wait === 'again' || last?.end?.retryMs !== undefined
      // A worker that waits for its children leaves an input where it is.
      const didMore = this.#worker.requests.slice(before).some(({ entries }) => entries.length > 0)
      if (!goesOn && !(didMore && this.#worker.hasMail)) return
    }
    const { end } = this.#worker.requests.at(-1) ?? {}
    this.faults.push(`60 turns, and no rest: it waits for ${JSON.stringify(end)}`)
  }

  #host(): TurnHost {
    return {
      store: this.#worker,
      blobs: new MemoryBlobs(),
      log: silent,
      policy: quick,
      wakeup: '',
      wake: () => {},
      plan: () => ({ kind: 'leave', wasBusy: false }),
      noteBusy: () => {},
      noteTimer: () => {},
      poolOf: () => 'default',
      nodeId: 'test',
      describeKind: () => '',
      live: { isFollowed: () => false, publish: () => {} },
      workerLog: () => silent,
    }
  }

  // What must hold.

  #checkPrompt(request: ModelRequest): void {
    for (const fault of promptFaults(request)) this.faults.push(`${fault}: ${JSON.stringify(request.messages)}`)
    const all = JSON.stringify(request.messages)
    const container = this.#folded(this.#worker.entries())
    const task = container.run.inputText
    if (
      task !== undefined &&
      task.trim() !== '' &&
      !all.includes(JSON.stringify(task.replace(/^(?=\[Prev)/gm, '> ')).slice(1, -1))
    )
      this.faults.push(`the task ${task} is not in the prompt ${all}`)
    for (const message of request.messages) {
      if (message.role !== 'tool') continue
      for (const { toolCallId, output } of message.results)
        if (this.#reported.has(toolCallId) && output.value === cancelledText)
          this.faults.push(`call ${toolCallId} took effect, and the prompt says that it did not finish`)
    }
  }

  #checkOnce(): void {
    for (const [key, times] of this.#ran) if (times > 1) this.faults.push(`${key} ran ${times} times`)
  }

  /** LIFE-3 */
  #checkUndo(): void {
    const entries = this.#worker.entries()
    const shortened = entries.filter(isShortening).length
    if (shortened === 0) return
    this.counts.compactions += 1
    const plain = this.#folded(entries.filter((entry) => !isShortening(entry) && entry.type !== 'expanded'))
    const undone = this.#folded([...entries, ...Array.from({ length: shortened }, () => expanded)])
    if (JSON.stringify(undone.history.prompt()) !== JSON.stringify(plain.history.prompt()))
      this.faults.push(
        `the prompt without its summaries is another: ${JSON.stringify(undone.history.prompt())} ${JSON.stringify(plain.history.prompt())}`,
      )
    for (const [at, entry] of entries.entries()) {
      if (!isShortening(entry)) continue
      const before = JSON.stringify(this.#folded(entries.slice(0, at)).history.prompt())
      const again = this.#folded([...entries.slice(0, at + 1), expanded])
      if (JSON.stringify(again.history.prompt()) !== before)
        this.faults.push(`undo of ${entry.type} does not give the prompt that was before`)
    }
  }

  #folded(entries: readonly Entry[]): ContextContainer {
    const container = new ContextContainer({
      sessionId: 's',
      workerId: 'w',
      name: 'agent',
      kind: 'agent',
      parentId: null,
      depth: 0,
    })
    for (const entry of entries) container.apply(structuredClone(entry))
    return container
  }
}

const expanded: Entry = { type: 'expanded', v: 1, at: 1, run: 1, epoch: 1 }

/** What makes prompts shorter, and can be taken back. */
function isShortening({ type }: Entry): boolean {
  return type === 'compacted' || type === 'cleared'
}
