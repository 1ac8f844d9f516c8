/**
 * The outcome of a storm: each tree has its result, or was cancelled on request; each message came once, in order. A
 * part that did not arrive fails the verdict, unless it may be lost.
 */
import assert from 'node:assert/strict'
import { NotFoundError } from '../../../../src/core/errors.ts'
import { partitionOf } from '../../../../src/core/ids.ts'
import { type TreeInput, treeResult } from '../../../programs/node/fault-kinds.ts'
import { awaitResult } from '../../time/await-session.ts'
import type { Harness } from '../harness.ts'
import type { Talk, Tree } from './storm-load.ts'

/** Whether what was acknowledged in one of these partitions in this time may be lost; and for whoever reads of a violation, why it may not. */
export interface Losses {
  mayBeLost(partitions: readonly number[], from: number, to?: number): boolean
  around(partitions: readonly number[], at: number): string
}

/** The rules for a Redis that loses nothing. */
export const noLosses: Losses = { mayBeLost: () => false, around: () => 'this Redis loses nothing' }

/** Returns what was lost, where it could be. */
export async function judgeTrees(trees: readonly Tree[], tree: TreeInput, losses: Losses): Promise<string[]> {
  const lost: string[] = []
  for (const { session, at, isToBeCancelled, cancelledAt } of trees) {
    const own = [partitionOf(session.id)]
    const result = await awaitResult(session).catch((error: unknown) => {
      if (!(error instanceof NotFoundError)) throw error
      return null
    })
    if (result === null) {
      assert.ok(losses.mayBeLost(own, at), `tree ${session.id} is lost`)
      lost.push('trees lost')
    } else if (result.status === 'cancelled') {
      assert.ok(isToBeCancelled, `nobody cancelled tree ${session.id}`)
    } else if (cancelledAt !== null) {
      assert.ok(losses.mayBeLost(own, cancelledAt), `the cancel of tree ${session.id} is lost`)
      lost.push('cancels lost')
    } else {
      assert.partialDeepStrictEqual(result, { status: 'completed', value: treeResult(tree) }, session.id)
    }
  }
  return lost
}

export async function judgeTalks(harness: Harness, all: readonly Talk[], losses: Losses): Promise<string[]> {
  const lost: string[] = []
  const forwarded = Map.groupBy(harness.ledger.lines('forwarded'), ({ worker }) => worker)
  for (const { session, by, sent } of all) {
    const received = (await harness.history(session.rootId)).flatMap((entry) =>
      entry.type === 'received' ? [{ number: Number(entry.message.value), at: entry.at }] : [],
    )
    const inputs = received.map(({ number }) => number)
    const lines = by === null ? [] : (forwarded.get(by.rootId) ?? [])
    const through = [partitionOf(session.id), ...(by === null ? [] : [partitionOf(by.id)])]
    /**
     * A message from outside stays where it was acknowledged. A message that comes through another worker stays with that worker until the next
     * one arrives, because they arrive in order.
     */
    const mayBeLost = (number: number) => {
      const from = sent.get(number) ?? 0
      const sentOn = lines.filter(({ note }) => note === number).map(({ at }) => at)
      const next = received.find((one) => one.number > number)?.at ?? Date.now()
      return losses.mayBeLost(through, from, by === null ? from : Math.max(from, next, ...sentOn))
    }
    const about = (number: number) => losses.around(through, sent.get(number) ?? 0)
    const counts = Map.groupBy(inputs, (number) => number)
    for (const number of sent.keys()) {
      const times = counts.get(number)?.length ?? 0
      if (times === 1) continue
      assert.ok(mayBeLost(number), `message ${number} to ${session.rootId} came ${times} times: ${about(number)}`)
      assert.ok(by !== null || times === 0, `message ${number} to ${session.rootId} came ${times} times from outside`)
      lost.push(times === 0 ? 'messages lost' : 'messages twice')
    }
    const firsts = [...counts.keys()]
    assert.deepEqual(
      firsts,
      firsts.toSorted((a, b) => a - b),
      `messages to ${session.rootId} are out of order`,
    )
  }
  return lost
}
