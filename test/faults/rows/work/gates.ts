/** F49: nodes die that hold places at the gate of a kind, at each moment of a run there. */
import assert from 'node:assert/strict'
import type { Session } from '../../../../src/client/session/session.ts'
import { gatedMost } from '../../../programs/node/fault-kinds.ts'
import { type CrashPoint, gatePoints, guestPoints } from '../../../support/fault/crash-points.ts'
import type { Harness } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { type Row, type Stage, type Trial, trial } from '../../row.ts'
import { heirLeases, startDoomed, untilDead } from '../node/crash-points.ts'

export const gateRow: Row = {
  id: 'F49',
  promise:
    'no more runs of a kind are in progress at once than it says, over all partitions, and each place comes back (I18)',
  done: 'a node dies at each moment of runs that ask, begin, wait, are parked, end and are cancelled; another goes on',
  atOnce: 4,
  trials: ({ isLong }) =>
    [...gatePoints.map((point) => gateTrial(point, 1)), ...guestPoints.map((point) => gateTrial(point, 3))].flatMap(
      (one) => Array.from({ length: isLong ? 5 : 1 }, () => one),
    ),
}

function gateTrial(point: CrashPoint, partitions: number): Trial {
  const where = partitions === 1 ? '' : ` (${partitions} partitions)`
  return trial(`${point.name}: ${point.when}${where}`, (stage) => dieAt(point, partitions, stage))
}

async function dieAt(point: CrashPoint, partitions: number, stage: Stage): Promise<void> {
  await using harness = await stage.open({ client: { partitions } })
  const doomed = await startDoomed(harness, point, stage)
  const create = (parkMs?: number) => harness.client.sessions.create({ kind: 'gated', input: { parkMs } })
  const holder = await create(600_000)
  const work = await Promise.all([undefined, 30, undefined, 60, undefined, 30].map((ms) => create(ms)))
  const waiting = await create()
  await waiting.cancel('enough')
  const cancelled = cancelOnceIn(harness, holder)
  cancelled.catch(() => {})
  if (doomed) await untilDead(point, doomed, harness)
  await harness.start('heir', { policy: heirLeases })
  const signal = AbortSignal.timeout(120_000)
  for (const session of work) assert.partialDeepStrictEqual(await session.result({ signal }), { status: 'completed' })
  for (const session of [holder, waiting])
    assert.partialDeepStrictEqual(await session.result({ signal }), { status: 'cancelled' })
  expectNoMore(harness, holder, await cancelled)
  await waitUntil(
    'every place has come back',
    async () => (await harness.redis.keys(`{${harness.namespace}.*}:gate*`)).length === 0,
    120_000,
  )
  if (partitions === 1) await expectInvariants(harness.redis, harness.namespace)
  else assert.deepEqual((await harness.client.audit()).findings, [])
}

/** It holds a place until it is cancelled. Returns how many lines the ledger had then. */
async function cancelOnceIn(harness: Harness, holder: Session): Promise<number> {
  const isIn = () => harness.ledger.lines('in').some(({ worker }) => worker === holder.rootId)
  await waitUntil('the first run is in progress', isIn, 120_000)
  const { length } = harness.ledger.lines()
  await holder.cancel('enough')
  return length
}

/** A run is in progress from the first time that it says so until the last time that it is about to end. */
function expectNoMore(harness: Harness, holder: Session, cancelledAt: number): void {
  const lines = harness.ledger.lines()
  const runs = Map.groupBy(lines.keys(), (index) => lines[index]?.worker ?? '')
  const spans = [...runs].map(([worker, all]) => {
    const from = all[0] as number
    return { from, to: worker === holder.rootId ? cancelledAt : (all.at(-1) as number) }
  })
  for (const index of lines.keys()) {
    const atOnce = spans.filter(({ from, to }) => from <= index && index < to).length
    assert.ok(atOnce <= gatedMost, `${atOnce} runs were in progress at once, at line ${index} of the ledger`)
  }
}
