/** The node around the turns of a life: it keeps everything in memory, and waits for nothing long. */
import type { WorkerLog } from '../../src/core/definition/worker-log.ts'
import { policy } from '../../src/core/policy.ts'
import type { TurnHost } from '../../src/runtime/turn/turn-host.ts'
import { loneHost } from '../../src/testing/lone-host.ts'
import { MemoryBlobs } from '../../src/testing/memory-blobs.ts'
import type { LifeWorker } from './life-worker.ts'

const silent: WorkerLog = { debug() {}, info() {}, warn() {}, error() {} }
/** Short waits: nothing here waits for them. */
const quick = { ...policy, attempts: 2 }

export function lifeHost(store: LifeWorker): TurnHost {
  return loneHost({ store, blobs: new MemoryBlobs(), log: silent, policy: quick })
}
