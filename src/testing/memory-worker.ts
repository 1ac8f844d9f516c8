/**
 * Duty: keep one worker in memory: its record, its mail and its history, in place of the store of a partition.
 * MEMORY-1 Turns, handlers and agents are those of a node. Only what Redis would do is done here, for a worker that nobody else touches.
 */
import { stepEntry } from '../core/history/entry.ts'
import { childId, newId, rootIdOf } from '../core/ids.ts'
import { defaultSpending, defaultWorkerLimits, type WorkerLimits } from '../core/policy.ts'
import type { Assignment, CommitAnswer, CommitRequest, RunPosition, TurnStore } from '../core/ports/ports.ts'
import { defaultApproval } from '../core/worker/ask/session-approval.ts'
import type { EnterAnswer } from '../core/worker/gates.ts'
import { decodeMail, encodeInput, encodeResult, type Mail, type Outcome } from '../core/worker/message/message.ts'
import type { Permissions } from '../core/worker/permissions.ts'
import { beforeRun } from '../core/worker/run-ends.ts'

export interface MemorySettings {
  readonly kind: string
  readonly name: string
  readonly stateJson: string | null
  readonly limits: Partial<WorkerLimits>
  readonly permissions: Permissions
}

export class MemoryWorker implements TurnStore {
  readonly partition = 0
  readonly requests: CommitRequest[] = []
  readonly history: string[] = []
  readonly sessionId = newId(0)
  readonly id = rootIdOf(this.sessionId)
  readonly #settings: MemorySettings
  readonly #mail: { signals: Mail[]; results: Mail[]; inbox: Mail[] } = { signals: [], results: [], inbox: [] }
  #position: RunPosition = beforeRun(1)
  #stateJson: string | null
  #version = 0
  #epoch = 0
  /** Results that were ever put into the lane. */
  #results = 0

  constructor(settings: MemorySettings) {
    this.#settings = settings
    this.#stateJson = settings.stateJson
  }

  get stateJson(): string | null {
    return this.#stateJson
  }

  get hasMail(): boolean {
    return Object.values(this.#mail).some((lane) => lane.length > 0)
  }

  /** Says where a run stands, for a test that does not begin with the first message of the run. */
  stand(position: Partial<RunPosition>): void {
    this.#position = { ...this.#position, ...position }
  }

  noteStep(name: string, valueJson: string): void {
    this.history.push(stepEntry(1, 1, Date.now(), name, valueJson))
    this.stand({ steps: this.#position.steps + 1 })
  }

  putInput(from: string | null, valueJson: string): void {
    this.#mail.inbox.push(decodeMail('inbox', 0, encodeInput(from, valueJson)))
  }

  /** `answerJson`: as an answer is stored. */
  putAnswer(askId: string, answerJson: string): void {
    this.#mail.signals.push(decodeMail('signals', 0, `o\t${askId}\t${answerJson}`))
  }

  putTimer(valueJson: string): void {
    this.#mail.signals.push(decodeMail('signals', 0, `t\t${newId(0)}\t${valueJson}`))
  }

  putResult(child: { readonly kind: string; readonly name: string }, call: number, outcome: Outcome): void {
    const id = childId(this.id, this.#position.run, call)
    this.#mail.results.push(decodeMail('results', this.#results, encodeResult({ ...child, id }, call, outcome)))
    this.#results += 1
  }

  /** What a claim of this worker would answer. */
  assignment(): Assignment {
    this.#epoch += 1
    const { kind, name, limits, permissions } = this.#settings
    return {
      ...this.#position,
      workerId: this.id,
      sessionId: this.sessionId,
      purpose: 'run',
      token: `${this.#epoch}:test`,
      epoch: this.#epoch,
      suspect: false,
      parentId: null,
      isJob: true,
      parentRun: null,
      call: null,
      kind,
      name,
      pool: 'default',
      depth: 0,
      limits: { ...defaultWorkerLimits, ...limits },
      spending: { spent: null, allowed: defaultSpending },
      approval: defaultApproval,
      permissions,
      version: this.#version,
      starts: 1,
      crashes: 0,
      stateJson: this.#stateJson,
      begunRun: 0,
      isDryRun: false,
      commitId: '',
      lastWords: null,
      resultsTaken: this.#results - this.#mail.results.length,
      resultsSeen: this.#results,
      mail: { signals: [...this.#mail.signals], results: [...this.#mail.results], inbox: [...this.#mail.inbox] },
      trustedUntil: Number.POSITIVE_INFINITY,
    }
  }

  claim(): Promise<{ readonly kind: 'none' }> {
    return Promise.resolve({ kind: 'none' })
  }

  commit(request: CommitRequest): Promise<CommitAnswer> {
    this.requests.push(request)
    this.history.push(...request.entries)
    this.#stateJson = request.stateJson ?? this.#stateJson
    this.#mail.signals.splice(0, request.signalsConsumed)
    this.#mail.inbox.splice(0, request.inputsConsumed)
    const consumed = new Set(request.resultsConsumed)
    this.#mail.results = this.#mail.results.filter(({ position }) => !consumed.has(position))
    const { runState, open, attempt, retrying, pendingCalls, signalsOpen, steps } = request
    const { run, calls } = this.#position
    const isOver = request.outcome !== undefined
    this.#position = {
      run: isOver ? run + 1 : run,
      calls: isOver ? 0 : calls + request.spawns.length,
      runState,
      open,
      attempt,
      retrying,
      pendingCalls,
      signalsOpen,
      steps,
    }
    this.#version += 1
    const spending = { spent: null, allowed: defaultSpending }
    const approval = defaultApproval
    const version = this.#version
    return Promise.resolve({ kind: 'ok', version, wakeups: [], claimed: { kind: 'none' }, spending, approval })
  }

  readHistory(_workerId: string, from: number): Promise<string[]> {
    return Promise.resolve(this.history.slice(from))
  }

  /** A worker that is alone is within every limit of its kind. */
  enter(): Promise<EnterAnswer> {
    return Promise.resolve({ kind: 'in' })
  }

  readInputs(): never {
    throw new Error('a worker in memory receives one message at a time, and none steers it: test this with testTroupe.')
  }

  cancelReason(): never {
    throw new Error('a worker in memory is not cancelled.')
  }

  renew(): never {
    throw new Error('a worker in memory has no lease to renew.')
  }
}
