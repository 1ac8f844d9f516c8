/**
 * Duty: keep what the live tree shows of a session while it runs: the roster of its workers with the details of each.
 */
import type { Member, Roster } from '../../../client/event/activity.ts'
import type { WorkerReport } from '../../../client/report.ts'
import type { RawEvent } from '../../../core/event/event.ts'
import { LiveWorker } from './live-worker.ts'

export interface LiveMember extends Member {
  readonly details: LiveWorker
}

export class LiveSession {
  readonly #workers = new Map<string, LiveWorker>()
  /** When the last event of a worker arrived, by the clock of this process. */
  readonly #arrivedAt = new Map<string, number>()
  #roster: Roster | undefined

  /** The worker whose answer the person waits for. */
  rootId: string | undefined

  /** Notes an event that the roster has noted. */
  note(event: RawEvent, roster: Roster, arrivedAt: number): void {
    this.#roster = roster
    this.#arrivedAt.set(event.workerId, arrivedAt)
    const { workerId, type, details, at } = event
    this.#details(workerId).note(event)
    this.#settle(workerId, at)
    if (type === 'worker.spawned' && typeof details.id === 'string') this.#settle(details.id, at)
    const parentId = roster.member(workerId)?.parentId
    if (parentId) this.#settle(parentId, at)
  }

  /** Takes over what the records say, as of this moment. */
  fill(workers: readonly WorkerReport[], roster: Roster, readAt: number): void {
    this.#roster = roster
    for (const worker of workers) {
      if ((this.#arrivedAt.get(worker.id) ?? 0) >= readAt) continue
      roster.learn(worker)
      this.#settle(worker.id, worker.updatedAt)
      this.#details(worker.id).fill(worker)
    }
  }

  members(): LiveMember[] {
    if (this.#roster === undefined) return []
    return [...this.#roster.members()].map((member) => ({ ...member, details: this.#details(member.id) }))
  }

  #settle(id: string, at: number): void {
    const member = this.#roster?.member(id)
    if (member) this.#details(id).settle(member.activity, at)
  }

  #details(id: string): LiveWorker {
    let details = this.#workers.get(id)
    if (details === undefined) {
      details = new LiveWorker(id)
      this.#workers.set(id, details)
    }
    return details
  }
}
