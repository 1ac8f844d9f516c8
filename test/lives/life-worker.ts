/**
 * Duty: a worker in memory whose node may die at any commit, whose run may be cancelled or steered, and whose asks wait for somebody.
 */
import { decodeEntry, type Entry, encodeEntry, entryVersion } from '../../src/core/history/entry.ts'
import { lastEntries, openCallsIn } from '../../src/core/history/run/open-calls.ts'
import type {
  AskOrder,
  Assignment,
  CommitAnswer,
  CommitRequest,
  RunPosition,
  SpawnOrder,
} from '../../src/core/ports/ports.ts'
import { encodeAnswer } from '../../src/core/worker/ask/ask.ts'
import type { Steering } from '../../src/core/worker/message/steer.ts'
import { beforeRun } from '../../src/core/worker/run-ends.ts'
import { MemoryWorker } from '../../src/testing/memory-worker.ts'
import { LifeInbox } from './life-inbox.ts'

/** What becomes of a commit: it is recorded; or its node died before it was, or after it, and never heard the answer. */
export type Fate = 'recorded' | 'lost' | 'unanswered'

export class LifeWorker extends MemoryWorker {
  fate: () => Fate = () => 'recorded'
  /** Called just before each commit, so that something from outside can happen then. */
  beforeCommit: (request: CommitRequest) => void = () => {}
  readonly inbox = new LifeInbox()
  readonly openAsks = new Map<string, AskOrder>()
  readonly openChildren = new Map<number, SpawnOrder>()
  /** Children that a message cancelled, and that have not reported so yet. */
  readonly cancelledChildren: SpawnOrder[] = []
  run = 1
  isOpen = false
  /** The node of the turn in progress is dead: nothing that its code still does is recorded. */
  #deadEpoch = 0

  override commit(request: CommitRequest): Promise<CommitAnswer> {
    const epoch = Number.parseInt(request.token, 10)
    if (epoch <= this.#deadEpoch) return Promise.resolve({ kind: 'fenced', claimed: { kind: 'none' } })
    const fate = this.fate()
    if (fate !== 'recorded') this.#deadEpoch = epoch
    if (fate === 'lost') return Promise.resolve({ kind: 'fenced', claimed: { kind: 'none' } })
    this.beforeCommit(request)
    const ended = request.withdraws.find((id) => !this.openAsks.has(id))
    if (ended !== undefined) return Promise.resolve({ kind: 'refused', refusals: [{ reason: 'ask_ended', id: ended }] })
    this.inbox.take(request)
    for (const ask of request.asks) this.openAsks.set(ask.id, ask)
    for (const id of request.withdraws) this.openAsks.delete(id)
    for (const spawn of request.spawns) if (!spawn.detached) this.openChildren.set(spawn.call, spawn)
    for (const id of request.cancels ?? []) this.#cancelChild(id)
    this.isOpen = request.open
    if (request.outcome !== undefined) this.#ended()
    const answer = super.commit(request)
    return fate === 'unanswered' ? Promise.resolve({ kind: 'fenced', claimed: { kind: 'none' } }) : this.#told(answer)
  }

  async #told(answering: Promise<CommitAnswer>): Promise<CommitAnswer> {
    const { steered } = this.inbox
    const answer = await answering
    return steered.length > 0 && answer.kind === 'ok' ? { ...answer, steered } : answer
  }

  override get hasMail(): boolean {
    return super.hasMail || this.inbox.hasMail
  }

  override putInput(from: string | null, valueJson: string, when?: Steering): void {
    this.inbox.put(from, valueJson, this.isOpen || this.inbox.hasMail ? when : undefined)
  }

  override readInputs = ((_workerId: string, positions: readonly number[]) =>
    Promise.resolve(this.inbox.at(positions))) as never

  /** A worker with a history either has a commit or began with that history. */
  override assignment(): Assignment {
    const assignment = super.assignment()
    const version = assignment.version + (this.history.length > 0 ? 1 : 0)
    const { mails, steered } = this.inbox
    return { ...assignment, version, mail: { ...assignment.mail, inbox: mails }, steered }
  }

  /** Answers an ask as the store does. */
  answer(ask: AskOrder, value: unknown, by: string | null, reason: string | null): void {
    this.openAsks.delete(ask.id)
    this.putAnswer(ask.id, encodeAnswer(JSON.stringify(value), { status: 'answered', by, reason }))
  }

  report(spawn: SpawnOrder, outcome: Parameters<MemoryWorker['putResult']>[2]): void {
    this.openChildren.delete(spawn.call)
    this.putResult(spawn, spawn.call, outcome)
  }

  /** Cancels a run that no node runs, as the store does: it answers the open calls and writes the end. */
  cancelAtRest(): void {
    if (!this.isOpen) return
    const open = openCallsIn(this.entries())
    if (open !== null) this.history.push(...lastEntries(open, 1))
    this.append({ type: 'cancelled', v: entryVersion, at: 1, run: this.run, epoch: 1 })
    this.stand(beforeRun(this.run + 1))
    this.inbox.endRun()
    this.#ended()
  }

  /** A run that had failed goes on. */
  goOn(position: RunPosition): void {
    this.stand(position)
    this.run = position.run
    this.isOpen = true
  }

  /** The child reports later, if the run that it belongs to still goes on. */
  #cancelChild(id: string): void {
    for (const [call, spawn] of this.openChildren) {
      if (spawn.id !== id) continue
      this.openChildren.delete(call)
      this.cancelledChildren.push(spawn)
    }
  }

  append(entry: Entry): void {
    this.history.push(encodeEntry(entry))
  }

  entries(): Entry[] {
    return this.history.map(decodeEntry)
  }

  #ended(): void {
    this.run += 1
    this.isOpen = false
    this.openAsks.clear()
    this.openChildren.clear()
    this.cancelledChildren.length = 0
  }
}
