/**
 * Workers, nodes and clients that do whatever they are told, in any order, on a real Redis: posts, claims, commits, leases that
 * end, sweeps, and duplicates of any script that was ever sent. After each step `check` compares all records with what was
 * accepted. A worker's history says what it consumed, as `got:<text>` and `result:<child>`.
 */
import assert from 'node:assert/strict'
import type { CommitAnswer } from '../../../src/core/ports/ports.ts'
import { decodeMessage, encodeResult } from '../../../src/core/worker/message/message.ts'
import { type CommitWish, completion, HandTurn } from './hand-node.ts'
import type { Place } from './place.ts'
import type { Sent } from './wire.ts'

/** What a step does, and a number to choose with. */
export interface Move {
  readonly kind: 'post' | 'claim' | 'step' | 'finish' | 'chain' | 'again' | 'spawn' | 'expire' | 'sweep' | 'duplicate'
  readonly pick: number
}

interface Actor {
  readonly id: string
  readonly posted: string[]
  commits: number
  entries: number
  readonly children: string[]
}

/** A turn that some node believes to hold; `used` inputs of its assignment are consumed. */
interface Held {
  readonly turn: HandTurn
  used: number
  /** The run that was open at the claim has ended in this turn. */
  closed: boolean
  lost: boolean
}

const sentMax = 40

export class Simulation {
  readonly #place: Place
  readonly #actors = new Map<string, Actor>()
  readonly #sent: Sent[] = []
  #held: Held[] = []
  #texts = 0

  private constructor(place: Place) {
    this.#place = place
  }

  static async start(place: Place, sessions: number): Promise<Simulation> {
    const simulation = new Simulation(place)
    for (let number = 0; number < sessions; number++) {
      const { root } = await place.create({ label: `s${number}`, mode: 'conversation' })
      simulation.#actors.set(root, { id: root, posted: ['first'], commits: 0, entries: 0, children: [] })
    }
    return simulation
  }

  async move({ kind, pick }: Move): Promise<void> {
    switch (kind) {
      case 'post':
        return this.#post(pick)
      case 'claim':
        return this.#claim(pick)
      case 'expire':
        return this.#expire(pick)
      case 'sweep':
        await this.#node(pick).sweep({ free: pick % 3 })
        return this.#note()
      case 'duplicate':
        await this.#place.wire.again(this.#sent[pick % Math.max(1, this.#sent.length)] ?? this.#place.wire.last)
        return
      default:
        return this.#advance(kind, pick)
    }
  }

  #node(pick: number) {
    return this.#place.node({ id: `node-${pick % 2}` })
  }

  #note(): void {
    this.#sent.push(this.#place.wire.last)
    if (this.#sent.length > sentMax) this.#sent.shift()
  }

  async #post(pick: number): Promise<void> {
    const actors = [...this.#actors.values()]
    const actor = actors[pick % actors.length] as Actor
    const text = `m${this.#texts++}`
    const answer = await this.#place.post(actor.id, text)
    assert.partialDeepStrictEqual(answer, { kind: 'ok', position: actor.posted.length })
    actor.posted.push(text)
    this.#note()
  }

  async #claim(pick: number): Promise<void> {
    const node = this.#node(pick)
    const answer = await node.ask({ slot: String(pick % 5) })
    this.#note()
    if (answer.kind === 'assigned')
      this.#held.push({ turn: new HandTurn(node, answer.assignment), used: 0, closed: false, lost: false })
  }

  /** The lease of a worker ends, and a sweep takes it away: who held it becomes a zombie. */
  async #expire(pick: number): Promise<void> {
    const held = this.#held[pick % Math.max(1, this.#held.length)]
    if (held === undefined) return
    if (!held.lost) await this.#place.expireLease(held.turn.worker)
    await this.#node(pick).sweep({ free: 0 })
    this.#note()
    held.lost = true
  }

  async #advance(kind: 'step' | 'finish' | 'chain' | 'again' | 'spawn', pick: number): Promise<void> {
    const held = this.#held[pick % Math.max(1, this.#held.length)]
    if (held === undefined) return
    const { turn } = held
    const actor = this.#actors.get(turn.worker) as Actor
    const next = kind === 'chain' ? turn.node.next({ slot: `c${pick % 5}` }) : null
    const wish = this.#wish(kind, held, actor, pick)
    const ends = kind !== 'step'
    const commit = ends ? { ...wish, end: { ...(wish.end ?? { wait: 'any' }), next } } : { ...wish, end: undefined }
    const answer = await turn.commit(commit)
    this.#note()
    if (ends) this.#held = this.#held.filter((other) => other !== held)
    this.#accept(answer, held, actor, commit)
  }

  #accept(answer: CommitAnswer, held: Held, actor: Actor, commit: CommitWish): void {
    if (held.lost) {
      assert.equal(answer.kind, 'fenced')
      return
    }
    assert.equal(answer.kind, 'ok')
    assert.equal(answer.version, actor.commits + 1)
    actor.commits++
    actor.entries += commit.entries?.length ?? 0
    held.used += commit.inputsConsumed ?? 0
    held.closed ||= commit.resultsConsumed !== undefined
    for (const spawn of commit.spawns ?? []) {
      actor.children.push(spawn.id)
      const input = String(decodeMessage(spawn.mail, 'inbox-0').value)
      this.#actors.set(spawn.id, { id: spawn.id, posted: [input], commits: 0, entries: 0, children: [] })
    }
    if (answer.kind === 'ok' && answer.claimed.kind === 'assigned')
      this.#held.push({
        turn: new HandTurn(held.turn.node, answer.claimed.assignment),
        used: 0,
        closed: false,
        lost: false,
      })
  }

  /** What the turn commits next. */
  #wish(kind: 'step' | 'finish' | 'chain' | 'again' | 'spawn', held: Held, actor: Actor, pick: number): CommitWish {
    const { assignment } = held.turn
    const idle = { open: false, runState: 'Idle' } as const
    if (held.closed) return idle
    if (assignment.open) {
      const mail = assignment.mail.results[0]
      if (mail === undefined || mail.message.kind !== 'result') throw new Error('A parent was woken without a result.')
      const entries = [`result:${mail.message.from}`]
      return { ...completion, entries, resultsConsumed: [mail.position], ...this.#resultOf(held) }
    }
    const left = assignment.mail.inbox.slice(held.used)
    const taken = kind === 'spawn' ? left.slice(0, 1) : left.slice(0, 1 + (pick % 3))
    const consumed = { entries: taken.map((mail) => `got:${String(mail.message.value)}`), inputsConsumed: taken.length }
    if (taken.length === 0) return idle
    const ending = { ...completion, ...consumed, ...this.#resultOf(held) }
    if (kind === 'again') return { ...ending, end: { wait: 'again', next: null } }
    if (kind !== 'spawn' || held.used > 0) return ending
    const call = assignment.calls + 1
    const child = this.#place.child(actor.id, call, `${actor.id}/${assignment.run}/${call}`, {
      run: assignment.run,
      name: 'child',
    })
    return { ...consumed, spawns: [child], pendingCalls: [call], end: { wait: `result:${child.id}`, next: null } }
  }

  /** The parent is told of the end of a child's first run. */
  #resultOf({ turn: { assignment }, used }: Held): CommitWish {
    if (assignment.call === null || used > 0) return {}
    const child = { id: assignment.workerId, name: assignment.name, kind: assignment.kind }
    return { result: encodeResult(child, assignment.call, { status: 'completed', valueJson: 'null' }) }
  }

  /** I1–I5, I7, I8 over every worker. */
  async check(): Promise<void> {
    const { redis, keys } = this.#place
    const line = await redis.zrange(keys.run('default'), 0, '-1')
    const leases = await redis.zrange(keys.leases, 0, '-1')
    for (const actor of this.#actors.values()) {
      const own = this.#place.workerKeys(actor.id)
      const [view, log, inbox, waitingResults] = await Promise.all([
        this.#place.record(actor.id),
        redis.lrange(own.log, 0, -1),
        redis.lrange(own.inbox, 0, -1),
        redis.lrange(own.results, 0, -1),
      ])
      const place = { queued: line.includes(actor.id), running: leases.includes(actor.id), held: view.holder !== '' }
      const stands = view.status as string
      const expected = { queued: stands === 'queued', running: stands === 'running', held: stands === 'running' }
      assert.deepEqual({ stands, ...place }, { stands, ...expected }, `I7 of ${actor.id}`)
      assert.equal(Number(view.version), actor.commits, `I4 of ${actor.id}`)
      assert.equal(log.length, actor.entries, `I4 of ${actor.id}`)
      const got = log.filter((entry) => entry.startsWith('got:')).map((entry) => entry.slice(4))
      const waiting = inbox.map((mail, index) => String(decodeMessage(mail, String(index)).value))
      assert.deepEqual([...got, ...waiting], actor.posted, `I1, I2, I3 of ${actor.id}`)
      const received = log.filter((entry) => entry.startsWith('result:')).map((entry) => entry.slice(7))
      const results = [...received, ...waitingResults.filter(Boolean).map((mail) => mail.slice(2, 38))]
      assert.equal(new Set(results).size, results.length, `I8 of ${actor.id}`)
      for (const child of actor.children) {
        const isOver = Number((await this.#place.record(child)).run) > 1
        assert.equal(results.includes(child), isOver, `I8 of ${actor.id}`)
      }
    }
  }

  /**
   * Lets everything end: all leases end once more, also one that a late duplicate of an unanswered claim may hold for nobody; from
   * then on every turn takes all that it was given.
   */
  async drain(): Promise<void> {
    for (const worker of await this.#place.redis.zrange(this.#place.keys.leases, 0, '-1'))
      await this.#place.expireLease(worker)
    await this.#place.node().sweep({ free: 0 })
    this.#held = []
    for (let turns = 0; turns < 2_000; turns++) {
      if (this.#held.length === 0) await this.#claim(0)
      if (this.#held.length === 0) return
      await this.#advance('finish', 2)
    }
    throw new Error('The workers did not come to rest.')
  }

  /** At rest nothing waits, nothing is queued, leased or parked, and all that was accepted was consumed. */
  async expectRest(): Promise<void> {
    const dump = await this.#place.dump()
    const left = Object.keys(dump).filter((key) => /^(run:|leases$|timers$)|:mail:/.test(key))
    assert.deepEqual(left, [])
    const workers = Object.entries(dump).filter(([key]) => /^w:(<[^>]*>|[0-9a-f-]{36})$/.test(key))
    const restless = workers.filter(([, view]) => (view as { status: string }).status !== 'idle')
    assert.deepEqual(restless, [])
  }
}
