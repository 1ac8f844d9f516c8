/** The other side of the model of guests: two partitions on a real Redis, where the scripts do what the model did; and what is to be seen there, in its words. */
import { decodeGates, type GateOrder } from '../../../src/core/worker/gates.ts'
import { gateKeys, gatesKey } from '../../../src/store/keys.ts'
import { enterScript, guestScript, hostScript } from '../../../src/store/script/scripts.ts'
import { type GuestNews, GuestStore } from '../../../src/store/turn/guest-store.ts'
import { newSeed } from '../../../src/store/wakeups.ts'
import { HandTurn } from '../../store/support/hand-node.ts'
import { Place } from '../../store/support/place.ts'
import { atOnce, within } from '../../store/support/queue/gate-checks.ts'
import type { Action } from './guest-actions.ts'
import type { Call, Scene, World } from './guest-world.ts'

/** Keeps what a fire wants to be told. */
class HeldNews extends GuestStore {
  news: readonly GuestNews[] = []

  override async tell(news: readonly GuestNews[]) {
    this.news = news
    return { woken: [], opensGate: false }
  }
}

const later = 1e14
const deadline = { deadlineMs: 5_000 }

export class GuestStage implements AsyncDisposable {
  readonly #scene: Scene
  readonly #home: Place
  readonly #other: Place
  readonly #held: HeldNews
  readonly #ids: string[] = []
  readonly #sessions: string[] = []
  readonly #turns = new Map<number, HandTurn>()

  private constructor(scene: Scene, home: Place) {
    this.#scene = scene
    this.#home = home
    this.#other = home.beside(1)
    this.#held = new HeldNews([], home.policy)
  }

  static async open(scene: Scene): Promise<GuestStage> {
    // However often a worker is started without a commit, it is not suspected here.
    const home = await Place.open({ policy: { suspectAfterStarts: 1_000, poisonAfterIsolatedStarts: 1_000 } })
    const stage = new GuestStage(scene, home)
    for (const [id, { isGuest, runs }] of scene.workers.entries()) {
      const place = isGuest ? stage.#other : home
      const { id: session, root } = await place.create({ label: `s${id}`, mode: 'conversation' })
      for (let run = 1; run < runs; run++) await place.post(root, `run ${run} of ${id}`)
      stage.#ids.push(root)
      stage.#sessions.push(session)
    }
    return stage
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#home[Symbol.asyncDispose]()
  }

  #placeOf(id: number): Place {
    return this.#scene.workers[id]?.isGuest ? this.#other : this.#home
  }

  #idOf(id: number): string {
    return this.#ids[id] as string
  }

  #gates(id: number): GateOrder[] {
    const { runs, rate } = this.#scene.limits
    const { key = '' } = this.#scene.workers[id] ?? {}
    return [...(runs ? [atOnce(runs, key)] : []), ...(rate ? [within(rate)] : [])]
  }

  #guestText(run: string): string {
    const [id = '', version = ''] = run.split(':')
    const gates = this.#gates(Number(id))
    const gate = (sort: string) => gates.find((one) => one.sort === sort)?.id ?? '-'
    return `echo ${this.#idOf(Number(id))}:${version} ${gate('runs')} ${gate('rate')}`
  }

  /** Which worker a node gets says Redis: returns its number. Null: none. */
  async claim(id: number): Promise<{ readonly id: number; readonly isToEnd: boolean } | null> {
    const node = this.#placeOf(id).node({ slots: 50 })
    const answer = await node.ask({ slot: newSeed() })
    if (answer.kind !== 'assigned') return null
    const claimed = this.#ids.indexOf(answer.assignment.workerId)
    this.#turns.set(claimed, new HandTurn(node, answer.assignment))
    return { id: claimed, isToEnd: answer.assignment.purpose !== 'run' }
  }

  /** Does what the model does. Returns what the script answered, or `-`. */
  async do(action: Action, world: World): Promise<string> {
    switch (action.kind) {
      case 'begin':
        return this.#scene.workers[action.worker]?.isGuest ? '-' : this.#enter(action.worker)
      case 'end':
        return this.#end(action.worker, world)
      case 'die': {
        const place = this.#placeOf(action.worker)
        await place.expireLease(this.#idOf(action.worker))
        await place.node().sweep({ free: 0 })
        this.#turns.delete(action.worker)
        return '-'
      }
      case 'cancel':
        await this.#placeOf(action.worker).sessions.cancel(this.#sessions[action.worker] as string, 'enough')
        return '-'
      case 'arrive':
        return this.#run(world.calls[action.call] as Call)
      case 'tellGuest':
        return this.#fire(this.#home, `> ${this.#guestText(action.run)}`)
      case 'tellHost':
        return this.#fire(this.#other, this.#guestText(action.run))
      case 'admit':
        return this.#fire(this.#home, this.#gateName(action.gate))
      case 'pass': {
        const { begun } = gateKeys(this.#home.keys.tag, this.#gateName('rate all'))
        const length = await this.#home.redis.llen(begun)
        for (let index = 0; index < length; index++) await this.#home.redis.lset(begun, index, '1')
        return '-'
      }
      case 'lose':
        return '-'
      default:
        throw new Error(`The stage does not ${action.kind}.`)
    }
  }

  #gateName(gate: string): string {
    const [sort = '', key = ''] = gate.split(' ')
    const { id } = sort === 'runs' ? atOnce(1, key) : within(1)
    return `echo:${sort}:${id}`
  }

  /** Only this entry of the list is due. */
  async #fire(place: Place, entry: string): Promise<string> {
    const key = gatesKey(place.keys.tag)
    for (const one of await place.redis.zrange(key, 0, '-1')) await place.redis.zadd(key, 'XX', later, one)
    await place.redis.zadd(key, 'XX', 1, entry)
    this.#held.news = []
    await place.node({ id: 'sweeper', guests: this.#held }).upkeep.fire()
    return this.#held.news[0]?.standing ?? '-'
  }

  /** Waits for the next millisecond: runs that come to a gate in the same one have no order there. */
  async #tick(): Promise<void> {
    const before = await this.#home.now()
    while ((await this.#home.now()) === before) {}
  }

  async #enter(id: number, guest?: string): Promise<string> {
    await this.#tick()
    const { keys, caller } = this.#placeOf(id)
    const { assignment } = this.#turns.get(id) as HandTurn
    const [answer] = (await caller.call(
      enterScript,
      { record: this.#placeOf(id).workerKeys(this.#idOf(id)).record, leases: keys.leases, gates: gatesKey(keys.tag) },
      {
        worker: this.#idOf(id),
        token: assignment.token,
        at: this.#gates(id).map(({ key, ...gate }) => ({ ...gate, key: key ?? undefined })),
        guest: guest === undefined || guest === 'in' ? guest : `${guest} none`,
      },
      deadline,
    )) as string[]
    if (answer === 'waits') this.#turns.delete(id)
    return String(answer)
  }

  async #run({ script, says, run, isStale }: Call): Promise<string> {
    const id = Number(run.split(':')[0])
    if (script === 'enter') return isStale ? '-' : this.#enter(id, says)
    await this.#tick()
    const guest = this.#guestText(run)
    const { caller, keys } = script === 'host' ? this.#home : this.#other
    if (script === 'guest') {
      const record = this.#other.workerKeys(this.#idOf(id)).record
      const words = { guest, says: says as 'in', seed: newSeed(), wakeupMs: 1_000 }
      const [standing] = (await caller.call(
        guestScript,
        { record, gates: gatesKey(keys.tag) },
        words,
        deadline,
      )) as string[]
      return String(standing)
    }
    const at =
      says === 'asks' ? this.#gates(id).map(({ key, ...gate }) => ({ ...gate, key: key ?? undefined })) : undefined
    const header = { guest, standing: says, ancestors: says === 'asks' ? [] : undefined, at }
    const [answer, sort] = (await caller.call(hostScript, { gates: gatesKey(keys.tag) }, header, deadline)) as string[]
    return String(answer === 'waits' ? sort : answer)
  }

  async #end(id: number, { workers }: World): Promise<string> {
    const turn = this.#turns.get(id)
    this.#turns.delete(id)
    if (turn === undefined) await this.#placeOf(id).node().upkeep.finishCancelled()
    else await turn.complete(workers[id]?.isCancelled ? { outcome: 'cancelled', inputsConsumed: 0 } : {})
    return '-'
  }

  /** What is at the gates, in the lists and in the records. */
  async facts(): Promise<object> {
    const { redis, keys } = this.#home
    const names = Object.keys(newGates(this.#scene))
    const gates = await Promise.all(
      names.map(async (name) => {
        const gate = gateKeys(keys.tag, this.#gateName(name))
        const begun = await redis.lrange(gate.begun, 0, '-1')
        const counted = (await redis.zrange(gate.in, 0, '-1')).map((text) => this.#runOf(text)).toSorted()
        const waiting = (await redis.zrange(gate.waiting, 0, '-1')).map((text) => this.#runOf(text))
        return [name, { in: counted, waiting, begun: begun.filter((at) => at !== '1').length }]
      }),
    )
    const listed = (await redis.zrange(gatesKey(keys.tag), 0, '-1')).filter((entry) => entry.startsWith('> '))
    const told = await redis.zrange(gatesKey(this.#other.keys.tag), 0, '-1')
    const workers = await Promise.all(
      this.#ids.map(async (worker, id) => {
        const { record } = this.#placeOf(id).workerKeys(worker)
        const [status, text, commit] = await redis.hmget(record, 'status', 'gates', 'commit')
        const version = /:(\d+)$/.exec(commit ?? '')?.[1]
        const isOpen = ['queued', 'running', 'parked'].includes(status ?? '')
        return [isOpen ? status : 'over', decodeGates(text ?? '')?.state ?? 'none', Number(version ?? 0)]
      }),
    )
    return {
      gates: Object.fromEntries(gates),
      news: listed.map((entry) => this.#runOf(entry.slice(2))).toSorted(),
      told: told.map((entry) => this.#runOf(entry)).toSorted(),
      workers,
    }
  }

  /** A member of a gate, by the names of the model. */
  #runOf(text: string): string {
    const [, worker = text, version] = /^\S+ ([^:]+):(\d+) /.exec(text) ?? []
    const id = this.#ids.indexOf(worker)
    return version === undefined ? String(id) : `${id}:${version}`
  }
}

function newGates({ limits, workers }: Scene): Record<string, true> {
  const keys = workers.map(({ key }) => key)
  const names = [...(limits.runs ? keys.map((key) => `runs ${key}`) : []), ...(limits.rate ? ['rate all'] : [])]
  return Object.fromEntries(names.map((name) => [name, true]))
}

export function factsOf({ gates, news, told, workers }: World): object {
  return {
    gates: Object.fromEntries(
      Object.entries(gates).map(([name, { in: counted, waiting, begun }]) => [
        name,
        { in: counted.toSorted(), waiting, begun },
      ]),
    ),
    news: news.toSorted(),
    told: told.toSorted(),
    workers: workers.map(({ status, gates: own, version }) => [status, own?.state ?? 'none', version]),
  }
}
