/**
 * Duty: a node: its slots claim workers and run their turns, in all partitions.
 * What a slot that is awake does: awake-slot.ts (SLOT-1, SLOT-2).
 * NODE-1 A node that drains claims nothing. Each of its turns ends at the next step. A turn that goes on after the drain time is released:
 *    its worker goes on elsewhere.
 */

import { readLogCall, type WorkerLog } from '../../core/definition/worker-log.ts'
import { unhostedPool } from '../../core/ids.ts'
import type { Policy } from '../../core/policy.ts'
import type { Assignment, LivePublisher, PoolLoad, Waker, Wakeup, WakeupAnswer } from '../../core/ports/ports.ts'
import { AwakeSlot, type SlotHost } from '../slot/awake-slot.ts'
import { ClaimNonces } from '../slot/nonces.ts'
import { type QueuedWakeup, Slots } from '../slot/slots.ts'
import { SuspectGate } from '../slot/suspects.ts'
import { TurnTimes } from '../slot/turn-times.ts'
import type { Turn } from '../turn/turn.ts'
import type { TurnHost } from '../turn/turn-host.ts'
import { Renewer } from '../upkeep/renewer.ts'
import { Sweeper } from '../upkeep/sweeper.ts'
import { AnsweredWakeups } from './answered-wakeups.ts'
import type { Kind } from './kind.ts'
import type { Partition, PartitionStores } from './partition.ts'

export interface NodeOptions {
  readonly id: string
  readonly kinds: ReadonlyMap<string, Kind>
  readonly concurrency: number
  readonly policy: Policy
  readonly stores: readonly PartitionStores[]
  readonly waker: Waker
  readonly live: LivePublisher
  readonly log: WorkerLog
}

export class RuntimeNode {
  readonly id: string
  readonly #o: NodeOptions
  readonly #slots: Slots
  readonly #suspects: SuspectGate
  readonly #slotHost: SlotHost
  readonly #partitions: readonly Partition[]
  readonly #awake = new Set<Promise<unknown>>()
  readonly #told = new AnsweredWakeups()
  /** Wake-ups for which a slot came that could run nothing of their line. */
  readonly #inVain = new AnsweredWakeups()
  #kindPools: ReadonlyMap<string, string> = new Map()
  #draining = false
  /** Stopping, it waits for nothing more: also where it was to drain first, and is then to stop at once. */
  readonly #givenUp = Promise.withResolvers<void>()

  constructor(options: NodeOptions) {
    this.id = options.id
    this.#suspects = new SuspectGate(options.policy.overrunMs)
    this.#o = options
    this.#slots = new Slots(options.concurrency)
    this.#slotHost = {
      policy: options.policy,
      log: options.log,
      kinds: options.kinds,
      slots: this.#slots,
      suspects: this.#suspects,
      isDraining: () => this.#draining,
      turnHost: (partition, wakeup, slot) => this.#turnHost(partition, wakeup, slot),
    }
    this.#partitions = options.stores.map((stores) => this.#partition(stores))
  }

  #partition(stores: PartitionStores): Partition {
    const { policy, log, waker } = this.#o
    const number = stores.turns.partition
    const wake = (wakeups: readonly Wakeup[]) => waker.wake(number, wakeups)
    const times = new TurnTimes()
    return {
      ...stores,
      nonces: new ClaimNonces(this.#slots.total),
      times,
      renewer: new Renewer(stores.turns, policy, wake, log),
      sweeper: new Sweeper(stores.upkeep, policy, {
        log,
        slots: this.#slots.total,
        poolLoads: () => this.#shares(times),
        answer: (wakeup) => void this.answer(number, wakeup),
        wake,
        learnKinds: (pools) => {
          this.#kindPools = pools
        },
        register: () => stores.upkeep.registerKinds(this.#kindLines()),
      }),
    }
  }

  /** Registers kinds and slots. Wake-ups may be answered from now on. */
  async start(): Promise<void> {
    for (const { upkeep, sweeper } of this.#partitions) {
      await upkeep.registerKinds(this.#kindLines())
      await sweeper.start()
    }
  }

  #kindLines() {
    return [...this.#o.kinds.values()].map(({ name, pool, description }) => ({ kind: name, pool, description }))
  }

  #shares(times: TurnTimes): PoolLoad[] {
    const byPool = Map.groupBy(this.#o.kinds.values(), (kind) => kind.pool)
    const free = this.#draining ? 0 : this.#slots.free
    return [...byPool].map(([pool, kinds]) => ({
      pool,
      kinds: kinds.map((kind) => kind.name),
      free,
      workersPerWake: times.endPeriod(pool),
    }))
  }

  /**
   * Answers a wake-up with a free slot; one that was answered early has been answered. Without a slot those that are awake claim what there
   * is, or come to its line (SLOT-1). `claimed` is called when the slot has found something to run, or nothing left, long before it leaves.
   */
  async answer(partition: number, wakeup: Wakeup, claimed?: () => void): Promise<WakeupAnswer> {
    if (this.#told.take(wakeup.id)) return 'done'
    return this.#inVain.take(wakeup.id) ? 'unfit' : this.#answer(partition, wakeup, claimed)
  }

  /**
   * Resolves when a slot has come to the line of a wake-up that found none, or when none will, as the node drains. Until then a slot that
   * ends goes there anyway (SLOT-1): what is rung there meanwhile is for other nodes.
   */
  async slotCame(partition: number, wakeup: Wakeup): Promise<void> {
    if (!this.#draining) await this.#slots.came({ partition, wakeup })
  }

  /**
   * Answers a wake-up that a hint told of, before its job comes; without a free slot that is left to the job. What is left in line and cannot
   * be run here is rung again: the job may come here, or have come and gone.
   */
  async answerTold(partition: number, wakeup: Wakeup): Promise<void> {
    if (this.#draining || this.#slots.free === 0) return
    this.#told.note(wakeup.id)
    const answer = await this.#answer(partition, wakeup)
    if (answer === 'unfit') this.#o.waker.wake(partition, [{ ...wakeup, isAgain: true, hops: 1 }])
  }

  async #answer(partition: number, wakeup: Wakeup, claimed?: () => void): Promise<WakeupAnswer> {
    const queuedWakeup = { partition, wakeup }
    const slot = this.#draining ? null : this.#slots.take(queuedWakeup)
    if (slot === null) return 'full'
    const place = this.#partitions.find(({ turns }) => turns.partition === partition) as Partition
    const working = new AwakeSlot(this.#slotHost, place, slot, wakeup).run(claimed)
    const work = working.catch((error: unknown): WakeupAnswer => {
      this.#told.take(wakeup.id)
      this.#slots.tellCame(queuedWakeup)
      const where = { partition, pool: wakeup.pool, wakeup: wakeup.id, slot }
      this.#o.log.warn('a slot failed; the wake-up goes stale and is put again', { ...where, error: String(error) })
      return 'done'
    })
    this.#awake.add(work)
    const answer = await work
    this.#awake.delete(work)
    this.#suspects.giveBack(slot)
    this.#slots.give(slot)
    const next = this.#slots.waitingAfter(queuedWakeup)
    if (next) void this.#come(next)
    return answer
  }

  /**
   * A slot comes to a line that waits, whose wake-up was rung again meanwhile. When that job is heard here it counts as answered, or as heard in
   * vain: else it would find the node full and call the next slot, for ever.
   */
  async #come({ partition, wakeup }: QueuedWakeup): Promise<void> {
    let hasClaimed = false
    const answer = await this.#answer(partition, wakeup, () => {
      hasClaimed = true
      this.#told.note(wakeup.id)
    })
    if (answer === 'unfit' && !hasClaimed) this.#inVain.note(wakeup.id)
  }

  #turnHost(place: Partition, wakeup: string, slot: Pick<TurnHost, 'plan' | 'noteBusy'>): TurnHost {
    const number = place.turns.partition
    return {
      ...slot,
      store: place.turns,
      log: this.#o.log,
      policy: this.#o.policy,
      wakeup,
      wake: (wakeups) => {
        if (wakeups.length > 0) this.#o.waker.wake(number, wakeups)
      },
      noteTimer: (ms) => place.sweeper.dueIn(ms),
      poolOf: (kind) => this.#o.kinds.get(kind)?.pool ?? this.#kindPools.get(kind) ?? unhostedPool,
      describeKind: (kind) => this.#o.kinds.get(kind)?.description ?? '',
      live: this.#o.live,
      workerLog: (assignment, run) => childLog(this.#o.log, assignment, run),
    }
  }

  /** A session was cancelled, says a hint: its turns here are told at once instead of at their next renew or commit. */
  async hearCancel(partition: number, sessionId: string): Promise<void> {
    const place = this.#partitions.find(({ turns }) => turns.partition === partition)
    await place?.renewer.runOnce(sessionId)
    place?.sweeper.dueIn(0)
  }

  get turnsRunning(): number {
    return this.#partitions.reduce((total, { renewer }) => total + renewer.size, 0)
  }

  /**
   * Drains (NODE-1), then says goodbye. With `force` turns are given back at once. Ends also when Redis does not answer: what could not
   * be given back is healed by others when its lease has ended. Safe to call twice.
   */
  async stop(options: { force?: boolean } = {}): Promise<void> {
    this.#draining = true
    this.#slots.tellAll()
    const drained = Promise.allSettled(this.#awake)
    for (const turn of this.#turns()) turn.drain()
    const { drainMs, goodbyeMs } = this.#o.policy
    const release = () => {
      const why = options.force ? 'this node is to stop at once' : `the drain time of ${drainMs / 1_000} s is over`
      for (const turn of this.#turns()) {
        const { workerId: worker, kind, sessionId: session } = turn.assignment
        if (!turn.over)
          this.#o.log.warn(`a turn is given back, and goes on elsewhere: ${why}`, { worker, kind, session })
        void turn.release()
      }
    }
    const giveUp = () => {
      for (const turn of this.#turns()) turn.abandon('unreachable')
    }
    // A slot without a turn may wait for a claim, which Redis does not answer: what that assignments is healed like a turn.
    const patienceMs = options.force ? 0 : drainMs
    const timers = [
      setTimeout(release, patienceMs),
      setTimeout(giveUp, patienceMs + goodbyeMs),
      setTimeout(
        () => {
          // Children of a turn that was given up may have been begun since, to be given back.
          giveUp()
          this.#givenUp.resolve()
        },
        patienceMs + 2 * goodbyeMs,
      ),
    ]
    await Promise.race([drained, this.#givenUp.promise])
    for (const timer of timers) clearTimeout(timer)
    const goodbyes = this.#partitions.map(async ({ renewer, sweeper }) => {
      renewer.stop()
      await sweeper.stop()
    })
    await Promise.race([Promise.all(goodbyes), new Promise((resolve) => setTimeout(resolve, goodbyeMs).unref())])
  }

  #turns(): Turn[] {
    return this.#partitions.flatMap(({ renewer }) => renewer.turns)
  }
}

function childLog(log: WorkerLog, assignment: Assignment, run: number): WorkerLog {
  const ids = { session: assignment.sessionId, worker: assignment.workerId, kind: assignment.kind, run }
  const at = (level: keyof WorkerLog) => (message: string, fields?: Record<string, unknown>) => {
    const [words, more] = readLogCall(message, fields)
    log[level](words, { ...ids, ...more })
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
