/**
 * Duty: one random life of an agent: messages also to a run in progress, replies of all sorts, failing tools and hooks, denials, crashes, drains, pauses,
 * cancels, retries, orders, compactions, forks, undo. The turns are those of a node, on a worker in memory.
 * LIFE-1 Every prompt is valid. What a run owes stands in each of its prompts: its input, what steered it, and results of what really happened.
 * LIFE-2 A tool of effect once runs once for a call at most, and never for a call that was denied.
 * LIFE-3 Without its summaries a history gives the prompts that it would have given if none had been written, byte by byte.
 * LIFE-4 Each accepted message is in the history once, as soon as the worker rests.
 * LIFE-5 Nothing comes to a run that does not apply to its state, and no turn breaks.
 * LIFE-6 A call has one result when the worker rests, and one more for each retry that ran it again.
 */

import { defineWorker } from '../../src/core/definition/define-worker.ts'
import type { ModelRequest } from '../../src/core/definition/model.ts'
import type { Tool } from '../../src/core/definition/tool/define-tool.ts'
import { TerminalError, TransientError } from '../../src/core/errors.ts'
import { textOf } from '../../src/core/history/chat/chat-message.ts'
import { encodeGivenHistory } from '../../src/core/history/given-history.ts'
import { cancelledText, interruptedText } from '../../src/core/history/run/open-calls.ts'
import { lastTurn, lastUndone } from '../../src/core/history/undone.ts'
import type { AskOrder, CommitRequest } from '../../src/core/ports/ports.ts'
import { type ApprovalDetails, bindDecision } from '../../src/core/worker/ask/approval-ask.ts'
import { decodeAskBody } from '../../src/core/worker/ask/ask.ts'
import type { SendTime } from '../../src/core/worker/message/steer.ts'
import { toFailure } from '../../src/core/worker/run/failure.ts'
import { type ScriptedReply, scriptedModel } from '../../src/models/local/scripted-model.ts'
import { openModels } from '../../src/models/model-source.ts'
import { KindMaker } from '../../src/runtime/node/kind-maker.ts'
import type { Behaviour } from '../../src/runtime/turn/behaviour.ts'
import { Turn } from '../../src/runtime/turn/turn.ts'
import { openCallFaults, resultFaults } from '../support/fault/call-results.ts'
import type { Random } from '../support/fault/fault-settings.ts'
import { LifeChances } from './life-chances.ts'
import { type LifeCounts, noCounts } from './life-counts.ts'
import { folded, isIn, isShortening, placed, undoFaults } from './life-history.ts'
import { lifeHost } from './life-host.ts'
import { lifeKind } from './life-kind.ts'
import { retryLife } from './life-retry.ts'
import { lifeTools, type ToolRun } from './life-tools.ts'
import { LifeWorker } from './life-worker.ts'
import { promptFaults } from './prompt-rules.ts'

const maker = new KindMaker(openModels({ env: {} }))

export type OnPrompt = (request: ModelRequest) => Promise<void> | void

export class Life {
  readonly faults: string[] = []
  readonly counts: LifeCounts
  readonly #chances: LifeChances
  readonly #onPrompt: OnPrompt
  #worker: LifeWorker
  #behaviour: Behaviour
  readonly #kind: ReturnType<typeof lifeKind>
  #turn: Turn | null = null
  #inputs = 0
  /** The life is near its end: nothing more comes from outside. */
  #isLate = false
  readonly #ran = new Map<string, number>()
  /** By the idempotency keys of the calls. */
  readonly #denied = new Set<string>()
  /** Outputs of once calls that ran, by the id of the call in this worker. */
  readonly #reported = new Map<string, string>()

  constructor(random: Random, counts: LifeCounts = noCounts(), onPrompt: OnPrompt = () => {}) {
    this.#chances = new LifeChances(random)
    this.counts = counts
    this.#onPrompt = onPrompt
    this.#worker = this.#newWorker()
    this.#kind = lifeKind(this.#chances, () => this.#happensWithin())
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
      this.#check()
    }
    await this.#endWell()
    this.#checkOnce()
  }

  /** Whoever was asked answers, and the model has nothing more to say: then nothing may be left. */
  async #endWell(): Promise<void> {
    this.#isLate = true
    const worker = this.#worker
    for (let rounds = 0; this.faults.length === 0 && (worker.isOpen || worker.inbox.hasMail); rounds++) {
      if (rounds > 20) this.faults.push(`it does not come to rest: ${JSON.stringify(worker.requests.at(-1))}`)
      this.#answerAll()
      await this.#drive()
      this.#check()
    }
  }

  #check(): void {
    const { inbox, isOpen } = this.#worker
    const entries = this.#worker.entries()
    const items = placed(entries)
    if (items.some(isShortening)) this.counts.compactions++
    this.faults.push(...undoFaults(items), ...inbox.faults, ...inbox.lost(entries))
    this.faults.push(...resultFaults(entries), ...(isOpen ? [] : openCallFaults(entries)))
  }

  #newWorker(): LifeWorker {
    const worker = new LifeWorker({ kind: 'agent', name: 'agent', stateJson: null, limits: {}, permissions: {} })
    worker.beforeCommit = (request) => this.#beforeCommit(request)
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
        asks: true,
        ...this.#kind,
        compaction: { window: 2_000, at: 0.2, keep: 1 + this.#chances.below(4), model: summariser },
      }),
    ).behaviour
  }

  #tools(): Tool[] {
    const run = (effect: Tool['effect']) => async (_: unknown, context: ToolRun) => {
      const { toolCallId, idempotencyKey, signal } = context
      if (this.#denied.has(idempotencyKey)) this.faults.push(`denied call ${toolCallId} ran`)
      if (this.#chances.chance(0.1))
        throw this.#chances.one([new Error('it broke'), new TransientError('try later'), new TerminalError('over')])
      if (effect === 'once') this.#ran.set(idempotencyKey, (this.#ran.get(idempotencyKey) ?? 0) + 1)
      const output = this.#chances.one([`output of ${toolCallId}`, '', ' ', `x${'y'.repeat(this.#chances.below(400))}`])
      if (effect === 'once') this.#reported.set(toolCallId, output)
      if (this.#chances.chance(0.03)) void this.#cancelTurn()
      await this.#happensWithin()
      if (this.#chances.chance(0.5)) signal.throwIfAborted()
      const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }
      const content = [
        { type: 'text', text: output },
        ...Array.from({ length: 1 + this.#chances.below(4) }, () => image),
      ]
      return this.#chances.one<unknown>([output, { of: toolCallId }, null, { content }])
    }
    return lifeTools(run, this.#chances.chance(0.5))
  }

  // What the model replies to this request.

  async #reply(request: ModelRequest): Promise<ScriptedReply | Error> {
    this.counts.prompts++
    this.#checkPrompt(request)
    await this.#onPrompt(request)
    if (this.#isLate) return { content: [{ type: 'text', text: 'The end.' }] }
    if (this.#chances.chance(0.04)) void this.#cancelTurn()
    await this.#happensWithin()
    return this.#chances.reply()
  }

  /** Lets a few passes of the event loop go by, so that everything that is already there arrives first. */
  async #soon(): Promise<void> {
    for (let more = this.#chances.below(3); more > 0; more--) await new Promise(setImmediate)
  }

  /** Lets a message come, or the turn be stopped, while code of the kind or its model works. Returns false when nothing more comes. */
  async #happensWithin(): Promise<boolean> {
    this.#mayMessage(0.15)
    this.#mayStop(0.06)
    await this.#soon()
    return !this.#isLate
  }

  /** May have the node drain, pause the session, release the turn, or lose its lease. */
  #mayStop(most: number): void {
    const turn = this.#turn
    if (this.#isLate || turn === null || !this.#chances.chance(most)) return
    this.counts.stops++
    const how = this.#chances.one(['drain', 'pause', 'release', 'lose'] as const)
    if (how === 'drain') turn.drain()
    else if (how === 'pause') turn.pausing.begin()
    else if (how === 'release') void turn.release()
    else turn.abandon('unreachable')
  }

  #cancelTurn(): Promise<void> {
    this.counts.cancels++
    return this.#turn?.cancel() ?? Promise.resolve()
  }

  // Lets something happen from outside.

  #happen(): void {
    const worker = this.#worker
    const chance = this.#chances.random()
    if (chance < 0.1 && worker.isOpen) {
      this.counts.cancels++
      worker.cancelAtRest()
    } else if (chance < 0.2) this.#fork()
    else if (chance < 0.3) this.#undo()
    else if (chance < 0.4) this.#behaviour = this.#newNode()
    else if (chance < 0.5) this.#takeBack()
    else if (chance < 0.7) this.#retry()
    if (this.#chances.chance(0.8)) this.#answerAll()
    if (this.#chances.chance(0.15)) {
      this.counts.orders++
      this.#worker.inbox.putOrder(this.#chances.order())
    }
    if (!this.#worker.isOpen || this.#chances.chance(0.3)) this.#input()
  }

  #answerAll(): void {
    const worker = this.#worker
    for (const ask of worker.openAsks.values()) this.#decide(ask)
    for (const spawn of worker.cancelledChildren.splice(0)) {
      const failure = toFailure(new Error('it was cancelled'), 'handler', 1, 1)
      worker.report(spawn, { status: 'cancelled', failure })
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
  }

  #decide(ask: AskOrder): void {
    if (ask.sort !== 'approval') {
      this.#worker.answer(ask, 'yes', 'anna', null)
      return
    }
    const body = decodeAskBody(ask.body)
    const details = body?.details as ApprovalDetails
    const isApproved = this.#chances.chance(0.6)
    if (!isApproved) {
      this.counts.denials++
      this.#denied.add(`${this.#worker.id}/${this.#worker.run}/${details.toolCallId}`)
    }
    const answer = bindDecision({ decision: isApproved ? 'approve' : 'deny' }, details, this.#worker.id)
    this.#worker.answer(ask, answer, 'anna', isApproved ? null : 'no')
  }

  /** A person answers at the moment at which a message interrupts what they were asked for; or a message comes. */
  #beforeCommit({ entries, withdraws, cancels = [], outcome }: CommitRequest): void {
    this.counts.interruptedCalls += entries.filter((json) => json.includes(interruptedText)).length
    this.counts.cancelledChildren += cancels.length
    for (const id of withdraws) {
      const ask = this.#worker.openAsks.get(id)
      if (ask && this.#chances.chance(0.5)) this.#decide(ask)
    }
    this.#mayMessage(outcome ? 0.1 : 0.03)
    queueMicrotask(() => this.#mayStop(0.02))
  }

  /** May send a message during a turn. Its node hears of it at once, later, or by the answer of its next commit. */
  #mayMessage(most: number): void {
    if (this.#isLate || !this.#chances.chance(most)) return
    this.#input()
    const { steers } = this.#turn ?? {}
    const [{ steered }, run] = [this.#worker.inbox, steers?.recordedRun ?? 0]
    const tell = () => steers?.note(steered, run)
    const when = this.#chances.one(['now', 'soon', 'by the answer'] as const)
    if (when === 'now') tell()
    else if (when === 'soon') setImmediate(tell)
  }

  #input(): void {
    const value = this.#chances.input(++this.#inputs)
    const when = this.#chances.one<SendTime>(['queue', 'steer', 'interrupt'])
    const from = this.#chances.chance(0.2) ? 'w1' : null
    const { inbox } = this.#worker
    const before = inbox.steered.length
    this.#worker.putInput(from, JSON.stringify(value), when === 'queue' ? undefined : when)
    if (inbox.steered.length > before) this.counts[when === 'steer' ? 'steers' : 'interrupts']++
  }

  /** The last turn is taken back, or counts again. */
  #takeBack(): void {
    const worker = this.#worker
    if (worker.isOpen || worker.inbox.hasMail) return
    for (let times = 1 + this.#chances.below(4); times > 0; times--) {
      const items = placed(worker.entries())
      const turn = lastTurn(items)
      const head = { v: 1, at: 1, run: worker.run, epoch: 1 }
      if (lastUndone(items) !== null && this.#chances.chance(0.7)) {
        this.counts.redone++
        worker.append({ type: 'redone', ...head })
      } else if (turn !== null) {
        this.counts.takenBack++
        worker.append({ type: 'undone', from: turn.from, ...head })
        // The ids of the undone calls are free again.
        this.#reported.clear()
      }
    }
    if (this.#chances.chance(0.5)) this.#behaviour = this.#newNode()
  }

  #retry(): void {
    if (retryLife(this.#worker, this.#chances, { ran: this.#ran, denied: this.#denied })) this.counts.retries++
  }

  /** The life goes on in another session that begins with the same messages. */
  #fork(): void {
    if (this.#worker.isOpen || this.#worker.inbox.hasMail) return
    this.counts.forks++
    const { history } = folded(placed(this.#worker.entries()))
    this.#worker = this.#newWorker()
    this.#worker.history.push(
      ...encodeGivenHistory(history.messages.map((message, index) => ({ ...message, id: `m${index}` }))),
    )
    this.#behaviour = this.#newNode()
  }

  /** Takes the last summary back, so that it no longer stands for anything. */
  #undo(): void {
    const entries = this.#worker.entries()
    if (!entries.some(({ type }) => type === 'compacted')) return
    this.counts.undone++
    this.#worker.append({ type: 'expanded', v: 1, at: 1, run: this.#worker.run, epoch: 1 })
    this.#behaviour = this.#newNode()
  }

  // Runs turns until the worker rests.

  async #drive(): Promise<void> {
    for (let turns = 0; turns < 60; turns++) {
      const before = this.#worker.requests.length
      const slice = this.#chances.one([{}, {}, { turnSliceSteps: 1 }, { turnSliceMs: 0 }])
      const host = lifeHost(this.#worker, slice, (fault) => this.faults.push(fault))
      const turn = new Turn(this.#worker.assignment(), host)
      this.#turn = turn
      await this.#behaviour(turn)
      await turn.finished
      if (turn.over !== 'ended') {
        if (turn.over !== 'fenced' && turn.over !== 'unreachable')
          this.faults.push(`a turn ended as ${String(turn.over)}`)
        this.#behaviour = this.#newNode()
        continue
      }
      const last = this.#worker.requests.at(-1)
      if (last?.outcome === 'failed') this.counts.failures++
      const goesOn = last?.end?.wait === 'again' || last?.end?.retryMs !== undefined
      if (!goesOn && !this.#isQueued(before)) return
    }
    const { end } = this.#worker.requests.at(-1) ?? {}
    this.faults.push(`60 turns, and no rest: it waits for ${JSON.stringify(end)}`)
  }

  /** Looks, as the store does when a turn ends, whether something is there that queues the worker. */
  #isQueued(before: number): boolean {
    const { requests, inbox, hasMail } = this.#worker
    const { end, steersUnseenFrom = 0 } = requests.at(-1) ?? {}
    if (end?.wait === 'any' ? inbox.hasMail : inbox.hasUnseen(steersUnseenFrom)) return true
    // A worker that waits for its children leaves an input where it is.
    return hasMail && requests.slice(before).some(({ entries }) => entries.length > 0)
  }

  // Checks what must hold of every prompt.

  #checkPrompt(request: ModelRequest): void {
    for (const fault of promptFaults(request)) this.faults.push(`${fault}: ${JSON.stringify(request.messages)}`)
    const all = JSON.stringify(request.messages)
    const items = placed(this.#worker.entries())
    const container = folded(items)
    // The input of a run may be recorded later than the first prompt is sent.
    const hasBegun = items.some(({ entry }) => entry.type === 'user' && entry.run === this.#worker.run)
    const task = hasBegun ? container.run.inputText : undefined
    if (task !== undefined && !isIn(all, task)) this.faults.push(`the task ${task} is not in the prompt ${all}`)
    // A summary may stand for what the model has already replied to.
    const replied = items.findLastIndex(({ entry }) => entry.type === 'assistant' || entry.type === 'blank')
    for (const { entry } of items.slice(replied + 1)) {
      if (entry.type !== 'user' || entry.run !== this.#worker.run || isIn(all, textOf(entry.content))) continue
      this.faults.push(`what steered it, ${textOf(entry.content)}, is not in the prompt ${all}`)
    }
    for (const message of request.messages) {
      if (message.role !== 'tool') continue
      for (const { toolCallId, output } of message.results)
        if (this.#reported.has(toolCallId) && (output.value === cancelledText || output.value === interruptedText))
          this.faults.push(`call ${toolCallId} took effect, and the prompt says that it did not finish`)
    }
  }

  #checkOnce(): void {
    for (const [key, times] of this.#ran) if (times > 1) this.faults.push(`${key} ran ${times} times`)
  }
}
