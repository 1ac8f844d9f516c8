/** A node's way to the store, with some of its calls in the words of a test. */
import type { TurnStore } from '../../src/core/ports/ports.ts'

export function changedStore(turns: TurnStore, changed: Partial<TurnStore>): TurnStore {
  return {
    partition: turns.partition,
    claim: (next) => turns.claim(next),
    renew: (requests) => turns.renew(requests),
    readInputs: (workerId, positions) => turns.readInputs(workerId, positions),
    enter: (worker, gates) => turns.enter(worker, gates),
    commit: (request) => turns.commit(request),
    readHistory: (workerId, from) => turns.readHistory(workerId, from),
    cancelReason: (worker) => turns.cancelReason(worker),
    ...changed,
  }
}
