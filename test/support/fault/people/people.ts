/**
 * People who steer sessions by chance: they create, send, pause, cancel, retry, copy, answer and take back, whatever the sessions do just now. What
 * they ask for may be refused with a sentence. Any other error, or a call that does not come back, is kept as a complaint.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Troupe } from '../../../../src/client/client.ts'
import type { Session } from '../../../../src/client/session/session.ts'
import type { CreateSession } from '../../../../src/client/submission/submission.ts'
import type { Worker } from '../../../../src/client/worker.ts'
import { ConflictError, InputError, LimitError, NotFoundError } from '../../../../src/core/errors.ts'
import type { RunResult } from '../../../../src/core/history/entry.ts'
import { chanceAgents, chanceHandlers, picture } from '../../../programs/node/chance-tools.ts'
import type { Random } from '../fault-settings.ts'
import { Follower } from '../follower/follower.ts'
import { unlessPruned } from '../unless-pruned.ts'
import { type Act, acts } from './people-acts.ts'
import type { PeopleEndpoints } from './people-endpoints.ts'

/** How many sessions and workers people have in mind, and how often they choose one of the newest. */
const [sessionsMost, workersMost, newestPart] = [150, 400, 0.7]
const calledMsMax = 60_000
/** The queue of BullMQ into which results go. */
export const results = { queue: 'results', prefix: 'told' }
const refusals = [ConflictError, InputError, LimitError, NotFoundError]
/** Nothing that people do is a reason to refuse a new session. */
const neverRefused: ReadonlySet<string> = new Set(['create', 'create under a key', 'create one of many'])

export interface KnownWorker {
  readonly id: string
  readonly kind: string
}

/** A message that was acknowledged, by a text that no other has. */
export interface Said {
  readonly workerId: string
  readonly text: string
}

/** A session that somebody waits for. */
export interface Awaited {
  readonly session: Session
  /** The result of its first run; null if the session was pruned before. */
  result: RunResult | null | undefined
  /** How often its callback for the end of that run was called. */
  ends: number
}

/** An order that was given under a key, and what came of it. */
export interface Keyed {
  readonly again: () => Promise<string>
  readonly answer: string
}

export class People {
  /** It may lose its way to Redis. */
  readonly client: Troupe
  readonly random: Random
  readonly endpoints: PeopleEndpoints
  readonly said: Said[] = []
  readonly complaints = new Set<string>()
  readonly refusals = new Map<string, number>()
  readonly awaited: Awaited[] = []
  readonly followers: Follower[] = []
  /** Sessions whose end is told to the queue `results`. */
  readonly toBeTold: string[] = []
  readonly keyed: Keyed[] = []
  /** Sessions that somebody closed. */
  readonly closed = new Set<string>()
  /** Sessions of which somebody said that calls of unknown outcome are to run again. */
  readonly toRunAgain = new Set<string>()
  #sessions: string[] = []
  #workers: KnownWorker[] = []
  #texts = 0

  constructor(client: Troupe, endpoints: PeopleEndpoints, random: Random) {
    this.client = client
    this.endpoints = endpoints
    this.random = random
  }

  /** Lets this many people act at once until it is over, and returns how often they acted. */
  async act(people: number, over: AbortSignal): Promise<number> {
    let acted = 0
    const one = async () => {
      while (!over.aborted) {
        const [name, act] = this.#next()
        await this.attempt(name, () => act(this))
        acted++
        await pause(this.below(40))
      }
    }
    await Promise.all(Array.from({ length: people }, one))
    return acted
  }

  /** Undefined if it was refused. */
  async attempt<T>(name: string, act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await returned(act(), calledMsMax)
    } catch (error) {
      this.noteFailure(name, error)
      return undefined
    }
  }

  /** What a call threw is a refusal, or a complaint. */
  noteFailure(name: string, error: unknown): void {
    if (!neverRefused.has(name) && refusals.some((refusal) => error instanceof refusal))
      this.refusals.set(name, (this.refusals.get(name) ?? 0) + 1)
    else this.complaints.add(`${name}: ${error instanceof Error ? error.stack : String(error)}`)
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
    return this.client.sessions.get(this.#oneOf(this.#sessions))
  }

  worker(): Worker & { readonly kind: string } {
    const { id, kind } = this.#oneOf(this.#workers)
    return Object.assign(this.client.workers.get(id), { kind })
  }

  /** An input that fits the kind, with a text that no other input has. */
  input(kind: string): { readonly text: string; readonly value: unknown } {
    const text = `text-${++this.#texts}-`
    const to = this.#workers.length > 0 ? this.#oneOf(this.#workers).id : undefined
    if (!chanceAgents.includes(kind))
      return { text, value: { text, n: this.below(10), ...(to !== undefined && { to }) } }
    const said = `${text} ${to ?? ''}`
    if (this.chance(0.9)) return { text, value: said }
    // The larger ones are kept beside the message.
    const data = picture(this.one([0, 20_000, 800_000]))
    return {
      text,
      value: [
        { type: 'text', text: said },
        { type: 'image', mediaType: 'image/png', data },
      ],
    }
  }

  async create(): Promise<void> {
    const { text, order } = this.order()
    this.begun(await this.client.sessions.create(order), order, text)
  }

  /** What somebody asks for who creates a session. */
  order(): { readonly text: string; readonly order: CreateSession } {
    const kind = this.one([...chanceAgents, ...chanceHandlers])
    const { text, value } = this.input(kind)
    const order = {
      kind,
      input: value,
      keepOpen: this.chance(0.6),
      ...this.one<Partial<CreateSession>>([
        {},
        {},
        {},
        { approval: 'auto' },
        { approval: 'readOnly' },
        { whenNobodyAnswers: 'deny', approvalMs: 500 },
        { whenNobodyAnswers: 'fail', approvalMs: 500 },
        { whenNobodyAnswers: 'deny' },
      ]),
      ...this.one<Partial<CreateSession>>([
        {},
        {},
        { limits: { modelCalls: 5 + this.below(30) } },
        { limits: { mailbox: 2, children: 1 } },
        { limits: { workers: 4, depth: 1, toolCalls: 8 } },
        { limits: { tokens: 20_000 } },
      ]),
      ...this.one<Partial<CreateSession>>([
        {},
        {},
        {},
        { permissions: { tools: ['look', 'put'], send: 'family' } },
        { permissions: { kinds: ['chain', 'clerk'], send: 'none' } },
      ]),
      ...(this.chance(0.3) && { weight: 1 + this.below(9), priority: this.below(10) }),
      ...(this.chance(0.3) && { notify: results }),
    }
    return { text, order }
  }

  /** Takes note of a session that was created. */
  begun(session: Session, { kind, notify }: CreateSession, text: string): void {
    this.said.push({ workerId: session.rootId, text })
    if (notify !== undefined) this.toBeTold.push(session.id)
    this.know(session, kind)
    this.#await(session)
    if (this.chance(0.1)) this.followers.push(new Follower(session, this.random))
  }

  #await(session: Session): void {
    const awaited: Awaited = { session, result: undefined, ends: 0 }
    this.awaited.push(awaited)
    session.run(1).onEnd('counts', () => {
      awaited.ends++
    })
    unlessPruned(session.result({ run: 1 })).then(
      (result) => {
        awaited.result = result
      },
      (error: unknown) => {
        awaited.result = null
        this.complaints.add(`result: ${String(error)}`)
      },
    )
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
