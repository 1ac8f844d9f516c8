/** Random lives at the gates of a kind: what happens there, and what must hold after each step. */
import { expect } from 'vitest'
import type { GateOrder } from '../../../../src/core/worker/gates.ts'
import { HandTurn } from '../hand-node.ts'
import type { Place } from '../place.ts'
import { atOnce, enter, holders, open, waiters } from './gate-checks.ts'

const [narrow, wide] = [atOnce(1, 'narrow'), atOnce(2, 'wide')]
const gates: readonly GateOrder[] = [narrow, wide]

/** Nobody overtakes those that wait. */
function expectNobody(ahead: readonly string[]): void {
  expect(ahead).toEqual([])
}

/** `waited`: all that ever waited there, in the order in which they came. */
async function expectInOrder(place: Place, gate: GateOrder, waited: readonly string[]): Promise<void> {
  const [within, waiting] = [await holders(place, gate), await waiters(place, gate)]
  const fieldsOf = (worker: string) => place.redis.hmget(place.workerKeys(worker).record, 'status', 'gates')
  expect(within.length).toBeLessThanOrEqual(gate.most)
  for (const worker of within) expect((await fieldsOf(worker))[1]).toBe(`in ${gate.id} -`)
  for (const worker of waiting) expect(await fieldsOf(worker)).toEqual(['parked', `runs ${gate.id} -`])
  // Each waiting run comes behind all that came before it and still wait.
  expect(waiting).toEqual(waited.filter((worker) => waiting.includes(worker)))
}

/** The same numbers for the same seed. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

export class GateLives {
  readonly #place: Place
  readonly #random: (below: number) => number
  readonly #turns = new Map<string, HandTurn>()
  readonly #gateOf = new Map<string, GateOrder>()
  readonly #waited = new Map<GateOrder, string[]>(gates.map((gate) => [gate, []]))
  #made = 0

  constructor(place: Place, seed: number) {
    this.#place = place
    this.#random = randomOf(seed)
  }

  #some(): HandTurn | undefined {
    return [...this.#turns.values()][this.#random(this.#turns.size)]
  }

  async step(): Promise<void> {
    const turn = this.#some()
    switch (this.#random(7)) {
      case 0:
      case 1:
        await this.#place.create({ label: `s${++this.#made}` })
        return
      case 2:
      case 3:
        return this.claim()
      case 4:
        if (turn !== undefined) await this.end(turn)
        return
      case 5:
        if (turn !== undefined) await this.die(turn)
        return
      default:
        if (turn !== undefined) await this.cancel(turn)
        await open(this.#place)
    }
  }

  async claim(): Promise<void> {
    const node = this.#place.node({ slots: 50 })
    const answer = await node.ask({ slot: String(this.#random(1_000_000)) })
    if (answer.kind !== 'assigned') return
    const turn = new HandTurn(node, answer.assignment)
    if (answer.assignment.purpose !== 'run') {
      const isCancelled = answer.assignment.purpose === 'cancelled'
      await turn.complete(isCancelled ? { outcome: 'cancelled', inputsConsumed: 0 } : { outcome: 'failed' })
      return
    }
    const gate = this.#gateOf.get(turn.worker) ?? (this.#random(2) === 0 ? narrow : wide)
    this.#gateOf.set(turn.worker, gate)
    if (turn.assignment.gates?.state !== 'in') {
      const ahead = await waiters(this.#place, gate)
      if ((await enter(turn, gate)).kind !== 'in') {
        this.#waited.get(gate)?.push(turn.worker)
        return
      }
      expectNobody(ahead)
    }
    this.#turns.set(turn.worker, turn)
  }

  async end(turn: HandTurn): Promise<void> {
    this.#turns.delete(turn.worker)
    await turn.complete()
    if (this.#random(2) === 0) await open(this.#place)
  }

  async die(turn: HandTurn): Promise<void> {
    this.#turns.delete(turn.worker)
    await this.#place.expireLease(turn.worker)
    await turn.node.sweep({ free: 0 })
  }

  /** Cancels a run that is in progress: its node ends it. */
  async cancel(turn: HandTurn): Promise<void> {
    this.#turns.delete(turn.worker)
    await this.#place.sessions.cancel(turn.assignment.sessionId, 'enough')
    await turn.complete({ outcome: 'cancelled', inputsConsumed: 0 })
    await this.#place.node().upkeep.finishCancelled()
  }

  async check(): Promise<void> {
    for (const gate of gates) await expectInOrder(this.#place, gate, this.#waited.get(gate) ?? [])
  }

  /** Lets every run begin and end. */
  async drain(): Promise<void> {
    for (let round = 0; round < 200; round++) {
      for (const turn of Array.from(this.#turns.values())) await this.end(turn)
      await open(this.#place)
      await this.claim()
    }
  }
}
