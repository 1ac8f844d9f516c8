/**
 * Duty: the recorded steps of the run in progress: what `self.step` has done before, and the commit that records what it did now.
 * HANDLER-STEPS-1 What a step returned is recorded before `self.step` answers. After that, no attempt and no start of this run does it again.
 * HANDLER-STEPS-2 No step begins once its turn ends or its lease is no longer trusted (PERMIT-1 of permit.ts).
 * HANDLER-STEPS-3 The history has the values. It is read once for each run of a turn, and only if the record says that there are steps. If it cannot be
 *    read, the next step tries again.
 * HANDLER-STEPS-4 A paused turn begins no step. The steps that run end and are recorded; then the turn is released, and another one receives the message again
 *    after the pause. A step that a running step takes is part of it, and begins: the running one could not end without it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { CancelledError, InvariantError, LeaseLostError } from '../../core/errors.ts'
import { decodeEntry, stepEntry } from '../../core/history/entry.ts'
import { mayFinish, mayRecord } from '../turn/permit.ts'
import { emptyStep } from '../turn/step/step.ts'
import type { Turn } from '../turn/turn.ts'

/** How many entries are read first. If they do not hold all steps of the run, twice as many are read, and so on. */
const firstRead = 64

/** Has a value in the code of a step, whatever it awaits. */
const stepAround = new AsyncLocalStorage<true>()

export class HandlerSteps {
  readonly #turn: Turn
  #run = 0
  /** How many steps are being taken, and a promise that resolves once none is. All steps that are held back wait for it. */
  #taken = 0
  #allTaken = Promise.withResolvers<void>()
  /** The JSON of recorded values, by the names of their steps. */
  #known: Promise<Map<string, string>> = Promise.resolve(new Map())

  constructor(turn: Turn) {
    this.#turn = turn
  }

  /** The value that this run has recorded under this name, as JSON; undefined if it has recorded none, and may record one. */
  async recorded(name: string): Promise<string | undefined> {
    const valueJson = (await this.#ofThisRun()).get(name)
    if (valueJson !== undefined) return valueJson
    this.#mustGoOn()
    if (this.#turn.pausing.isOn && stepAround.getStore() === undefined) await this.#holdBack()
    return undefined
  }

  /** What a step does, until it is recorded. */
  async taking<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#taken++ === 0) this.#allTaken = Promise.withResolvers<void>()
    try {
      return await stepAround.run(true, work)
    } finally {
      if (--this.#taken === 0) this.#allTaken.resolve()
    }
  }

  /** Resolves when the value is recorded. Throws if the turn has lost its right to record anything. */
  async record(name: string, valueJson: string): Promise<void> {
    const turn = this.#turn
    this.#mustGoOn()
    const { position, assignment } = turn
    turn.add({
      ...emptyStep({ ...position, steps: position.steps + 1 }),
      entries: [stepEntry(position.run, assignment.epoch, Date.now(), name, valueJson)],
      notes: [['step.recorded', { name }]],
    })
    await turn.settled()
    this.#mustGoOn()
    const known = await this.#ofThisRun()
    known.set(name, valueJson)
  }

  /** Waits until the steps that run are recorded, releases the turn, and throws. Released at once, the turn would have these steps done again. */
  async #holdBack(): Promise<void> {
    while (this.#taken > 0) await this.#allTaken.promise
    await this.#turn.release(`its session is paused; worker ${this.#turn.assignment.workerId} goes on after the pause.`)
    this.#mustGoOn()
  }

  #mustGoOn(): void {
    const { assignment, signal } = this.#turn
    if (mayFinish(this.#turn) && mayRecord(this.#turn)) return
    const { reason } = signal as { reason: unknown }
    if (reason instanceof CancelledError || reason instanceof LeaseLostError) throw reason
    throw new LeaseLostError(`the turn of worker ${assignment.workerId} is over: its steps go on elsewhere.`)
  }

  #ofThisRun(): Promise<Map<string, string>> {
    const { run, steps } = this.#turn.position
    if (run === this.#run) return this.#known
    this.#run = run
    const known = steps === 0 ? Promise.resolve(new Map<string, string>()) : this.#read(run, steps)
    this.#known = known
    // The next step reads again.
    known.catch(() => {
      if (this.#known === known) this.#run = 0
    })
    return known
  }

  async #read(run: number, steps: number): Promise<Map<string, string>> {
    const { assignment, host } = this.#turn
    // A step that is being recorded counts already.
    await this.#turn.settled()
    for (let size = firstRead; ; size *= 2) {
      const entries = await host.store.readHistory(assignment.workerId, -size)
      const known = new Map<string, string>()
      for (const text of entries) {
        const entry = decodeEntry(text)
        if (entry.type === 'step' && entry.run === run) known.set(entry.name, JSON.stringify(entry.value))
      }
      if (known.size >= steps) return known
      if (entries.length < size)
        throw new InvariantError(
          `worker ${assignment.workerId} has recorded ${steps} steps in run ${run}, but only ${known.size} of them are in its history: troupe audit names what was overwritten.`,
        )
    }
  }
}
