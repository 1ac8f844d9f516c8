/** F10, K13: a node stands still for longer than its lease and comes back. Its later commits are refused; one run is committed. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { delegationResult } from '../../../support/provider/delegation-script.ts'
import { FakeProvider } from '../../../support/provider/fake-provider.ts'
import { sureLeases } from '../../../support/test-policy.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { type Row, type Stage, times } from '../../row.ts'

const program = new URL('../../../programs/node/agent-node.ts', import.meta.url)

export const zombieRow: Row = {
  id: 'F10',
  promise: 'a node that stood still commits nothing stale; a once tool takes effect at most once (I5, I10)',
  done: 'SIGSTOP for longer than the lease in a handler, in a model call and in a tool; then SIGCONT',
  atOnce: 6,
  trials: ({ isLong }) => [
    ...times(isLong ? 50 : 1, 'in a handler', frozenHandler),
    ...times(isLong ? 50 : 1, 'in an agent', frozenAgent),
  ],
}

const longer = { policy: { leaseMs: 3_000, renewEveryMs: 300, leaseMarginMs: 500 } }

async function frozenHandler(stage: Stage): Promise<undefined> {
  await using harness = await stage.open()
  const zombie = await harness.start('zombie', longer)
  // The worker has not ended before its node stands still, and the heir has not lost its own lease.
  const session = await harness.client.sessions.create({ kind: 'slow', input: { ms: 5_000, deaf: true } })
  await waitUntil('its handler runs', () => harness.ledger.lines('begun').length === 1)
  await pause(500 * stage.random())
  zombie.freeze()
  const heir = await harness.start('heir', longer)
  const result = await awaitResult(session)
  assert.partialDeepStrictEqual(result, { status: 'completed', run: 1 })
  assert.deepEqual(
    harness.ledger.lines('begun').map((line) => line.node),
    ['zombie', 'heir'],
  )
  zombie.thaw()
  // Deaf, it works on to its end, and then has nothing to say.
  await waitUntil('the zombie has worked to its end', () => harness.ledger.lines('done').length === 2)
  assert.deepEqual(
    harness.ledger.lines('aborted').map((line) => line.node),
    ['zombie'],
  )
  const history = await harness.history(session.rootId)
  assert.deepEqual(
    history.map(({ type, run, epoch }) => ({ type, run, epoch })),
    [
      { type: 'received', run: 1, epoch: 2 },
      { type: 'completed', run: 1, epoch: 2 },
    ],
  )
  // It is a good citizen again.
  await heir.kill()
  const next = await harness.client.sessions.create({ kind: 'echo', input: 'hello' })
  assert.partialDeepStrictEqual(await awaitResult(next), { value: 'hello' })
  await expectInvariants(harness.redis, harness.namespace)
  return undefined
}

/** Where it stands still is a matter of chance: the model is asked, streams, or a tool runs. */
async function frozenAgent(stage: Stage): Promise<undefined> {
  await using provider = await FakeProvider.start()
  await using harness = await stage.open()
  const settings = { program, providerUrl: provider.url }
  const zombie = await harness.start('zombie', { ...settings, ...longer })
  const n = Math.floor(100 * stage.random())
  const session = await harness.client.sessions.create({ kind: 'root', input: { n, plan: '' } })
  await waitUntil('a model was asked', () => provider.journal().length >= 1)
  await pause(150 * stage.random())
  zombie.freeze()
  await harness.start('heir', { ...settings, policy: sureLeases })
  const asked = () => provider.journal().some(({ pid }) => pid !== zombie.pid)
  // Unless all was over before it stood still.
  const isOver = async () => (await session.report()).session.finishedAt !== null
  await waitUntil('the other node has taken over', async () => asked() || (await isOver()))
  zombie.thaw()
  const result = await awaitResult(session)
  assert.deepEqual(result, { status: 'completed', run: 1, value: { text: delegationResult(n) } })
  await expectInvariants(harness.redis, harness.namespace)
  const effects = harness.ledger.lines('effect').map((line) => ({ ...(line.note as object), worker: line.worker }))
  const keyOf = (effect: object) => JSON.stringify(effect)
  for (const [effect, same] of Map.groupBy(effects, keyOf)) {
    const most = effect.includes('"tool":"put"') ? 2 : 1
    assert.ok(same.length <= most, `${effect} happened ${same.length} times`)
  }
  return undefined
}
