/**
 * F09: a handler blocks the event loop of its process for longer than the leases of all that runs there. Nobody died: when it is
 * over, the process goes on as if nothing had been, with turns that others have taken over.
 */
import assert from 'node:assert/strict'
import { policy } from '../../../../src/core/policy.ts'
import type { BlockInput } from '../../../programs/node/fault-kinds.ts'
import type { Harness } from '../../../support/fault/harness.ts'
import type { LedgerLine } from '../../../support/fault/ledger.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { type Row, type Stage, times } from '../../row.ts'

const startsAtMost = policy.suspectAfterStarts + policy.poisonAfterIsolatedStarts
/** About three of the leases that the harness gives. */
const blockMs = 3_000
/**
 * A blocked slot looks awake until its wake-up is stale, so nobody looks at waiting workers before. By default that is long before a lease
 * ends; here it is no later.
 */
const settings = { policy: { wakeupMs: 1_000 } }

export const blockedRow: Row = {
  id: 'F09',
  promise:
    'a handler that blocks its process is received again, or quarantined if it always does; the innocent beside it never are (I5, I14, I8)',
  done: 'three leases without an event loop: once, beside 14 turns of two nodes; and at each start, beside 10 turns of three nodes',
  atOnce: 2,
  trials: ({ isLong }) => [
    ...times(isLong ? 20 : 1, 'once', blockedOnce),
    ...times(isLong ? 10 : 1, 'at each start, a child', (stage) => blockedAlways(stage, 'child')),
    ...times(isLong ? 10 : 0, 'at each start, a root', (stage) => blockedAlways(stage, 'root')),
  ],
}

/** Either node has some of the innocent, so it does not matter which of them is blocked. */
const innocents = 14

async function blockedOnce(stage: Stage): Promise<undefined> {
  await using harness = await stage.open()
  await Promise.all(['a', 'b'].map((name) => harness.start(name, settings)))
  // None has ended when the block begins, however long a busy machine takes until then. Half of them hear that they lost their lease; the others
  // work to their end, and have nothing to say then.
  const beside = await Promise.all(
    Array.from({ length: innocents }, (_, number) =>
      harness.client.sessions.create({
        kind: 'slow',
        input: { ms: 2_500 + 500 * stage.random(), deaf: number % 2 === 0, after: 'blocked' },
      }),
    ),
  )
  const begun = () => harness.ledger.lines('begun')
  await waitUntil('all innocent run', () => begun().length === innocents)
  const input: BlockInput = { ms: blockMs, how: 'busy', once: true }
  const blocker = await harness.client.sessions.create({ kind: 'blocker', input })

  const sessions = [blocker, ...beside]
  for (const session of sessions)
    assert.partialDeepStrictEqual(await awaitResult(session), {
      status: 'completed',
      run: 1,
    })
  await waitUntil('the block is over', () => harness.ledger.lines('unblocked').length === 1)
  const [blocked] = harness.ledger.lines('blocked')
  const there = innocentOf(begun(), blocked?.node)
  assert.ok(there.length >= innocents - 10, `${there.length} innocent began on the blocked node`)
  const taken = there.filter(({ worker }) =>
    innocentOf(begun(), other(blocked?.node)).some((line) => line.worker === worker),
  )
  assert.ok(taken.length > 0, 'the block took no turn from its node: nothing was tried')
  stage.say(`${taken.length} of ${there.length} innocent were taken over`)
  await expectGoodCitizens(harness)
  const { dead } = await expectInvariants(harness.redis, harness.namespace)
  assert.equal(dead.length, 0, 'a message became a dead letter')
  for (const { rootId } of sessions)
    assert.deepEqual(
      (await harness.history(rootId)).map(({ type, run }) => ({ type, run })),
      [
        { type: 'received', run: 1 },
        { type: 'completed', run: 1 },
      ],
    )
  return undefined
}

function innocentOf(lines: readonly LedgerLine[], node: string | undefined): readonly LedgerLine[] {
  return lines.filter((line) => line.node === node)
}

function other(node: string | undefined): string {
  return node === 'a' ? 'b' : 'a'
}

async function blockedAlways(stage: Stage, as: 'child' | 'root'): Promise<undefined> {
  await using harness = await stage.open()
  // With two nodes both would be blocked most of the time. With one nobody could take its lease away, and its commit would stand.
  await Promise.all(['a', 'b', 'c'].map((name) => harness.start(name, settings)))
  const input: BlockInput = { ms: blockMs, how: 'waiting' }
  const beside = await Promise.all(
    Array.from({ length: 10 }, (_, number) =>
      harness.client.sessions.create({ kind: 'slow', input: { ms: 200 + 50 * number } }),
    ),
  )
  const guilty = await harness.client.sessions.create(
    as === 'root' ? { kind: 'blocker', input } : { kind: 'parent-of', input: { kind: 'blocker', input } },
  )
  const result = await awaitResult(guilty, { msMax: 180_000 })
  assert.partialDeepStrictEqual(
    result,
    as === 'root'
      ? { status: 'failed', failure: { code: 'poison' } }
      : { status: 'completed', value: { status: 'failed', code: 'poison' } },
  )
  for (const session of beside)
    assert.partialDeepStrictEqual(await awaitResult(session), {
      status: 'completed',
    })
  const starts = harness.ledger.lines('blocked').length
  stage.say(`started ${starts} times`)
  assert.ok(starts >= policy.poisonAfterIsolatedStarts && starts <= startsAtMost, `it was started ${starts} times`)
  if (as === 'child') {
    const history = await harness.history(guilty.rootId)
    const results = history.filter((entry) => entry.type === 'received' && entry.message.kind === 'result')
    assert.equal(results.length, 1, 'the parent did not get exactly one result')
  }
  await waitUntil('every block is over', () => harness.ledger.lines('unblocked').length === starts)
  await expectGoodCitizens(harness)
  const { dead } = await expectInvariants(harness.redis, harness.namespace)
  assert.equal(dead.length, 1)
  return undefined
}

/** A node whose process was blocked takes work again. */
async function expectGoodCitizens(harness: Harness): Promise<void> {
  const create = () => harness.client.sessions.create({ kind: 'slow', input: { ms: 100 } })
  for (const session of await Promise.all(Array.from({ length: 15 }, create)))
    assert.partialDeepStrictEqual(await awaitResult(session), {
      status: 'completed',
    })
}
