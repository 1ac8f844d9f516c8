/** Duty: the store of turns with a watch on claims, gates and commits. A commit is named by the kind of its worker. */
import type {
  Assignment,
  ClaimAnswer,
  CommitAnswer,
  CommitRequest,
  NextClaim,
  RenewRequest,
  TurnStore,
} from '../../../core/ports/ports.ts'
import type { Watch } from './watch.ts'

export class WatchedTurns implements TurnStore {
  readonly #turns: TurnStore
  readonly #watch: Watch
  readonly #kinds = new Map<string, string>()

  constructor(turns: TurnStore, watch: Watch) {
    this.#turns = turns
    this.#watch = watch
  }

  get partition(): number {
    return this.#turns.partition
  }

  async claim(next: NextClaim): Promise<ClaimAnswer> {
    const answer = await this.#watch.around('claim', undefined, () => this.#turns.claim(next))
    this.#learn(answer)
    return answer
  }

  async commit(request: CommitRequest): Promise<CommitAnswer> {
    const call = `commit of ${this.#kindOf(request.workerId)}`
    const answer = await this.#watch.around(call, undefined, () => this.#turns.commit(request))
    if ('claimed' in answer) this.#learn(answer.claimed)
    const assigned = new Set(answer.kind === 'ok' ? answer.assigned : [])
    for (const { id, kind } of request.spawns) if (assigned.has(id)) this.#kinds.set(id, kind)
    return answer
  }

  readHistory(workerId: string, from: number): Promise<string[]> {
    return this.#turns.readHistory(workerId, from)
  }

  cancelReason(worker: Pick<Assignment, 'workerId' | 'sessionId' | 'depth' | 'run'>): Promise<string> {
    return this.#turns.cancelReason(worker)
  }

  enter(...asked: Parameters<TurnStore['enter']>) {
    const call = `gates of ${this.#kindOf(asked[0].workerId)}`
    return this.#watch.around(call, undefined, () => this.#turns.enter(...asked))
  }

  readInputs(...read: Parameters<TurnStore['readInputs']>) {
    return this.#turns.readInputs(...read)
  }

  renew(turns: readonly RenewRequest[]) {
    return this.#turns.renew(turns)
  }

  #kindOf(workerId: string): string {
    return this.#kinds.get(workerId) ?? 'an unknown kind'
  }

  #learn(answer: ClaimAnswer): void {
    if (answer.kind === 'assigned') this.#kinds.set(answer.assignment.workerId, answer.assignment.kind)
  }
}
