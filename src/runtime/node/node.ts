/**
 * Duty: a node: its slots claim workers and run their turns, in all partitions.
 * What a slot that is awake does: awake-slot.ts (SLOT-1, SLOT-2).
 * NODE-1 A node that drains claims nothing. Each of its turns ends at the next step. A turn that goes on after the drain time is released:
 *    its worker goes on elsewhere.
 * NODE-2 While all sessions of a partition are paused, a node claims nothing there, and its turns there end at the next step.
 */

import type { WorkerLog } from '../../core/definition/worker-log.ts'
import { unhostedPool } from '../../core/ids.ts'
import type { Policy } from '../../core/policy.ts'
import type { LivePublisher } from '../../core/ports/live.ts'
import type { HeldTurn } from '../../core/ports/ports.ts'
import { noTelemetry, type Telemetry } from '../../core/ports/telemetry.ts'
import type { PoolLoad } from '../../core/ports/upkeep.ts'
import type { FirstClaim, Waker, Wakeup, Waking } from '../../core/ports/wake.ts'
import type { Permissions } from '../../core/worker/permissions.ts'
import { AwakeSlot, type SlotHost } from '../slot/awake-slot.ts'
import { ClaimNonces } from '../slot/nonces.ts'
import { type RunQueue, Slots } from '../slot/slots.ts'
import { Suspects } from '../slot/suspects.ts'
import { TurnTimes } from '../slot/turn-times.ts'
import type { Turn } from '../turn/turn.ts'
import type { TurnHost } from '../turn/turn-host.ts'
import { Carrier } from '../upkeep/carrier.ts'
import { Renewer } from '../upkeep/renewer.ts'
import { Sweeper } from '../upkeep/sweeper.ts'
import type { Kind } from './kind.ts'
import type { Partition, PartitionStores } from './partition.ts'
import { turnLog } from './turn-log.ts'

export interface NodeOptions {
  readonly id: string
  readonly kinds: ReadonlyMap<string, Kind>
  readonly concurrency: number
  readonly policy: Policy
  /** The permissions that no session may go beyond on this node; null: everything is permitted. */
  readonly permissions?: Permissions | null
  readonly stores: readonly PartitionStores[]
  readonly waker: Waker
  readonly live: LivePublisher
  readonly log: WorkerLog
  readonly telemetry?: Telemetry
  /** The register of kinds has another version; or there are more partitions (RAISE-4). */
  readonly onRegister?: (() => void) | undefined
  /** Tells somebody outside of a notice. */
  readonly tell?: ((notice: string) => Promise<void>) | undefined
}

export class RuntimeNode {
  readonly id: string
  readonly #o: NodeOptions
  readonly #telemetry: Telemetry
  readonly #slots: Slots
  readonly #suspects: Suspects
  readonly #slotHost: SlotHost
  readonly #partitions: Partition[] = []
  /** How many partitions it works in, counted from the first. */
  #started = 0
  readonly #awake = new Set<Promise<unknown>>()
  #kindPools: ReadonlyMap<string, string> = new Map()
  #draining = false
  readonly #logOf: Parameters<typeof turnLog>[0]
  /** Resolves when a node that stops waits for nothing more. It may be asked to stop at once while it drains. */
  readonly #abandoned = Promise.withResolvers<void>()

  constructor(options: NodeOptions) {
    this.id = options.id
    this.#suspects = new Suspects(options.policy.overrunMs)
    this.#o = options
    this.#telemetry = options.telemetry ?? noTelemetry
    this.#logOf = { log: options.log, live: options.live, nodeId: options.id, telemetry: this.#telemetry }
    this.#slots = new Slots(options.concurrency)
    this.#slotHost = {
      policy: options.policy,
      permissions: options.permissions ?? null,
      log: options.log,
      kinds: options.kinds,
      slots: this.#slots,
      suspects: this.#suspects,
      isDraining: () => this.#draining,
      turnHost: (partition, wakeup, slot) => this.#turnHost(partition, wakeup, slot),
    }
    this.open(options.stores)
  }

  /** Those of more partitions. The node works there when it has started once more. */
  open(stores: readonly PartitionStores[]): void {
    for (const one of stores) this.#partitions.push(this.#openPartition(one))
  }

  #openPartition(stores: PartitionStores): Partition {
    const { policy, log, waker } = this.#o
    const number = stores.turns.partition
    const wake = (wakeups: readonly Wakeup[]) => waker.wake(number, wakeups)
    const times = new TurnTimes()
    const carry = new Carrier(stores.outbox, (to, wakeups) => waker.wake(to, wakeups), log)
    const partition: Partition = {
      ...stores,
      carry,
      nonces: new ClaimNonces(this.#slots.total),
      times,
      renewer: new Renewer(stores.turns, policy, wake, log),
      sweeper: new Sweeper(stores.upkeep, policy, {
        log,
        slots: this.#slots.total,
        turnsLeft: () => (this.#draining ? this.turnsRunning : null),
        poolLoads: () => this.#poolLoads(times),
        answer: (wakeup) => void this.wake(number, wakeup),
        wake,
        wakeIn: (other, wakeups) => waker.wake(other, wakeups),
        openGates: () => this.#partitions[0]?.sweeper.openGates(),
        carry: () => void carry.run(),
        learnPause: (isPaused) => this.#learnPause(partition, isPaused),
        learnKinds: (pools) => {
          this.#kindPools = pools
          if (number === 0) this.#o.onRegister?.()
        },
        tell: (notice) => this.#o.tell?.(notice) ?? Promise.resolve(),
        noteHealed: (leases) => this.#telemetry.count('leases.lost', leases, { partition: number }),
        register: () => stores.upkeep.announce(this.#slots.total, this.#kindLines()),
      }),
      isPaused: false,
    }
    return partition
  }

  /** Learns that all sessions of the partition are paused, or no more (NODE-2). */
  #learnPause(partition: Partition, isPaused: boolean): void {
    if (partition.isPaused !== isPaused)
      this.#o.log.warn(isPaused ? 'all sessions are paused: this node takes up no work' : 'all sessions are resumed', {
        partition: partition.turns.partition,
      })
    partition.isPaused = isPaused
    if (isPaused) for (const turn of partition.renewer.turns) turn.pausing.begin()
  }

  /** Registers kinds and slots in partitions where it has not yet. Wake-ups may come from now on. */
  async start(): Promise<void> {
    for (const { upkeep, sweeper } of this.#partitions.slice(this.#started)) {
      if (this.#draining) return
      await upkeep.announce(this.#slots.total, this.#kindLines())
      await sweeper.start()
      this.#started++
    }
  }

  get started(): number {
    return this.#started
  }

  /** Called when a commit in this partition has sent to another one. */
  carry(partition: number): void {
    void this.#partitionOf(partition).carry.run()
  }

  #partitionOf(number: number): Partition {
    return this.#partitions.find(({ turns }) => turns.partition === number) as Partition
  }

  #kindLines() {
    return [...this.#o.kinds.values()].map(({ name, pool, description, window, input }) => ({
      kind: name,
      pool,
      description,
      window,
      input,
    }))
  }

  #poolLoads(times: TurnTimes): PoolLoad[] {
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
   * Wakes a free slot, which claims in the run queue of this pool and partition until it leaves. Without a free slot the queue waits: slots that are
   * awake there claim what there is, and others come when they leave their own queue (SLOT-1).
   */
  wake(partition: number, wakeup: Wakeup): Waking {
    const queue = { partition, wakeup }
    this.#partitionOf(partition).sweeper.stir()
    if (this.#draining) return { firstClaim: Promise.resolve(null), end: null }
    const slot = this.#slots.take(queue)
    if (slot === null) return { firstClaim: this.#slots.came(queue), end: null }
    const { promise: firstClaim, resolve } = Promise.withResolvers<FirstClaim | null>()
    const onFirstClaim = (first: FirstClaim | null) => {
      resolve(first)
      this.#slots.tellCame(queue, first)
    }
    return { firstClaim, end: this.#runSlot(queue, slot, onFirstClaim) }
  }

  /** Runs the slot until it has left the queue, or has failed. Then a slot goes to the queue that waits for longest. */
  async #runSlot(
    queue: RunQueue,
    slot: number,
    onFirstClaim: (first: FirstClaim | null) => void,
  ): Promise<'done' | 'unfit'> {
    const { partition, wakeup } = queue
    const awake = new AwakeSlot(this.#slotHost, this.#partitionOf(partition), slot, wakeup)
    const work = awake
      .run((isUnfit) => onFirstClaim({ wakeup: wakeup.id, isUnfit }))
      .catch((error: unknown) => {
        onFirstClaim(null)
        const where = { partition, pool: wakeup.pool, wakeup: wakeup.id, slot }
        this.#o.log.warn('a slot failed; its wake-up goes stale and is replaced', { ...where, error: String(error) })
        return 'done' as const
      })
    this.#awake.add(work)
    const end = await work
    this.#awake.delete(work)
    this.#suspects.release(slot)
    this.#slots.give(slot)
    const next = this.#slots.waitingAfter(queue)
    if (next) this.wake(next.partition, next.wakeup)
    return end
  }

  #turnHost(partition: Partition, wakeup: string, slot: Pick<TurnHost, 'plan' | 'noteBusy'>): TurnHost {
    const { turns, blobs, sweeper } = partition
    return {
      ...slot,
      store: turns,
      blobs,
      log: this.#o.log,
      policy: this.#o.policy,
      wakeup,
      wake: (wakeups) => {
        if (wakeups.length > 0) this.#o.waker.wake(turns.partition, wakeups)
      },
      noteTimer: (ms) => sweeper.dueIn(ms),
      noteGate: () => sweeper.openGates(),
      poolOf: (kind) => this.#o.kinds.get(kind)?.pool ?? this.#kindPools.get(kind) ?? unhostedPool,
      nodeId: this.id,
      describeKind: (kind) => this.#o.kinds.get(kind)?.description ?? '',
      live: this.#o.live,
      telemetry: this.#telemetry,
      workerLog: (assignment, run) => turnLog(this.#logOf, assignment, run),
    }
  }

  /** A session was cancelled or paused, or is steered, or all were paused: renews its turns here at once, so that they learn of it before their next commit. */
  async learnOfChange(partition: number, sessionId: string): Promise<void> {
    const { renewer, sweeper } = this.#partitionOf(partition)
    await renewer.runOnce(sessionId)
    sweeper.finishSoon()
  }

  /** Somebody begins to follow a session: tells what its turns do here now. */
  tellFollower(partition: number, sessionId: string): void {
    for (const turn of this.#partitionOf(partition).renewer.turns)
      if (turn.assignment.sessionId === sessionId && !turn.over) turn.live.repeat()
  }

  /** The turns that the node runs, for its last words. */
  heldTurns(): HeldTurn[] {
    return this.#partitions.flatMap(({ renewer, turns: { partition } }) =>
      renewer.turns.flatMap(({ over, assignment }) => {
        const { workerId, sessionId, kind, token, suspect: isIsolated } = assignment
        return over ? [] : [{ partition, workerId, sessionId, kind, token, isIsolated }]
      }),
    )
  }

  get turnsRunning(): number {
    return this.#partitions.reduce((total, { renewer }) => total + renewer.size, 0)
  }

  /**
   * Drains (NODE-1), then says goodbye. With `force` it releases its turns at once. Ends also when Redis does not answer: other
   * nodes heal the turns that could not be released, when their leases have ended. Safe to call twice.
   */
  async stop(options: { force?: boolean } = {}): Promise<void> {
    this.#draining = true
    this.#slots.tellAll()
    const drained = Promise.allSettled(this.#awake)
    for (const turn of this.#turns()) turn.drain()
    for (const { sweeper } of this.#partitions) sweeper.tellOfSlots()
    const { drainMs, goodbyeMs } = this.#o.policy
    const release = () => {
      const why = options.force ? 'this node is to stop at once' : `the drain time of ${drainMs / 1_000} s is over`
      for (const turn of this.#turns()) {
        const { workerId: worker, kind, sessionId: session } = turn.assignment
        if (!turn.over) this.#o.log.warn(`a turn is released, and goes on elsewhere: ${why}`, { worker, kind, session })
        void turn.release()
      }
    }
    const abandon = () => {
      for (const turn of this.#turns()) turn.abandon('unreachable')
    }
    // A slot without a turn may wait for the answer to a claim. If Redis never answers, the lease of the claimed worker ends like others.
    const patienceMs = options.force ? 0 : drainMs
    const timers = [
      setTimeout(release, patienceMs),
      setTimeout(abandon, patienceMs + goodbyeMs),
      setTimeout(
        () => {
          // Since the first call, children of an abandoned turn may have become turns that wait for their release.
          abandon()
          this.#abandoned.resolve()
        },
        patienceMs + 2 * goodbyeMs,
      ),
    ]
    await Promise.race([drained, this.#abandoned.promise])
    for (const timer of timers) clearTimeout(timer)
    const goodbyes = this.#partitions.map(async ({ renewer, sweeper, carry }) => {
      renewer.stop()
      carry.stop()
      await sweeper.stop()
    })
    await Promise.race([Promise.all(goodbyes), new Promise((resolve) => setTimeout(resolve, goodbyeMs).unref())])
  }

  #turns(): Turn[] {
    return this.#partitions.flatMap(({ renewer }) => renewer.turns)
  }
}
