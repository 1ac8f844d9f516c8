/**
 * People who steer sessions by chance: they create, send, pause, cancel, retry, copy, answer and take back, whatever the sessions do just now. What
 * they ask for may be refused with a sentence. Any other error, or a call that does not come back, is kept as a complaint.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Session } from '../../../src/client/session/session.ts'
import type { Worker } from '../../../src/client/worker.ts'
import { ConflictError, InputError, LimitError, NotFoundError } from '../../../src/core/errors.ts'
import { chanceAgents, chanceHandlers } from '../../programs/node/chance-kinds.ts'
import type { Random } from './fault-settings.ts'
import type { Harness } from './harness.ts'
import { type Act, acts } from './people-acts.ts'

/** How many sessions and workers people have in mind, and how often they choose one of the newest. */
const [sessionsMost, workersMost, newestPart] = [150, 400, 0.7]
const calledMsMax = 60_000
const refusals = [ConflictError, InputError, LimitError, NotFoundError]

export interface KnownWorker {
  readonly id: string
  readonly kind: string
}

/** A message that was acknowledged, by a text that no other has. */
export interface Said {
  readonly workerId: string
  readonly text: string
}

export class People {
  readonly harness: Harness
  readonly random: Random
  readonly said: Said[] = []
  readonly complaints = new Set<string>()
  readonly refusals = new Map<string, number>()
  /** Sessions that were created, each with the result of its first run for which somebody waits. */
  readonly awaited: { readonly session: Session; isSettled: boolean }[] = []
  /** Sessions of which somebody said that calls of unknown outcome are to run again. */
  readonly toRunAgain = new Set<string>()
  acted = 0
  #sessions: string[] = []
  #workers: KnownWorker[] = []
  #texts = 0

  constructor(harness: Harness, random: Random) {
    this.harness = harness
    this.random = random
  }

  /** So many people at once, until it is over. */
  async act(people: number, over: AbortSignal): Promise<number> {
    const one = async () => {
      while (!over.aborted) {
        const [name, act] = this.#next()
        await this.attempt(name, () => act(this))
        this.acted++
        await pause(this.below(40))
      }
    }
    await Promise.all(Array.from({ length: people }, one))
    return this.acted
  }

  /** Undefined if it was refused. */
  async attempt<T>(name: string, act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await returned(act(), calledMsMax)
    } catch (error) {
      if (refusals.some((refusal) => error instanceof refusal))
        this.refusals.set(name, (this.refusals.get(name) ?? 0) + 1)
      else this.complaints.add(`${name}: ${error instanceof Error ? error.stack : String(error)}`)
      return undefined
    }
  }

  below(most: number): number {
    return Math.floor(this.random() * most)
  }

  chance(part: number): boolean {
    return this.random() < part
  }

  one<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item
  }

  session(): Session {
    return this.harness.client.sessions.get(this.#oneOf(this.#sessions))
  }

  worker(): Worker & { readonly kind: string } {
    const { id, kind } = this.#oneOf(this.#workers)
    return Object.assign(this.harness.client.workers.get(id), { kind })
  }

  /** An input that fits the kind, with a text that no other input has. */
  input(kind: string): { readonly text: string; readonly value: unknown } {
    const text = `text-${++this.#texts}-`
    const to = this.#workers.length > 0 ? this.#oneOf(this.#workers).id : undefined
    if (chanceAgents.includes(kind)) return { text, value: `${text} ${to ?? ''}` }
    return { text, value: { text, n: this.below(10), ...(to !== undefined && { to }) } }
  }

  async create(): Promise<void> {
    const kind = this.one([...chanceAgents, ...chanceHandlers])
    const asked = this.one([
      {},
      {},
      {},
      { approval: 'auto' },
      { approval: 'readOnly' },
      { whenNobodyAnswers: 'deny', approvalMs: 500 },
      { whenNobodyAnswers: 'fail', approvalMs: 500 },
    ] as const)
    const { text, value } = this.input(kind)
    const session = await this.harness.client.sessions.create({
      kind,
      input: value,
      keepOpen: this.chance(0.6),
      ...asked,
      ...(this.chance(0.2) && { limits: { modelCalls: 5 + this.below(30) } }),
    })
    this.said.push({ workerId: session.rootId, text })
    this.know(session, kind)
    this.#await(session)
  }

  #await(session: Session): void {
    const awaited = { session, isSettled: false }
    this.awaited.push(awaited)
    const settle = () => {
      awaited.isSettled = true
    }
    session.result({ run: 1 }).then(settle, settle)
  }

  know(session: Session, kind: string): void {
    this.#sessions = [...this.#sessions, session.id].slice(-sessionsMost)
    this.#learn([{ id: session.rootId, kind }])
  }

  /** Learns the workers of a session. */
  async look(): Promise<void> {
    if (this.#sessions.length > 0) this.#learn((await this.session().report()).workers)
  }

  #learn(workers: readonly KnownWorker[]): void {
    const isKnown = new Set(this.#workers.map(({ id }) => id))
    const more = workers.filter(({ id }) => !isKnown.has(id)).map(({ id, kind }) => ({ id, kind }))
    this.#workers = [...this.#workers, ...more].slice(-workersMost)
  }

  #oneOf<Item>(items: readonly Item[]): Item {
    return this.one(this.chance(newestPart) ? items.slice(-25) : items)
  }

  #next(): readonly [name: string, act: Act] {
    if (this.#sessions.length < 5 || this.chance(0.15)) return ['create', (people) => people.create()]
    let left = this.random() * acts.reduce((sum, { often }) => sum + often, 0)
    for (const { name, often, act } of acts) {
      left -= often
      if (left <= 0) return [name, act]
    }
    return [acts[0].name, acts[0].act]
  }
}

async function returned<T>(call: Promise<T>, ms: number): Promise<T> {
  const stop = new AbortController()
  const late = pause(ms, undefined, { signal: stop.signal, ref: false }).then(() => {
    throw new Error(`did not come back within ${ms} ms`)
  })
  late.catch(() => {})
  return Promise.race([call, late]).finally(() => stop.abort())
}
