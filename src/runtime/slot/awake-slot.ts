/**
 * Duty: a slot that is awake: it runs turn after turn, of the workers that it claims from the line of its bell (a pool of a partition).
 * N1 It claims until there is nothing left, its bell job has lasted its bound, or the node drains. Where a bell of another line found no
 *    slot, the bound is short, and the slot that ends goes there, first to the line that had none for longest: no line starves the others.
 *    Then it comes back: the bell that is rung for what it left may come to a node that is full.
 * N2 The nonce of a claim is random and not used again, but by a slot that was never answered: what Redis gave it meanwhile it is
 *    given again, instead of keeping a lease that nobody knows of.
 */
import { performance } from 'node:perf_hooks'
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import type { Policy } from '../../core/policy.ts'
import type { Bell, ClaimAnswer, Grant, NextClaim, SpawnOrder } from '../../core/ports/ports.ts'
import type { Kind } from '../node/kind.ts'
import { nonceOf, type Partition } from '../node/partition.ts'
import type { Step } from '../turn/step.ts'
import { Turn } from '../turn/turn.ts'
import type { EndingTurn, SlotEnd, TurnHost } from '../turn/turn-host.ts'
import { EagerChildren, offerFor } from './eager-children.ts'
import { warnOfSuspect } from './quarantine.ts'
import type { Rung, Slots } from './slots.ts'
import type { SuspectGate } from './suspects.ts'

/** What a slot needs of its node. */
export interface SlotHost {
  readonly policy: Policy
  readonly log: WorkerLog
  readonly kinds: ReadonlyMap<string, Kind>
  readonly slots: Slots
  readonly suspects: SuspectGate
  isDraining(): boolean
  turnHost(place: Partition, bell: string, next: TurnHost['next']): TurnHost
}

const staying: SlotEnd = { next: 'stay' }
const leaving: SlotEnd = { next: null }

export class AwakeSlot {
  readonly #node: SlotHost
  readonly #place: Partition
  readonly #slot: number
  readonly #bell: Bell
  readonly #rung: Rung
  readonly #wokenAt = performance.now()
  readonly #host: TurnHost
  /** The bell is among the busy ones, as far as Redis was told: the next claim that is answered, or leaving, takes it out. */
  #isBusy = false
  #bellSetAt = Number.NEGATIVE_INFINITY
  #children: EagerChildren | undefined
  /** The last turn that ended asked for nothing, so the slot has to claim by itself. */
  #stays = false

  constructor(node: SlotHost, place: Partition, slot: number, bell: Bell) {
    this.#node = node
    this.#place = place
    this.#slot = slot
    this.#bell = bell
    this.#rung = { partition: place.turns.partition, bell }
    this.#host = node.turnHost(place, bell.id, (turn, step) => this.#next(turn, step))
  }

  /** Until it has nothing left to run. Calls `onFirstClaim` once: did the first claim find only work that this node cannot run? */
  async run(onFirstClaim: (isUnfit: boolean) => void): Promise<'done' | 'unfit'> {
    // A claim that fails is not tried again here: the bell goes stale, and a sweep of a node that reaches Redis puts a new one.
    let answer = await this.#claim()
    onFirstClaim(answer.kind === 'unfit')
    while (answer.kind === 'grant') {
      const turn = this.#turnOf(answer.grant)
      await this.#runTurn(turn)
      answer = turn.granted.length > 0 ? await this.#runChildren(turn) : await this.#after(turn)
    }
    return answer.kind === 'unfit' ? 'unfit' : 'done'
  }

  #turnOf(grant: Grant): Turn {
    if (!grant.suspect) this.#node.suspects.giveBack(this.#slot)
    const turn = new Turn(grant, this.#host)
    // A grant that was asked for before the drain began is given back at its first step.
    turn.draining = this.#node.isDraining()
    return turn
  }

  /** What is next: claimed with the end of this turn, or now where that did not claim, or was not answered. */
  async #after({ claimed, over }: Turn): Promise<ClaimAnswer> {
    if (claimed.kind !== 'none') {
      this.#place.unanswered[this.#slot] = undefined
      this.#isBusy = false
      return claimed
    }
    if (over === 'ended' && !this.#stays) return claimed
    return this.#node.isDraining() ? claimed : this.#claim()
  }

  /**
   * Those that this turn spawned. The last of them claims for the slot. Where it is not certain that the slot holds them, or that they may
   * run (the turn was given up before its commit was answered: Redis is silent, or a cancel came), they are given back.
   */
  async #runChildren(turn: Turn): Promise<ClaimAnswer> {
    const areToBegin = turn.over === 'ended'
    const passOn = areToBegin ? await this.#place.relay.enter() : undefined
    this.#children = new EagerChildren(turn.granted, {
      longMs: this.#node.policy.eagerChildrenMs,
      passOn,
      make: (grant) => this.#turnOf(grant),
      run: (child) => this.#runTurn(child),
    })
    const last = await this.#children.run({ areToBegin })
    this.#children = undefined
    return this.#after(last)
  }

  async #runTurn(turn: Turn): Promise<void> {
    const { kinds, log, suspects } = this.#node
    const { grant } = turn
    const kind = kinds.get(grant.kind) as Kind
    this.#place.renewer.add(turn)
    warnOfSuspect(grant, log)
    try {
      const behaving = kind.behaviour(turn).catch((error: unknown) => turn.giveUp(error))
      // A handler that ignores its signal must not hold the slot: the turn being over is enough.
      const over = await turn.finished
      if (over === 'ended') {
        // Cancelled: its end was committed without asking the behaviour.
        if (turn.aborted) await suspects.outlastIfDeaf(behaving)
        return
      }
      const what = 'a turn was given up, as its lease is not certain any more; the worker goes on elsewhere'
      log.warn(what, { worker: grant.workerId, kind: grant.kind, why: over })
      suspects.outlast(behaving)
    } finally {
      this.#place.renewer.remove(turn)
      if (turn.bellIsBusy) this.#isBusy = true
      // One that was given back says nothing of how long turns are.
      const busyMs = performance.now() - turn.startedAt - turn.committingMs
      if (!turn.draining && this.#place.pace.note(grant.pool, busyMs)) this.#place.sweeper.dueIn(0)
    }
  }

  /** A turn is about to end. */
  #next(turn: EndingTurn, { spawns, outcome }: Step): SlotEnd {
    const children = this.#children
    // Whichever turn says next that the slot claims or leaves says for all of them that the bell is busy.
    turn.bellIsBusy ||= this.#isBusy || children?.isAnyBusy === true
    this.#stays =
      children !== undefined && !(children.isLast(turn) && (children.areAllBegun || this.#node.isDraining()))
    children?.noteEnding(turn)
    if (this.#stays) {
      // No other turn of this slot may come to say that it leaves: one that drains says so with each.
      return this.#node.isDraining() ? leaving : staying
    }
    if (this.#isLast()) return leaving
    // Those of a run that ends with them are cancelled as they are born.
    const offer = spawns.length > 0 && outcome === undefined && !turn.bellIsBusy ? this.#offerFor(spawns) : undefined
    this.#stays = offer !== undefined
    return offer ? { next: 'stay', offer } : { next: this.#nextClaim(turn.bellIsBusy, turn.aborted) }
  }

  /** Children of a turn that was claimed from the line, where turns are short: their own children stand in line. */
  #offerFor(spawns: readonly SpawnOrder[]): SlotEnd['offer'] {
    const { pool } = this.#bell
    const share = this.#place.pace.expectedShare(pool)
    if (this.#children !== undefined || share === 1) return undefined
    return offerFor(spawns, this.#slot, { kinds: this.#node.kinds, pool, share })
  }

  #isLast(): boolean {
    const { policy, slots } = this.#node
    const forMs = performance.now() - this.#wokenAt
    const isOver = forMs > policy.bellJobMs
    if (this.#node.isDraining()) return true
    if (forMs <= policy.bellMs && !isOver) return false
    if (slots.waitingElsewhere(this.#rung) === undefined) return isOver
    slots.leave(this.#rung)
    return true
  }

  #nextClaim(wasBusy: boolean, isAborted = false): NextClaim {
    return {
      pool: this.#bell.pool,
      bell: this.#bell.id,
      slot: String(this.#slot),
      nonce: nonceOf(this.#place, this.#slot),
      // Whether code goes on though it was told to stop is known only when its turn is over.
      maySuspect: !isAborted && this.#node.suspects.ask(this.#slot),
      wasBusy,
      keepBell: this.#keepsBell(wasBusy),
    }
  }

  /** The bell was set when it was rung; it is set anew when it left the awake ones or would soon be stale. */
  #keepsBell(wasBusy: boolean): boolean {
    const now = performance.now()
    if (!wasBusy && now - this.#bellSetAt < this.#node.policy.bellMs / 4) return false
    this.#bellSetAt = now
    return true
  }

  async #claim(): Promise<ClaimAnswer> {
    const { unanswered, turns } = this.#place
    const isAgain = unanswered[this.#slot] !== undefined
    const answer = await turns.claim(this.#nextClaim(this.#isBusy))
    this.#isBusy = false
    // It may have been granted long ago: then its lease is older than this question.
    const grant = isAgain && answer.kind === 'grant' ? await this.#renewed(answer.grant) : null
    unanswered[this.#slot] = undefined
    if (!isAgain) return answer
    return grant ? { kind: 'grant', grant } : this.#claim()
  }

  async #renewed(grant: Grant): Promise<Grant | null> {
    const { workerId, token } = grant
    const turn = { workerId, token, bell: this.#bell.id, becomesBusy: false }
    const { verdicts, trustedUntil } = await this.#place.turns.renew([turn])
    return verdicts[0] === 'fenced' ? null : { ...grant, trustedUntil }
  }
}
