/** The node around the turns of a life: it keeps everything in memory, and waits for nothing long. */
import type { WorkerLog } from '../../src/core/definition/worker-log.ts'
import { type Policy, policy } from '../../src/core/policy.ts'
import type { TurnHost } from '../../src/runtime/turn/turn-host.ts'
import { loneHost } from '../../src/testing/lone-host.ts'
import { MemoryBlobs } from '../../src/testing/memory-blobs.ts'
import { isNodeFault } from '../support/node-fault.ts'
import type { LifeWorker } from './life-worker.ts'

/** Short waits: nothing here waits for them. */
const quick = { ...policy, attempts: 2 }

/** `onFault`: told of what a node logs and no life may bring about (LIFE-5). */
export function lifeHost(store: LifeWorker, more: Partial<Policy>, onFault: (fault: string) => void): TurnHost {
  const hear: WorkerLog['info'] = (message, fields) => {
    if (isNodeFault(message, fields?.what)) onFault(`${message} ${JSON.stringify(fields)}`)
  }
  const log: WorkerLog = { debug() {}, info: hear, warn: hear, error: hear }
  return loneHost({ store, blobs: new MemoryBlobs(), log, policy: { ...quick, ...more } })
}
