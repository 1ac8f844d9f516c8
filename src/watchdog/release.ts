/** Duty: carry out the last order of a node: its words go into the records, and its turns to other nodes. */
import type { HeldTurn } from '../core/ports/ports.ts'
import { placesOf, workerKeys } from '../store/keys.ts'
import { readRecord } from '../store/record/worker-record.ts'
import type { Redis } from '../store/redis/redis.ts'
import { ScriptCaller } from '../store/script/script.ts'
import { releaseTurns } from '../store/turn/release-turns.ts'
import type { ReleaseOrder, ThreadSettings } from './orders.ts'

type Known = 'namespace' | 'shared'

/** The number may be raised while the node runs. */
function partitionsIn(shared: ThreadSettings['shared']): number {
  return Atomics.load(shared, 3)
}

/** Resolves when every partition has answered, or has not within the deadline. */
export async function release(
  at: (tag: string) => Redis,
  { namespace, shared, nodeId, wakeupMs }: Pick<ThreadSettings, Known | 'nodeId' | 'wakeupMs'>,
  { ends, words, authors, turns }: ReleaseOrder,
  deadlineMs: number,
): Promise<void> {
  // In every other partition the author has no record.
  const [author] = authors
  const calls = placesOf(namespace, partitionsIn(shared)).map(({ keys, partition }) => {
    const own = turns.filter((turn) => turn.partition === partition)
    const taken = own.map(({ workerId, token, isIsolated }) => ({
      worker: workerId,
      token,
      isCounted: authors.includes(workerId),
      isIsolated,
    }))
    const order = { node: nodeId, wakeupMs, ends, words, author, turns: taken }
    return releaseTurns(new ScriptCaller(at(keys.tag)), keys, order, deadlineMs)
  })
  await Promise.allSettled(calls)
}

/** The turns that the node holds, as its claims say: for when it cannot be asked itself. Children that a slot runs itself are not among them. */
export async function heldTurns(
  at: (tag: string) => Redis,
  { namespace, shared, nodeId }: Pick<ThreadSettings, Known | 'nodeId'>,
): Promise<HeldTurn[]> {
  const found = placesOf(namespace, partitionsIn(shared)).map(async ({ keys, partition }) => {
    const redis = at(keys.tag)
    const claims = Object.values(await redis.hgetall(keys.claims(nodeId)))
    const turns = claims.map(async (claim): Promise<HeldTurn[]> => {
      const [nonce = '', workerId] = claim.split(' ')
      if (workerId === undefined) return []
      const fields = await redis.hgetall(workerKeys(keys.tag, workerId).record)
      const { kind, token, status, sessionId, isolatedStarts } = readRecord(workerId, fields).record
      if (status !== 'running' || !token.endsWith(`:${nonce}`)) return []
      return [{ partition, workerId, sessionId: sessionId ?? '', kind, token, isIsolated: isolatedStarts > 0 }]
    })
    return (await Promise.all(turns)).flat()
  })
  return (await Promise.all(found)).flat()
}
