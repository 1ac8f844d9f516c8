/** host.lua, guest.lua, and what enter.lua, commit.lua and fire.lua do for guests, as far as the partitions have to agree. Each changes the world it gets. */
import { type Gate, gatesOf, type Sort, type Standing, type Worker, type World, workerOf } from './guest-world.ts'

/** Rules of the protocol that the search leaves out, one at a time. */
export const mutants = [
  'a guest is named with its version',
  'a guest asks before it begins',
  'the record says first that a run is over',
  'a guest that may still come keeps its place',
  'a guest that asks again takes no other place',
  'a guest that asks again keeps its turn',
  'a guest that asked and did not come frees its place',
  'a guest is told that it may begin',
  'a guest that is over leaves its place',
  'a guest that is over leaves the queue of its gate',
  'a guest that may begin is in progress',
  'a guest in progress counts, even if its place was lost',
  'a guest that was not counted is asked again whether it is over',
  'a guest is reported until the first partition knows that it is over',
  'a guest is told of from time to time',
  'no more runs are in progress than a gate allows',
  'no more runs begin within a time than a gate allows',
  'nobody overtakes those that wait at a gate',
  'a gate is of one key',
  'who passes one gate waits at the other',
] as const
export type Mutant = (typeof mutants)[number]

export class GuestRules {
  readonly #world: World
  readonly #without: Mutant | undefined

  constructor(world: World, without?: Mutant) {
    this.#world = world
    this.#without = without
  }

  has(rule: Mutant): boolean {
    return this.#without !== rule
  }

  runOf(id: number): string {
    const { isGuest, version } = this.#world.workers[id] as Worker
    return isGuest ? this.#guest(id, version) : String(id)
  }

  #guest(id: number, version: number): string {
    return `${id}:${this.has('a guest is named with its version') ? version : 0}`
  }

  #gatesOf(run: string): [Sort, Gate][] {
    const all = gatesOf(this.#world, workerOf(this.#world, run))
    if (this.has('a gate is of one key')) return all
    const first = Object.entries(this.#world.gates).find(([name]) => name.startsWith('runs'))?.[1]
    return all.map(([sort, gate]) => [sort, sort === 'runs' && first ? first : gate])
  }

  /** A run that may not begin now, by the order of those that wait there. */
  #isFull([sort, gate]: [Sort, Gate]): boolean {
    const { runs = 0, rate = 0 } = this.#world.limits
    if (sort === 'runs') return gate.in.length >= runs && this.has('no more runs are in progress than a gate allows')
    return gate.begun >= rate && this.has('no more runs begin within a time than a gate allows')
  }

  /** Null: it may begin. */
  #closedAmong(run: string): [Sort, Gate] | null {
    const isBehind = ({ waiting }: Gate) => waiting.length > 0 && this.has('nobody overtakes those that wait at a gate')
    return this.#gatesOf(run).find((one) => this.#isFull(one) || isBehind(one[1])) ?? null
  }

  #begin(run: string): void {
    for (const [sort, gate] of this.#gatesOf(run)) {
      if (sort === 'runs') gate.in = [...gate.in.filter((one) => one !== run), run]
      else gate.begun = Math.min(gate.begun + 1, this.#world.limits.rate ?? 0)
    }
    if (this.#world.limits.rate) this.#world.admitted.push(run)
  }

  #wait(run: string, gate: Gate, isNew = true): void {
    const world = this.#world
    if (isNew || !world.arrivals.includes(run)) world.arrivals = [...world.arrivals.filter((one) => one !== run), run]
    const place = (one: string) => world.arrivals.indexOf(one)
    gate.waiting = [...gate.waiting.filter((one) => one !== run), run].toSorted((a, b) => place(a) - place(b))
  }

  #leaveWaiting(run: string): void {
    for (const [, gate] of this.#gatesOf(run)) gate.waiting = gate.waiting.filter((one) => one !== run)
    this.#forgetArrival(run)
  }

  #forgetArrival(run: string): void {
    const { gates, arrivals } = this.#world
    if (Object.values(gates).some(({ waiting }) => waiting.includes(run))) return
    this.#world.arrivals = arrivals.filter((one) => one !== run)
  }

  host(run: string, says: string): 'in' | 'out' | Sort {
    const world = this.#world
    if (says === 'later') return 'in'
    const gates = this.#gatesOf(run)
    const runs = gates.find(([sort]) => sort === 'runs')?.[1]
    const isIn = runs?.in.includes(run) === true
    const mayBegin = world.news.includes(run)
    if (says === 'out' || says === 'in') {
      world.news = world.news.filter((one) => one !== run)
      if (says === 'in' || this.has('a guest that is over leaves the queue of its gate')) this.#leaveWaiting(run)
      if (says === 'out' && runs && this.has('a guest that is over leaves its place'))
        runs.in = runs.in.filter((one) => one !== run)
      if (says === 'in' && runs && !isIn) {
        if (this.has('a guest in progress counts, even if its place was lost')) runs.in = [...runs.in, run]
        if (this.has('a guest that was not counted is asked again whether it is over')) this.#addNews(run)
      }
      return says
    }
    if ((isIn || mayBegin) && this.has('a guest that asks again takes no other place')) return 'in'
    const at = gates.find(([, gate]) => gate.waiting.includes(run))
    if (at && this.has('a guest that asks again keeps its turn')) return at[0]
    const closed = this.#closedAmong(run)
    if (closed) {
      this.#wait(run, closed[1])
      return closed[0]
    }
    this.#begin(run)
    if (this.has('a guest that asked and did not come frees its place')) this.#addNews(run)
    return 'in'
  }

  #addNews(run: string): void {
    if (!this.#world.news.includes(run)) this.#world.news.push(run)
  }

  #tell(run: string): void {
    if (!this.#world.told.includes(run)) this.#world.told.push(run)
  }

  standingOf(run: string): Standing {
    const { version, status, gates } = workerOf(this.#world, run)
    const [id = '', of] = run.split(':')
    if (gates && this.#guest(Number(id), gates.version) === run) {
      if (gates.state === 'in' && !this.has('the record says first that a run is over')) return 'out'
      if (gates.state === 'in' || gates.state === 'out') return gates.state
      return status === 'parked' ? 'waits' : 'later'
    }
    const isOfNow = !this.has('a guest is named with its version') || String(version) === of
    const mayCome = isOfNow && (status === 'running' || status === 'queued')
    return mayCome && this.has('a guest that may still come keeps its place') ? 'later' : 'out'
  }

  guest(run: string, says: string): Standing {
    const world = this.#world
    const worker = workerOf(world, run)
    let standing = this.standingOf(run)
    if (says === 'in' && standing === 'waits') {
      worker.status = 'queued'
      if (this.has('a guest that may begin is in progress')) worker.gates = { ...inGates(worker), state: 'in' }
      standing = 'in'
    }
    if (says === 'out' && standing === 'out') world.told = world.told.filter((one) => one !== run)
    if (standing === 'in' || standing === 'waits') this.#tell(run)
    return standing
  }

  /** `answer`: of host; absent in the first partition. */
  enter(id: number, answer?: string): 'in' | 'waits' | 'cancelled' {
    const world = this.#world
    const worker = world.workers[id] as Worker
    const run = this.runOf(id)
    if (worker.gates?.state === 'in') return 'in'
    if (answer && this.has('a guest is told of from time to time')) this.#tell(run)
    if (worker.isCancelled) return 'cancelled'
    const closed = answer === undefined ? this.#closedAmong(run) : null
    const state = answer ?? closed?.[0] ?? 'in'
    if (!worker.isGuest && !closed) this.#begin(run)
    if (closed) this.#wait(run, closed[1])
    worker.gates = { state: state as Sort | 'in', version: worker.version }
    if (state === 'in') return 'in'
    worker.status = 'parked'
    return 'waits'
  }

  /** The run is over, by a commit or by a cancel. */
  end(id: number): void {
    const worker = this.#world.workers[id] as Worker
    const { gates, isGuest, version } = worker
    if (gates && gates.state !== 'out') {
      if (isGuest) this.#tell(this.#guest(id, gates.version))
      else {
        const run = this.runOf(id)
        for (const [sort, gate] of this.#gatesOf(run))
          if (sort === 'runs') gate.in = gate.in.filter((one) => one !== run)
        this.#leaveWaiting(run)
      }
      worker.gates = { ...gates, state: 'out' }
    }
    worker.version = version + 1
    worker.runsLeft = worker.isCancelled ? 0 : worker.runsLeft - 1
    worker.status = worker.runsLeft > 0 ? 'queued' : 'over'
    worker.turn = 'none'
  }

  /** What a fire does at this gate. */
  admit(name: string): void {
    const world = this.#world
    const sort: Sort = name.startsWith('runs') ? 'runs' : 'rate'
    const gate = world.gates[name] as Gate
    if (world.heals) for (const run of gate.in) if (workerOf(world, run).isGuest) this.#addNews(run)
    for (const run of gate.waiting) {
      if (this.#isFull([sort, gate])) break
      const worker = workerOf(world, run)
      gate.waiting = gate.waiting.filter((one) => one !== run)
      const other = this.#gatesOf(run).find(([one]) => one !== sort)
      if (other && this.#isFull(other)) {
        if (this.has('who passes one gate waits at the other')) this.#wait(run, other[1], false)
        if (!worker.isGuest) worker.gates = { ...inGates(worker), state: other[0] }
      } else {
        this.#begin(run)
        if (!worker.isGuest) Object.assign(worker, { gates: { ...inGates(worker), state: 'in' }, status: 'queued' })
        else if (this.has('a guest is told that it may begin')) this.#addNews(run)
      }
      this.#forgetArrival(run)
    }
  }
}

function inGates({ gates, version }: Worker): { state: 'in' | 'out' | Sort; version: number } {
  return gates ?? { state: 'in', version }
}
