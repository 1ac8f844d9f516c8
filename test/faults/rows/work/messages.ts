/** F06, F07, F33: messages that come at the last moment, twice, or too large. */
import assert from 'node:assert/strict'
import { policy } from '../../../../src/core/policy.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { type Row, type Stage, times, trial } from '../../row.ts'

export const lateMessageRow: Row = {
  id: 'F06',
  promise: 'a message that comes between the last look of a turn and its end wakes the worker (K4, I7)',
  done: 'a message posted before every ending commit is sent, without a wake-up; a trial is a message',
  trials: ({ isLong }) => [{ name: 'late messages', run: (stage) => lateMessages(stage, isLong ? 1_000 : 50) }],
}

async function lateMessages(stage: Stage, count: number): Promise<number> {
  await using harness = await stage.open()
  await harness.start('a', { lateMessages: count, policy: { turnSliceSteps: 1 } })
  const session = await harness.client.sessions.create({ kind: 'tally', input: 0, keepOpen: true })
  const last = { run: count + 1, signal: AbortSignal.timeout(120_000 + count * 200) }
  assert.deepEqual((await session.result(last)).run, count + 1, 'a late message was not received')
  await expectInvariants(harness.redis, harness.namespace)
  return count
}

export const duplicateRow: Row = {
  id: 'F07',
  promise: 'what is sent several times under one key is accepted once (I2)',
  done: '10 clients create and send the same at the same time, and once more when all is done',
  trials: ({ isLong }) => times(isLong ? 50 : 2, 'duplicates', duplicates),
}

async function duplicates(stage: Stage): Promise<undefined> {
  await using harness = await stage.open()
  await harness.start('a')
  const tenTimes = <T>(call: () => Promise<T>) => Promise.all(Array.from({ length: 10 }, call))
  const create = () => {
    const request = { kind: 'tally', input: 1, keepOpen: true, idempotencyKey: 'the session' }
    return harness.client.sessions.create(request)
  }
  const sessions = await tenTimes(create)
  const [session] = sessions
  assert.ok(session)
  assert.equal(new Set(sessions.map(({ id }) => id)).size, 1)
  const send = () => session.root.send(2, { idempotencyKey: 'the message' })
  const places = await tenTimes(send)
  await awaitResult(session, { run: 2 })
  assert.equal((await create()).id, session.id)
  assert.deepEqual(new Set([...places, await send()].map(({ position }) => position)).size, 1)
  const { workers } = await expectInvariants(harness.redis, harness.namespace)
  const inputs = [...workers.values()].flatMap(({ history }) => history.filter(({ type }) => type === 'received'))
  assert.deepEqual([workers.size, inputs.length], [1, 2])
  return undefined
}

export const sizeRow: Row = {
  id: 'F33',
  promise: 'a message up to the limit passes whole; a larger one is refused, and changes nothing',
  done: '1 B up to the limit; the limit and a byte; 50 MB in the long form',
  trials: ({ isLong }) => [trial('sizes', (stage) => sizes(stage, isLong ? [50_000_000] : []))],
}

async function sizes(stage: Stage, more: readonly number[]): Promise<void> {
  await using harness = await stage.open()
  await harness.start('a')
  const most = policy.messageBytesMax
  const ofBytes = (bytes: number) => 'x'.repeat(bytes - 2)
  for (const bytes of [3, 1_000, 100_000, most]) {
    const session = await harness.client.sessions.create({ kind: 'quick', input: ofBytes(bytes) })
    const result = await awaitResult(session)
    assert.ok(
      result.status === 'completed' && result.value === ofBytes(bytes),
      `${bytes} bytes did not come back whole`,
    )
  }
  // Keys of sessions, workers and idempotency; keys of nodes and wake-ups come and go.
  const kept = async () => (await harness.redis.keys(`${harness.tag}:[swi]*:*`)).sort()
  const before = await kept()
  for (const bytes of [most + 1, ...more]) {
    const refused = harness.client.sessions.create({ kind: 'quick', input: ofBytes(bytes) })
    await assert.rejects(refused, { code: 'message_too_big' }, `${bytes} bytes were accepted`)
  }
  assert.deepEqual(await kept(), before)
  await expectInvariants(harness.redis, harness.namespace)
}
