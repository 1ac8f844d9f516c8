/** F46: workers and runs are cancelled in a storm of spawns. */
import assert from 'node:assert/strict'
import { quantile } from '../../../../bench/measure/statistics.ts'
import type { Session } from '../../../../src/client/session/session.ts'
import { ConflictError } from '../../../../src/core/errors.ts'
import { readRecord } from '../../../../src/store/record/worker-record.ts'
import type { NestInput } from '../../../programs/node/cancel-kinds.ts'
import type { Random } from '../../../support/fault/fault-settings.ts'
import type { Harness } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { sureLeases } from '../../../support/test-policy.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import type { Row, Stage } from '../../row.ts'

interface Size {
  readonly cancels: number
  readonly nodes: number
}

/** A worker as it was after a cancel was acknowledged: how often it had been claimed, and how long its history was. */
interface Seen {
  readonly epoch: number
  readonly length: number
}

interface Cancel {
  readonly worker: string
  readonly at: number
  /** The worker and all below it. */
  readonly below: ReadonlyMap<string, Seen>
}

export const cancelStormRow: Row = {
  id: 'F46',
  promise:
    'after the cancel of a worker or run nothing below it starts, all beside it goes on, each parent gets one result (I8, I12)',
  done: 'trees of 40 workers, each cancelled at ten places while it grows; half of the kinds have onCancel; a trial is a cancel',
  trials: ({ isLong }) => {
    const size = isLong ? { cancels: 1_000, nodes: 4 } : { cancels: 100, nodes: 2 }
    return [{ name: `${size.cancels} cancels over ${size.nodes} nodes`, run: (stage) => cancelStorm(stage, size) }]
  },
}

async function cancelStorm(stage: Stage, { cancels, nodes }: Size): Promise<number> {
  await using harness = await stage.open()
  await Promise.all(
    Array.from({ length: nodes }, (_, index) => harness.start(`n${index}`, { concurrency: 20, policy: sureLeases })),
  )
  const done: Cancel[] = []
  while (done.length < cancels) {
    const trees = await Promise.all([0, 1, 2, 3].map((place) => cancelTree(stage.random, harness, place)))
    done.push(...trees.flat())
  }
  await waitUntil(
    'the cancels are finished',
    async () => (await harness.redis.scard(`${harness.tag}:cancelling`)) === 0,
  )
  const { workers, dead } = await expectInvariants(harness.redis, harness.namespace)
  assert.equal(dead.length, 0)
  const ledger = harness.ledger.lines()
  const begun = new Set(ledger.filter(({ what }) => what === 'begun').map(({ worker }) => worker))
  const stopped = new Set<string>()
  for (const { worker, below } of done) {
    for (const [id, { epoch, length }] of below) {
      stopped.add(id)
      const late =
        workers
          .get(id)
          ?.history.slice(length)
          .map(({ type }) => type) ?? []
      assert.ok(
        late.length === 0 || (late.length === 1 && late[0] === 'cancelled'),
        `${id} below ${worker} recorded ${late.join()}`,
      )
      assert.ok(epoch > 0 || !begun.has(id), `${id} began after the cancel of ${worker}`)
    }
  }
  for (const [id, { history, record }] of workers) {
    if (record.parent !== undefined && stopped.has(record.parent))
      assert.ok(stopped.has(id), `${id} was born after the cancel of its parent`)
    if (stopped.has(id)) continue
    const from = history.flatMap((entry) =>
      entry.type === 'received' && entry.message.kind === 'result' ? [entry.message.from] : [],
    )
    const spawned = history.flatMap((entry) => (entry.type === 'received' ? (entry.spawned ?? []) : []))
    assert.deepEqual(from.toSorted(), spawned.map(({ id: child }) => child).toSorted(), `the results of ${id}`)
    assert.equal(history.at(-1)?.type, 'completed', `${id} was not cancelled, and did not complete`)
  }
  const undone = ledger.filter(({ what }) => what === 'undone').map(({ note }) => note)
  assert.equal(new Set(undone).size, undone.length, 'onCancel was called twice, and no node had died')
  tellAborts(stage, done, ledger)
  return done.length
}

/** Creates a tree and cancels in it while it grows. Returns the cancels that were accepted, when the rest has completed. */
async function cancelTree(random: Random, harness: Harness, place: number): Promise<Cancel[]> {
  const kind = place % 2 === 0 ? 'nest' : 'careful-nest'
  const input: NestInput = { kind, depth: 3, width: 3, leafMs: 300 }
  const session = await harness.client.sessions.create({ kind, input })
  const done: Cancel[] = []
  const list = `${harness.tag}:s:${session.id}:workers`
  await waitUntil('it grows', async () => (await harness.redis.llen(list)) > 3)
  for (let tries = 0; tries < 30 && done.length < 10; tries++) {
    const ids = await harness.redis.lrange(list, 0, -1)
    const free = ids.filter((id) => !done.some(({ below }) => below.has(id)))
    const worker = free[Math.floor(random() * free.length)]
    if (worker === undefined) break
    const cancel = await cancelOne(harness, session, worker, tries % 2 === 0)
    if (cancel !== null) done.push(cancel)
  }
  const result = await awaitResult(session)
  assert.equal(result.status, 'completed')
  return done
}

async function cancelOne(harness: Harness, session: Session, id: string, isForGood: boolean): Promise<Cancel | null> {
  const worker = harness.client.workers.get(id)
  const cancelling = isForGood ? worker.cancel('storm').then(() => true) : worker.cancelRun('storm')
  const isDone = await cancelling.catch((thrown: unknown) => {
    // It had ended before, or was cancelled with its parent.
    if (thrown instanceof ConflictError) return false
    throw thrown
  })
  const at = Date.now()
  return isDone ? { worker: id, at, below: await seenBelow(harness, session, id) } : null
}

async function seenBelow({ redis, tag }: Harness, session: Session, worker: string): Promise<Map<string, Seen>> {
  const ids = await redis.lrange(`${tag}:s:${session.id}:workers`, 0, -1)
  const below = new Map<string, Seen>()
  for (const id of ids) {
    const fields = await redis.hgetall(`${tag}:w:${id}`)
    const isBelow = Object.entries(fields).some(([name, text]) => name.startsWith('path') && text.startsWith(worker))
    if (id !== worker && !isBelow) continue
    const length = await redis.llen(`${tag}:w:${id}:log`)
    below.set(id, { epoch: readRecord(id, fields).record.epoch, length })
  }
  return below
}

/** From the acknowledgement of each cancel to the last abort below it. */
function tellAborts(
  stage: Stage,
  done: readonly Cancel[],
  ledger: readonly { what: string; worker: string; at: number }[],
): void {
  const aborted = new Map(ledger.filter(({ what }) => what === 'aborted').map(({ worker, at }) => [worker, at]))
  const ms = done.flatMap(({ at, below }) => {
    const times = [...below.keys()].flatMap((id) => aborted.get(id) ?? [])
    return times.length === 0 ? [] : [Math.max(0, Math.max(...times) - at)]
  })
  const [p50, p99] = [quantile(ms, 0.5), quantile(ms, 0.99)].map(Math.round)
  stage.say(
    `${ms.length} cancels met running code: the last abort came ${p50} ms after the acknowledgement (p50), ${p99} ms (p99)`,
  )
}
