/**
 * Duty: a slot that is awake: it runs turn after turn, of the workers that it claims from one run queue (of a pool in a partition).
 * Owns: what the slot does next, which each turn's ending commit carries out (SlotPlan). Does not own: the turns, the children that the
 * slot runs itself (inline-children.ts), which slots are free (slots.ts).
 * SLOT-1 The slot claims until the run queue is empty, its time is over, or the node drains. If a wake-up of another run queue found no free slot
 *    here, the slot goes to the queue that has been without a slot for longest. It goes with the end of its turn, but stays in its queue for 20 ms at
 *    least: no queue waits for longer than about a turn of another. Later the slot returns to the queue that it left: the wake-up for the rest of
 *    that queue may have reached a node that is full.
 * SLOT-2 A worker that was handed out for a repeated claim (NONCE-2) runs only if its lease can be renewed: it may be old.
 * SLOT-3 If a turn of the slot lasted, its wake-up is among the busy ones. The next claim that is answered, or leaving, takes it out.
 */
import { performance } from 'node:perf_hooks'
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import type { Policy } from '../../core/policy.ts'
import type { Assignment, ClaimAnswer, CommitAnswer, NextClaim } from '../../core/ports/ports.ts'
import type { Wakeup } from '../../core/ports/wake.ts'
import { commonPermissions, type Permissions } from '../../core/worker/permissions.ts'
import type { Kind } from '../node/kind.ts'
import type { Partition } from '../node/partition.ts'
import { warnOfSuspect } from '../turn/quarantine.ts'
import type { Step } from '../turn/step/step.ts'
import { Turn } from '../turn/turn.ts'
import type { EndingTurn, SlotPlan, TurnHost } from '../turn/turn-host.ts'
import { runUserCode } from '../user-code/user-code.ts'
import { type ChildOffer, childrenOf, InlineChildren, offerOf } from './inline-children.ts'
import type { RunQueue, Slots } from './slots.ts'
import type { Suspects } from './suspects.ts'

/** What a slot needs of its node. */
export interface SlotHost {
  readonly policy: Policy
  /** The permissions that no session may go beyond on this node. */
  readonly permissions: Permissions | null
  readonly log: WorkerLog
  readonly kinds: ReadonlyMap<string, Kind>
  readonly slots: Slots
  readonly suspects: Suspects
  isDraining(): boolean
  turnHost(partition: Partition, wakeup: string, slot: Pick<TurnHost, 'plan' | 'noteBusy'>): TurnHost
}

const none: readonly never[] = []
/** How long a slot stays in a run queue at least, though another queue waits for a slot: going there costs a claim of its own, and leaving costs a script. */
const leastStayMs = 20
const nothing: ClaimAnswer = { kind: 'none' }

export class AwakeSlot {
  readonly #node: SlotHost
  readonly #partition: Partition
  readonly #slot: number
  readonly #wakeup: Wakeup
  readonly #queue: RunQueue
  readonly #wokenAt = performance.now()
  readonly #host: TurnHost
  /** True if Redis was told that the wake-up is busy (SLOT-3). */
  #isBusy = false
  #wakeupSetAt = Number.NEGATIVE_INFINITY
  /** The last plan claimed nothing and the slot does not leave: it has to claim by itself. */
  #mustClaim = false
  /** The children that the last plan offered to the slot. */
  #offer: ChildOffer | undefined
  #children: InlineChildren | undefined

  constructor(node: SlotHost, partition: Partition, slot: number, wakeup: Wakeup) {
    this.#node = node
    this.#partition = partition
    this.#slot = slot
    this.#wakeup = wakeup
    this.#queue = { partition: partition.turns.partition, wakeup }
    this.#host = node.turnHost(partition, wakeup.id, {
      plan: (turn, step) => this.#plan(turn, step),
      noteBusy: () => {
        this.#isBusy = true
      },
    })
  }

  /** Runs turns until the slot has nothing left to run. Calls `onFirstClaim` once: did the first claim find only work that this node cannot run? */
  async run(onFirstClaim: (isUnfit: boolean) => void): Promise<'done' | 'unfit'> {
    // A claim that fails is not repeated here: the wake-up goes stale, and a sweep of a node that reaches Redis sends a new one.
    let answer = this.#mayClaim ? await this.#claim() : nothing
    onFirstClaim(answer.kind === 'unfit')
    while (answer.kind === 'assigned') {
      const turn = this.#turnOf(answer.assignment)
      await this.#runTurn(turn)
      const children = this.#takeChildren(turn)
      answer = await this.#after(children.length > 0 ? await this.#runChildren(turn, children) : turn)
    }
    return answer.kind === 'unfit' ? 'unfit' : 'done'
  }

  #turnOf(claimed: Assignment): Turn {
    const assignment = withinCeiling(claimed, this.#node.permissions)
    if (!assignment.suspect) this.#node.suspects.release(this.#slot)
    const turn = new Turn(assignment, this.#host)
    // A worker that was claimed before the drain or the pause began is released at its first step.
    if (this.#node.isDraining()) turn.drain()
    if (this.#partition.isPaused) turn.pausing.begin()
    return turn
  }

  async #runTurn(turn: Turn): Promise<void> {
    const { kinds, log, suspects } = this.#node
    const { renewer, times, sweeper } = this.#partition
    const { assignment } = turn
    const kind = kinds.get(assignment.kind) as Kind
    const isReleased = turn.isDraining
    const renewal = renewer.add(turn)
    warnOfSuspect(assignment, log)
    try {
      const what = kind.isHandler ? 'receive' : 'a turn'
      const behaving = runUserCode(assignment, what, () => kind.behaviour(turn)).catch((error: unknown) =>
        turn.giveUp(error),
      )
      // A handler that ignores its signal must not hold the slot: it is enough that the turn is over.
      const over = await turn.finished
      if (over === 'ended' || over === 'waits') {
        // A cancel ends a turn without asking its behaviour.
        if (turn.aborted) await suspects.noteOverrunIfDeaf(behaving)
        return
      }
      const abandoned =
        'a turn was given up, because its lease is no longer certain; another node goes on with the worker'
      log.warn(abandoned, { worker: assignment.workerId, kind: assignment.kind, why: over })
      suspects.noteOverrun(behaving)
    } finally {
      renewer.remove(renewal)
      // A turn that was released does not show how long turns are.
      if (!isReleased && !this.#node.isDraining() && times.note(assignment.pool, turn.busyMs)) sweeper.tellOfSlots()
    }
  }

  // Decisions about what the slot does next.

  get #mayClaim(): boolean {
    return !this.#node.isDraining() && !this.#partition.isPaused
  }

  /** Plans what the slot does after a turn that is about to end. */
  #plan(turn: EndingTurn, step: Step): SlotPlan {
    const mayClaim = this.#mayClaim
    const children = this.#children
    children?.noteEnding(turn)
    // The last child speaks for the slot, unless a released one may end after it.
    this.#mustClaim = children !== undefined && !(children.isLast(turn) && (children.areAllBegun || !mayClaim))
    this.#offer = undefined
    if (!mayClaim || (!this.#mustClaim && this.#isOver())) return { kind: 'leave', wasBusy: this.#isBusy }
    if (this.#mustClaim) return { kind: 'stay' }
    this.#offer = this.#offerOf(turn, step)
    this.#mustClaim = this.#offer !== undefined
    if (this.#offer) return { kind: 'stay', children: this.#offer.offer }
    return { kind: 'claim', claim: this.#nextClaim(turn.aborted) }
  }

  /** Takes what the plan has brought. Claims now if the plan did not, if its commit was not answered, or if the answer leaves the claim to the slot. */
  async #after({ endAnswer, over }: Turn): Promise<ClaimAnswer> {
    const claimed = claimedWith(endAnswer)
    if (claimed.kind !== 'none' && claimed.kind !== 'later') {
      this.#partition.nonces.noteAnswer(this.#slot)
      this.#isBusy = false
      return claimed
    }
    if (claimed.kind === 'none' && over === 'ended' && !this.#mustClaim) return claimed
    return this.#mayClaim ? this.#claim() : nothing
  }

  /** True if the slot leaves its run queue (SLOT-1). */
  #isOver(): boolean {
    const { policy, slots } = this.#node
    const forMs = performance.now() - this.#wokenAt
    const isOver = forMs > policy.wakeupJobMs
    if (forMs <= leastStayMs && !isOver) return false
    if (slots.waitingElsewhere(this.#queue) === undefined) return isOver
    slots.leave(this.#queue)
    return true
  }

  // The children that the slot runs itself.

  /** Only a turn that was claimed from the run queue offers its children, and only while turns are short. Children of inline children enter the run queue. */
  #offerOf(turn: EndingTurn, step: Step): ChildOffer | undefined {
    const { pool } = this.#wakeup
    const most = this.#partition.times.expectedWorkersPerWake(pool)
    if (this.#children !== undefined || this.#isBusy || most === 1) return undefined
    return offerOf(turn, step, this.#slot, { kinds: this.#node.kinds, pool, most })
  }

  /** The children that the slot got with the end of this turn. */
  #takeChildren({ endAnswer }: Turn): readonly Assignment[] {
    const offer = this.#offer
    if (offer === undefined) return none
    this.#offer = undefined
    const { leaseMs, leaseMarginMs } = this.#node.policy
    return childrenOf(offer, endAnswer, performance.now() + leaseMs - leaseMarginMs)
  }

  /** They begin only if the parent's turn ended: if it was given up, the slot may not hold them, or there is a cancel. */
  async #runChildren(parent: Turn, assignments: readonly Assignment[]): Promise<Turn> {
    this.#children = new InlineChildren(assignments, {
      inlineMs: this.#node.policy.inlineChildrenMs,
      make: (assignment) => this.#turnOf(assignment),
      run: (turn) => this.#runTurn(turn),
    })
    const last = await this.#children.run({ areToBegin: parent.over === 'ended' })
    this.#children = undefined
    return last
  }

  // How the slot claims.

  #nextClaim(isAborted = false): NextClaim {
    return {
      pool: this.#wakeup.pool,
      wakeup: this.#wakeup.id,
      slot: String(this.#slot),
      nonce: this.#partition.nonces.next(this.#slot),
      // A cancelled turn may overrun, which is known only when it is over.
      maySuspect: !isAborted && this.#node.suspects.ask(this.#slot),
      wasBusy: this.#isBusy,
      keepWakeup: this.#keepsWakeup(),
    }
  }

  /** A wake-up was set when it was sent. It is set anew if it left the awake ones, or would soon be stale. */
  #keepsWakeup(): boolean {
    const now = performance.now()
    if (!this.#isBusy && now - this.#wakeupSetAt < this.#node.policy.wakeupMs / 4) return false
    this.#wakeupSetAt = now
    return true
  }

  /** Claims, and renews a lease that may be old (SLOT-2). */
  async #claim(): Promise<ClaimAnswer> {
    const { nonces, turns } = this.#partition
    const isRepeated = nonces.isUnanswered(this.#slot)
    const answer = await turns.claim(this.#nextClaim())
    this.#isBusy = false
    // Redis may have handed this worker out long ago: then its lease is older than this question.
    const assignment = isRepeated && answer.kind === 'assigned' ? await this.#renewed(answer.assignment) : null
    nonces.noteAnswer(this.#slot)
    if (!isRepeated) return answer
    return assignment ? { kind: 'assigned', assignment } : this.#claim()
  }

  async #renewed(assignment: Assignment): Promise<Assignment | null> {
    const { workerId, token } = assignment
    const turn = { workerId, token, wakeup: this.#wakeup.id, becomesBusy: false }
    const { verdicts, trustedUntil } = await this.#partition.turns.renew([turn])
    return verdicts[0] === 'fenced' ? null : { ...assignment, trustedUntil }
  }
}

function claimedWith(answer: CommitAnswer | undefined): ClaimAnswer {
  return answer?.kind === 'ok' || answer?.kind === 'fenced' ? answer.claimed : { kind: 'none' }
}

/** What a session asks for cannot go beyond what its node permits. Children get no more than is left. */
function withinCeiling(assignment: Assignment, ceiling: Permissions | null): Assignment {
  if (ceiling === null) return assignment
  const permissions = commonPermissions(assignment.permissions, ceiling)
  return { ...assignment, permissions, nodeFolder: ceiling.folder ?? null }
}
