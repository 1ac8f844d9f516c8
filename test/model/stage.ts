/**
 * The other side of the model: a session on a real Redis, driven by the real stores. It makes the calls that the model made, and
 * tells answers and keys in the words of the model.
 */

import { askId } from '../../src/core/ids.ts'
import type {
  AskOrder,
  Assignment,
  ClaimAnswer,
  CommitAnswer,
  CommitRequest,
  NextClaim,
  SpawnOrder,
} from '../../src/core/ports/ports.ts'
import { encodeAnswer } from '../../src/core/worker/ask/ask.ts'
import { gateIdOf } from '../../src/core/worker/gates.ts'
import { encodeInput, encodeResult, type Message } from '../../src/core/worker/message/message.ts'
import type { Failure } from '../../src/core/worker/run/failure.ts'
import { gatesKey } from '../../src/store/keys.ts'
import type { HandNode } from '../store/support/hand-node.ts'
import { type MadeSession, Place } from '../store/support/place.ts'
import type { Sent } from '../store/support/wire.ts'
import { loadScripts } from '../support/redis/load-scripts.ts'
import type { Answer, Assigned, Call, Claiming, CommitCall } from './calls.ts'
import { firstAsk, rootId, secondAsk } from './records.ts'
import { gateMost } from './rules/gate-rules.ts'
import type { Rules } from './rules/shared-rules.ts'
import { childId, secondChildId } from './senders.ts'

const gateId = gateIdOf(null)
export const gateName = `echo:runs:${gateId}`
const failure: Failure = { code: 'run_failed', message: 'x', origin: 'handler', at: 1, attempt: 1, retryable: false }

export class Stage implements AsyncDisposable {
  readonly place: Place
  readonly #nodes = new Map<string, HandNode>()
  #leasesEnded = 0
  #session: MadeSession = { id: '', root: '', wakeups: [] }
  readonly #sent = new Map<string, Sent>()
  /** The model's name of each wake-up. */
  readonly #wakeups = new Map<string, string>()

  private constructor(place: Place) {
    this.place = place
  }

  /** Two nodes with one slot each are registered. */
  static async open(rules: Rules): Promise<Stage> {
    const policy = { suspectAfterStarts: rules.suspectAfter, poisonAfterIsolatedStarts: rules.poisonAfter }
    const stage = new Stage(await Place.open({ policy }))
    // A script that Redis does not know yet is sent twice, and another that was sent after it comes first.
    await loadScripts(stage.place.redis)
    for (const node of ['n1', 'n2']) await stage.#node(node).sweep({ free: 0, slots: 1 })
    return stage
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.place[Symbol.asyncDispose]()
  }

  #node(id: string): HandNode {
    const node = this.#nodes.get(id) ?? this.place.node({ id, slots: 1 })
    this.#nodes.set(id, node)
    return node
  }

  /** The real id of a worker. */
  id(worker: string): string {
    if (worker === rootId) return this.#session.root
    return this.#child(worker === childId ? 1 : 2).id
  }

  #child(call: number, detached = false): SpawnOrder {
    return this.place.child(this.#session.root, call, call === 1 ? 'child' : 'second child', { detached })
  }

  /** The real id of an ask of the root. */
  askId(name: string): string {
    return askId(this.#session.root, 1, 'inbox-0', name === firstAsk ? 1 : 2)
  }

  askName(id: string): string {
    return id === this.askId(firstAsk) ? firstAsk : secondAsk
  }

  signalName(message: Message): string {
    if (message.kind !== 'answer') return message.kind
    const ask = this.askName(message.id)
    return message.status === 'expired' ? `expired:${ask}` : `answered:${ask}:${String(message.value)}`
  }

  name(id: string): string {
    if (id === this.#session.root) return rootId
    return id === this.id(childId) ? childId : secondChildId
  }

  get sessionId(): string {
    return this.#session.id
  }

  wakeupName(wakeup: string): string {
    return this.#wakeups.get(wakeup) ?? wakeup
  }

  #realWakeup(name: string): string {
    for (const [wakeup, known] of this.#wakeups) if (known === name) return wakeup
    return name
  }

  /** Learns how the model calls these wake-ups, in the same order. */
  #learn(wakeups: readonly { readonly id: string }[], expected: Answer): string[] {
    const names = 'wakeups' in expected ? expected.wakeups : []
    for (const [index, { id }] of wakeups.entries()) {
      const name = names[index]
      if (name !== undefined && !this.#wakeups.has(id)) this.#wakeups.set(id, name)
    }
    return wakeups.map(({ id }) => this.wakeupName(id))
  }

  /** Ends a lease long ago, but later than the leases that were ended before it. */
  async expire(worker: string): Promise<void> {
    await this.place.redis.zadd(this.place.keys.leases, 'XX', ++this.#leasesEnded, this.id(worker))
  }

  async makeStale(name: string): Promise<void> {
    const { redis, keys } = this.place
    const past = (await this.place.now()) - 1
    for (const key of [keys.wakeups('default'), keys.busy('default')])
      await redis.zadd(key, 'XX', past, this.#realWakeup(name))
  }

  /** Sends exactly what was sent before; nobody waits for the answer. */
  async sendLate(call: Call): Promise<void> {
    const sent = this.#sent.get(JSON.stringify(call))
    if (sent === undefined) throw new Error(`The call ${call.kind} was not sent before.`)
    await this.place.wire.again(sent)
  }

  /** Makes the call and tells its answer as the model would; what the model expects is only asked for the names of new wake-ups. */
  async send(call: Call, expected: Answer): Promise<Answer> {
    // Commits leave at the end of the pass of the event loop, together: a call that is sent after a commit stays behind it.
    if (call.kind !== 'commit') await new Promise((resolve) => setImmediate(resolve))
    const { answer, sent = this.place.wire.last } = await this.place.wire.watch(() => this.#send(call, expected))
    this.#sent.set(JSON.stringify(call), sent)
    return answer
  }

  async #send(call: Call, expected: Answer): Promise<Answer> {
    switch (call.kind) {
      case 'spawn':
        return this.#spawn(call, expected)
      case 'post':
        return this.#post(call, expected)
      case 'answer':
        return this.#answer(call, expected)
      case 'fire': {
        const { redis, keys } = this.place
        await redis.zadd(keys.timers, 'XX', 1, `${this.#session.root}:ask:${this.askId(firstAsk)}`)
        await redis.zadd(gatesKey(keys.tag), 'XX', 1, gateName)
        const { fired, wakeups } = await this.#node('n1').upkeep.fire()
        return { kind: 'fired', fired, wakeups: this.#learn(wakeups, expected) }
      }
      case 'claim':
        return this.#claimed(await this.#node(call.node).turns.claim(this.#next(call)))
      case 'enter': {
        const { epoch, nonce } = call.token
        const turn = { workerId: this.id(call.worker), token: `${epoch}:${nonce}`, kind: '', version: 0, depth: 0 }
        const { kind } = await this.#node('n1').turns.enter(turn, [
          { sort: 'runs', id: gateId, key: null, most: gateMost },
        ])
        if (kind === 'never') throw new Error('No run of the model waits for one of its ancestors.')
        return kind === 'fenced' ? { kind, claimed: { kind: 'none' } } : { kind }
      }
      case 'commit':
        return this.#committed(await this.#node(call.next.node).turns.commit(this.#request(call)), expected)
      case 'renew': {
        const { epoch, nonce } = call.token
        const renewal = {
          workerId: this.id(call.worker),
          token: `${epoch}:${nonce}`,
          wakeup: this.#realWakeup(call.wakeup),
          becomesBusy: true,
        }
        const { verdicts, wakeups } = await this.#node('n1').turns.renew([renewal])
        const verdict = verdicts[0] ?? 'fenced'
        if (verdict === 'paused') throw new Error('the model knows no pause')
        return { kind: 'verdict', verdict, wakeups: this.#learn(wakeups, expected) }
      }
      case 'sweep': {
        const { healed, wakeups } = await this.#node('n1').sweep({ free: call.free, slots: 1 })
        return { kind: 'swept', healed, wakeups: this.#learn(wakeups, expected) }
      }
      case 'cancel':
        await this.place.sessions.cancel(this.#session.id, 'enough')
        return expected
      case 'finish':
        await this.#node('n1').upkeep.finishCancelled()
        return expected
    }
  }

  async #spawn(call: Call & { kind: 'spawn' }, expected: Answer): Promise<Answer> {
    if (this.#session.id !== '') {
      const reply = await this.place.wire.again(this.#sent.get(JSON.stringify(call)))
      return {
        kind: reply[0] as 'again',
        position: 0,
        wakeups: String(reply[2])
          .split(',')
          .filter(Boolean)
          .map((wakeup) => this.wakeupName(wakeup)),
      }
    }
    this.#session = await this.place.create({ mode: call.mode, input: call.mail })
    const wakeups = this.#session.wakeups.map((id) => ({ id }))
    return { kind: 'ok', position: 0, wakeups: this.#learn(wakeups, expected) }
  }

  async #post(call: Call & { kind: 'post' }, expected: Answer): Promise<Answer> {
    const answer = await this.place.post(this.id(call.worker), call.mail, call.key)
    if (answer.kind === 'session_finished' || answer.kind === 'not_found' || answer.kind === 'terminal') return answer
    if (!('position' in answer) || answer.kind === 'other') throw new Error(`A post was answered ${answer.kind}.`)
    return { kind: answer.kind, position: answer.position, wakeups: this.#learn(answer.wakeups, expected) }
  }

  async #answer({ ask, key, value }: Call & { kind: 'answer' }, expected: Answer): Promise<Answer> {
    const answerJson = encodeAnswer(JSON.stringify(value), { status: 'answered', by: value, reason: null })
    const order = { answerJson, by: value, keyDigest: key, event: '[["ask.answered",{}]]' }
    const answer = await this.place.sessions.answer(this.askId(ask), order)
    if ('wakeups' in answer) return { kind: answer.kind, position: 0, wakeups: this.#learn(answer.wakeups, expected) }
    return answer.kind === 'answered' ? { kind: 'answered', by: answer.by } : { kind: answer.kind }
  }

  #next({ nonce, wakeup, maySuspect, wasBusy, keepWakeup }: Claiming): NextClaim {
    return { pool: 'default', wakeup: this.#realWakeup(wakeup), slot: '0', nonce, maySuspect, wasBusy, keepWakeup }
  }

  #request(call: CommitCall): CommitRequest {
    const { outcome, next } = call
    const workerId = this.id(call.worker)
    return {
      workerId,
      pool: 'default',
      token: `${call.token.epoch}:${call.token.nonce}`,
      sequence: call.sequence,
      version: call.version,
      runState: call.open ? 'ProcessingUserMessage' : 'Idle',
      open: call.open,
      attempt: 0,
      retrying: '',
      entries: call.entries,
      signalsConsumed: call.signalsConsumed,
      inputsConsumed: call.inputsConsumed,
      resultsConsumed: call.resultsConsumed,
      resultsSeen: call.resultsSeen,
      failure: outcome === '' ? undefined : outcome === 'failed' ? failure : null,
      outcome: outcome === '' ? undefined : outcome,
      result: call.result === '' ? undefined : this.#result(workerId),
      dead: call.dead ? '{"starts":2}' : undefined,
      pendingCalls: call.pendingCalls,
      pendingCount: call.pendingCount,
      signalsOpen: call.signalsOpen,
      steps: 0,
      spawns: call.spawns.map((spawn) => ({
        ...this.#child(spawn.call, spawn.detached),
        mail: encodeInput(workerId, JSON.stringify(spawn.mail)),
      })),
      sends: [],
      timers: [],
      asks: call.asks.map(({ id, expires }) => this.#ask(id, expires)),
      withdraws: [],
      event: '',
      end:
        call.wait === ''
          ? undefined
          : { wait: this.#wait(call.wait), next: next.nonce === '' ? null : this.#next(next) },
      wakeup: this.#realWakeup(next.wakeup),
      wasBusy: next.wasBusy,
    }
  }

  #ask(name: string, expires: boolean): AskOrder {
    const order = { id: this.askId(name), sort: 'question', body: '{"question":"May I?"}' } as const
    const answer = encodeAnswer('null', { status: 'expired', by: null, reason: null })
    return expires ? { ...order, expiry: { ms: 600_000, answer } } : order
  }

  #wait(wait: string): string {
    return wait.startsWith('result:') ? `result:${this.id(wait.slice(7))}` : wait
  }

  #result(workerId: string): string {
    return encodeResult({ id: workerId, name: 'child', kind: 'echo' }, 1, { status: 'completed', valueJson: '1' })
  }

  #committed(answer: CommitAnswer, expected: Answer): Answer {
    switch (answer.kind) {
      case 'ok':
        return {
          kind: 'committed',
          version: answer.version,
          wakeups: this.#learn(answer.wakeups, expected),
          claimed: this.#claimed(answer.claimed),
          opensGate: answer.opensGate === true,
        }
      case 'fenced':
        return { kind: 'fenced', claimed: this.#claimed(answer.claimed) }
      case 'refused':
        throw new Error(`A commit was refused: ${JSON.stringify(answer.refusals)}`)
      default:
        return answer
    }
  }

  #claimed(answer: ClaimAnswer) {
    return answer.kind === 'assigned' ? this.#assignment(answer.assignment) : answer
  }

  #assignment(assignment: Assignment) {
    const { purpose, suspect, version, run, open, pendingCalls, resultsTaken, signalsOpen, mail } = assignment
    return {
      kind: 'assigned' as const,
      worker: this.name(assignment.workerId),
      purpose,
      token: { epoch: assignment.epoch, nonce: assignment.token.slice(assignment.token.indexOf(':') + 1) },
      suspect,
      version,
      run,
      open,
      gates: (assignment.gates?.state ?? '') as Assigned['gates'],
      pendingCalls,
      resultsTaken,
      signalsOpen,
      signals: mail.signals.map(({ message }) => this.signalName(message)),
      results: mail.results.map(({ message }) => `result:${this.name(message.from as string)}`),
      inbox: mail.inbox.map(({ message }) => String(message.value)),
    }
  }
}
