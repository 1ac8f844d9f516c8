/**
 * Duty: one node as an operator sees it: which workers it runs, and giving these to other nodes when it stands still.
 * NODE-HANDLE-1 A node that reports keeps its work: it can be drained. Whatever a silent node still commits is fenced, as if its leases had ended.
 */
import { ConflictError, NotFoundError } from '../../core/errors.ts'
import { policy } from '../../core/policy.ts'
import { releaseWordsOf } from '../../core/worker/last-words.ts'
import type { InspectStore } from '../../store/audit/inspect-store.ts'
import type { OpenPlace } from '../../store/places.ts'
import { releaseTurns } from '../../store/turn/release-turns.ts'
import type { HeldLease } from '../../store/worker/leases.ts'
import { silentMs } from '../holdup.ts'
import { type WorkerReport, workerReport } from '../report.ts'
import type { Submission } from '../submission/submission.ts'
import type { NodeSummary } from '../summaries.ts'
import { type PauseOptions, whoAndWhy } from '../who-and-why.ts'
import { readRows } from '../worker-rows.ts'
import { nodeSummaries } from './node-summaries.ts'

export interface NodeReport extends NodeSummary {
  /** The workers that it runs now. */
  readonly workers: readonly WorkerReport[]
}

export interface ReleasedNode extends Pick<NodeSummary, 'id' | 'host' | 'pid' | 'lastSeenMs'> {
  /** How many workers go on elsewhere: the node held this many turns until now. */
  readonly released: number
}

export interface NodeHandleSettings {
  readonly places: readonly OpenPlace[]
  readonly inspect: readonly InspectStore[]
  readonly submission: Submission
  readonly deadlineMs: number
}

export class NodeHandle {
  readonly id: string
  readonly #o: NodeHandleSettings

  constructor(id: string, settings: NodeHandleSettings) {
    this.id = id
    this.#o = settings
  }

  /** Throws `node_not_found` for a node that never existed, said goodbye, or was silent for so long that it is forgotten. */
  async report(): Promise<NodeReport> {
    const [node, leases] = await Promise.all([this.#summary(), this.#leases()])
    const rows = await Promise.all(
      leases.map((held, partition) => {
        const ids = held.map(({ workerId }) => workerId)
        return readRows(this.#o.inspect[partition] as InspectStore, ids)
      }),
    )
    return { ...node, workers: rows.flat().map((row) => workerReport(row)) }
  }

  /**
   * Gives the work of a node that stands still to other nodes, at once and not when its leases have ended. Each start counts, as it would after the
   * end of a lease. The node leaves the list until it reports again. Throws a ConflictError if it reports: stop it with SIGTERM, and it gives its
   * work back itself.
   */
  async release(why?: string, options: PauseOptions = {}): Promise<ReleasedNode> {
    const said = whoAndWhy('release', this.#o.submission, why, options)
    const { id, host, pid, lastSeenMs } = await this.#summary()
    if (lastSeenMs < silentMs)
      throw new ConflictError(
        'transition_illegal',
        `node ${id} reported ${lastSeenMs} ms ago, so it runs: stop it with SIGTERM, and it gives its work back itself.`,
      )
    const words = releaseWordsOf({ id, host, pid }, lastSeenMs, said)
    const leases = await this.#leases()
    const released = await Promise.all(
      this.#o.places.map(({ caller, keys }, partition) => {
        const turns = (leases[partition] ?? []).map(({ workerId: worker, token }) => ({
          worker,
          token,
          isCounted: true,
          isIsolated: false,
        }))
        const order = { node: id, wakeupMs: policy.wakeupMs, ends: true, words, author: undefined, turns }
        return releaseTurns(caller, keys, order, this.#o.deadlineMs)
      }),
    )
    return { id, host, pid, lastSeenMs, released: released.reduce((sum, held) => sum + held, 0) }
  }

  #leases(): Promise<HeldLease[][]> {
    return Promise.all(this.#o.inspect.map((store) => store.leasesOf(this.id)))
  }

  /** The summary in the partition that saw the node last. */
  async #summary(): Promise<NodeSummary> {
    const all = await Promise.all(this.#o.inspect.map(nodeSummaries))
    const [node] = all
      .flatMap(({ live, stalled }) => [...live, ...stalled.map((one) => ({ ...one, stalled: true as const }))])
      .filter(({ id }) => id === this.id)
      .sort((a, b) => a.lastSeenMs - b.lastSeenMs)
    if (node !== undefined) return node
    throw new NotFoundError(
      'node_not_found',
      `node ${JSON.stringify(this.id.slice(0, 200))} is not known: troupe node list shows those that run, and those that are silent.`,
    )
  }
}
