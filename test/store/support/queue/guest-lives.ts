/**
 * Random lives at a gate that runs of several partitions pass: what happens there, and what must hold after each step. Whatever one partition tells
 * another comes late, twice, or never; each call may fail before or after it has had its effect.
 */
import { expect } from 'vitest'
import { TransientError } from '../../../../src/core/errors.ts'
import { decodeGates, type GateOrder } from '../../../../src/core/worker/gates.ts'
import { gateKeys, gatesKey } from '../../../../src/store/keys.ts'
import type { ScriptCaller } from '../../../../src/store/script/script.ts'
import { GuestStore } from '../../../../src/store/turn/guest-store.ts'
import { HandTurn } from '../hand-node.ts'
import type { Place } from '../place.ts'

type News = Parameters<GuestStore['tell']>[0][number]

/** Holds back the words between the partitions, and their answers, until the test lets them go. */
class SlowGuests extends GuestStore {
  readonly news: News[] = []
  readonly answers: (() => void)[] = []

  override async ask(...args: Parameters<GuestStore['ask']>): Promise<string> {
    const answer = await super.ask(...args)
    await new Promise<void>((resolve) => this.answers.push(resolve))
    return answer
  }

  override async tell(news: readonly News[]) {
    this.news.push(...news)
    return { woken: [], opensGate: false }
  }

  now(news: News) {
    return super.tell([news])
  }
}

function expectNoMore({ most }: GateOrder, counted: readonly string[], inProgress: readonly string[]): void {
  expect(counted.length).toBeLessThanOrEqual(most)
  for (const one of inProgress) expect(counted).toContain(one)
}

export class GuestLives {
  readonly #places: readonly Place[]
  readonly #gates: readonly GateOrder[]
  readonly #random: (below: number) => number
  readonly #guests: SlowGuests
  readonly #turns = new Set<HandTurn>()
  readonly #asking = new Set<Promise<unknown>>()
  #isCalm = false
  #made = 0
  ended = 0

  /** `places`: one for each partition. */
  constructor(places: readonly Place[], gates: readonly GateOrder[], random: (below: number) => number) {
    this.#places = places
    this.#gates = gates
    this.#random = random
    const open = places.map(({ partition, keys, redis, caller }) => ({
      partition,
      keys,
      redis,
      caller: this.#failing(caller),
      prefix: '',
    }))
    this.#guests = new SlowGuests(open, (places[0] as Place).policy)
  }

  /** Each call may fail, before or after. */
  #failing(caller: ScriptCaller): ScriptCaller {
    const call: ScriptCaller['call'] = async (...args) => {
      const lot = this.#isCalm ? 9 : this.#random(10)
      if (lot === 0) throw new TransientError('lost before')
      const answer = await caller.call(...args)
      if (lot === 1) throw new TransientError('lost after')
      return answer
    }
    return new Proxy(caller, { get: (target, name) => (name === 'call' ? call : Reflect.get(target, name, target)) })
  }

  #oneOf<T>(all: Iterable<T>): T | undefined {
    const list = [...all]
    return list[this.#random(Math.max(1, list.length))]
  }

  async step(): Promise<void> {
    const place = this.#oneOf(this.#places) as Place
    const turn = this.#oneOf(this.#turns)
    switch (this.#random(10)) {
      case 0:
        await place.create({ label: `s${++this.#made}` })
        return
      case 1:
      case 2:
        return this.#claim(place)
      case 3:
        return this.#letEnter()
      case 4:
        if (turn) await this.#end(turn)
        return
      case 5:
        if (turn) await this.#die(turn)
        return
      case 6:
        if (turn && this.#random(2) === 0) await this.#cancel(turn)
        return
      case 7:
        return this.#fire(place, this.#random(2) === 0)
      default:
        return this.#tellOne()
    }
  }

  #nodeOf(place: Place) {
    return place.node({ id: `n${this.#random(1_000_000)}`, slots: 50, guests: this.#guests })
  }

  async #claim(place: Place): Promise<void> {
    const node = this.#nodeOf(place)
    const answer = await node.ask({ slot: String(this.#random(1_000_000)) })
    if (answer.kind !== 'assigned') return
    const turn = new HandTurn(node, answer.assignment)
    const { purpose, gates } = answer.assignment
    if (purpose !== 'run') {
      await turn.complete(purpose === 'cancelled' ? { outcome: 'cancelled', inputsConsumed: 0 } : { outcome: 'failed' })
      return
    }
    this.#turns.add(turn)
    if (gates?.state === 'in') return
    const asked = node.turns.enter(turn.assignment, this.#gates).then(
      async ({ kind }) => {
        if (kind === 'cancelled') await turn.complete({ outcome: 'cancelled', inputsConsumed: 0 })
        if (kind !== 'in') this.#turns.delete(turn)
        else this.entered.add(turn)
      },
      // Its node gives up: its lease ends.
      () => this.#die(turn),
    )
    this.#asking.add(asked.finally(() => this.#asking.delete(asked)))
    await this.#settle()
  }

  readonly entered = new Set<HandTurn>()

  /** Waits until all that ask have an answer, or wait for the test. */
  async #settle(): Promise<void> {
    for (let round = 0; round < 3; round++) await this.#places[0]?.redis.ping()
  }

  async #letEnter(): Promise<void> {
    const index = this.#random(Math.max(1, this.#guests.answers.length))
    this.#guests.answers.splice(index, 1)[0]?.()
    await this.#settle()
  }

  async #end(turn: HandTurn): Promise<void> {
    if (!this.#mayEnd(turn)) return
    this.#turns.delete(turn)
    await turn.complete()
    this.ended++
  }

  #mayEnd(turn: HandTurn): boolean {
    return turn.assignment.gates?.state === 'in' || this.entered.has(turn)
  }

  #placeOf(turn: HandTurn): Place {
    return this.#places[turn.node.turns.partition] as Place
  }

  async #die(turn: HandTurn): Promise<void> {
    if (!this.#turns.delete(turn)) return
    await this.#placeOf(turn).expireLease(turn.worker)
    await turn.node.sweep({ free: 0 })
  }

  async #cancel(turn: HandTurn): Promise<void> {
    this.#turns.delete(turn)
    const place = this.#placeOf(turn)
    await place.sessions.cancel(turn.assignment.sessionId, 'enough')
    await turn.complete({ outcome: 'cancelled', inputsConsumed: 0 })
    await this.#nodeOf(place).upkeep.finishCancelled()
  }

  /** `all`: every word that is to be sent at some time is sent now. */
  async #fire(place: Place, all: boolean): Promise<void> {
    const key = gatesKey(place.keys.tag)
    if (all) for (const entry of await place.redis.zrange(key, 0, '-1')) await place.redis.zadd(key, 'XX', 1, entry)
    await this.#nodeOf(place).upkeep.fire()
  }

  /** A word may come twice, or never. */
  async #tellOne(): Promise<void> {
    const { news } = this.#guests
    const index = this.#random(Math.max(1, news.length))
    const one = this.#random(3) === 0 ? news[index] : news.splice(index, 1)[0]
    if (one && this.#random(6) > 0) await this.#guests.now(one)
  }

  /** The runs that are in progress by their records, each under the name that its gate uses. */
  async #inProgress(gate: GateOrder): Promise<string[]> {
    const found: string[] = []
    for (const place of this.#places) {
      for (const key of await place.redis.keys(`${place.keys.tag}:w:*`)) {
        if ((await place.redis.type(key)) !== 'hash') continue
        const [text, kind] = await place.redis.hmget(key, 'gates', 'kind')
        const gates = decodeGates(text ?? '')
        if (gates?.state !== 'in' || gates[gate.sort] !== gate.id) continue
        const worker = key.slice(-36)
        const [, runs, rate, version] = (text ?? '').split(' ')
        found.push(version === undefined ? worker : `${kind} ${worker}:${version} ${runs} ${rate}`)
      }
    }
    return found
  }

  async check(): Promise<void> {
    const home = this.#places[0] as Place
    for (const gate of this.#gates.filter(({ sort }) => sort === 'runs')) {
      const counted = await home.redis.zrange(gateKeys(home.keys.tag, `echo:runs:${gate.id}`).in, 0, '-1')
      expectNoMore(gate, counted, await this.#inProgress(gate))
    }
  }

  /** Everybody begins and ends, and nothing is left at the gates. */
  async drain(): Promise<void> {
    this.#isCalm = true
    for (let round = 0; round < 400; round++) {
      while (this.#guests.answers.length > 0) await this.#letEnter()
      for (const turn of Array.from(this.#turns)) await this.#end(turn)
      for (const place of this.#places) {
        await this.#fire(place, true)
        for (const one of this.#guests.news.splice(0)) await this.#guests.now(one)
        await this.#claim(place)
      }
      if (round % 10 === 9 && (await this.#isOver())) return
    }
    expect.fail('somebody waits for ever, or something is left at a gate')
  }

  async #isOver(): Promise<boolean> {
    for (const place of this.#places) {
      const keys = await place.redis.keys(`${place.keys.tag}:gate:*`)
      const told = await place.redis.zrange(gatesKey(place.keys.tag), 0, '-1')
      // A rate is remembered for its time.
      if ([...keys, ...told].some((name) => !name.includes(':rate:'))) return false
      if ((await place.redis.zcard(place.keys.run('default'))) > 0) return false
    }
    return this.#turns.size === 0
  }
}
