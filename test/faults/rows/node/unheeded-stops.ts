/** F13: nodes that are told to stop, do not end, and are killed at the deadline, as whoever runs them does. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { type TreeInput, treeResult } from '../../../programs/node/fault-kinds.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import type { Row, Stage } from '../../row.ts'

const tree: TreeInput = { children: 4, steps: 3, stepMs: 100 }
/** They would wait for their turns for longer than anybody waits for them. */
const settings = { concurrency: 10, policy: { drainMs: 600_000 } }
const stuckTurns = 4
/** A worker that was killed twice is a suspect, and suspects run one after the other: up to 80 of them, 2 s each. */
const resultMsMax = 300_000

export const unheededStopRow: Row = {
  id: 'F13',
  promise: 'a node that does not heed its stop and is killed at the deadline loses nothing (I1, I7)',
  done: 'SIGTERM under load to a node whose handlers are deaf, SIGKILL up to a second later; two nodes in turn; a trial is a stop',
  trials: ({ isLong }) => [{ name: 'unheeded', run: (stage) => unheeded(stage, isLong ? 20 : 2) }],
}

async function unheeded(stage: Stage, stops: number): Promise<number> {
  await using harness = await stage.open()
  const { sessions } = harness.client
  const ends: Promise<void>[] = []
  const create = async (kind: string, input: unknown, value: unknown) => {
    const session = await sessions.create({ kind, input })
    const end = session.result({ signal: AbortSignal.timeout(resultMsMax) }).then((result) => {
      assert.deepEqual(result, { status: 'completed', run: 1, value }, `session ${session.id}`)
    })
    end.catch(() => {})
    ends.push(end)
  }
  let holder = await harness.start('0', settings)
  for (let stop = 0; stop < stops; stop++) {
    const begun = harness.ledger.lines('begun').length
    for (let number = 0; number < stuckTurns; number++) await create('slow', { ms: 2_000, deaf: true }, { ms: 2_000 })
    for (let number = 0; number < 5; number++) await create('tree', tree, treeResult(tree))
    // It is alone: all of them are its own.
    const isHeld = () => harness.ledger.lines('begun').length >= begun + stuckTurns
    await waitUntil('its handlers run', isHeld)
    void holder.stop()
    await waitUntil('it has heard', () => holder.drainsSeen > 0)
    await pause(1_000 * stage.random())
    assert.equal(holder.isGone, false, 'it heeded its stop')
    assert.equal(await holder.kill(), 'SIGKILL')
    holder = await harness.start(`${stop + 1}`, settings)
  }
  await Promise.all(ends)
  const { workers, dead } = await expectInvariants(harness.redis, harness.namespace)
  assert.deepEqual([workers.size, dead.length], [stops * (stuckTurns + 5 * (tree.children + 1)), 0])
  return stops
}
