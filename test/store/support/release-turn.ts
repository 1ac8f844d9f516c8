/** The last order of a dying node, for one turn that it holds. */
import { release } from '../../../src/watchdog/release.ts'
import type { HandTurn } from './hand-node.ts'
import type { Place } from './place.ts'

export const releaseWords = 'it ended by an error'

export async function releaseTurn(place: Place, turn: HandTurn, authors: readonly string[] = []): Promise<void> {
  const { workerId, sessionId, kind, token, suspect: isIsolated } = turn.assignment
  const turns = [{ partition: 0, workerId, sessionId, kind, token, isIsolated }]
  // One partition.
  const shared = new Int32Array(new SharedArrayBuffer(16))
  shared[3] = 1
  const settings = { namespace: place.namespace, shared, nodeId: 'node-a', wakeupMs: 1_000 }
  const redis = place.wire.face
  await release(() => redis, settings, { ends: true, words: releaseWords, authors, turns }, 5_000)
}
