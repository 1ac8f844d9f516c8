/** The permission to claim a suspect: one slot at a time has it, and none while code goes on after the end of its turn. */
import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { Suspects } from '../../../src/runtime/slot/suspects.ts'
import { partitionKeys, workerKeys } from '../../../src/store/keys.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { WatchedTimers } from '../../support/time/watched-timers.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

test('one slot at a time may run a suspect (SUSPECT-1)', () => {
  const suspects = new Suspects(60_000)
  expect([suspects.ask(1), suspects.ask(2), suspects.ask(1)]).toEqual([true, false, true])
  suspects.release(2)
  expect(suspects.ask(2)).toBe(false)
  suspects.release(1)
  expect(suspects.ask(2)).toBe(true)
})

test('no slot may run a suspect while a behaviour goes on after the end of its turn (SUSPECT-2)', async () => {
  const suspects = new Suspects(60_000)
  const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  expect(suspects.ask(1)).toBe(true)
  suspects.noteOverrun(one.promise)
  suspects.noteOverrun(two.promise)
  expect([suspects.ask(1), suspects.ask(2)]).toEqual([false, false])
  one.resolve()
  await one.promise
  expect(suspects.ask(1)).toBe(false)
  two.resolve()
  await waitUntil('both have ended', () => suspects.ask(1))
})

test('a behaviour that never ends blocks suspects for a limited time (SUSPECT-2)', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const suspects = new Suspects(60_000)
  using timers = new WatchedTimers(60_000)
  suspects.noteOverrun(new Promise(() => {}))
  suspects.noteOverrun(Promise.resolve())
  await vi.advanceTimersByTimeAsync(59_999)
  expect([suspects.ask(1), timers.counts]).toEqual([false, { begun: 2, left: 1 }])
  await vi.advanceTimersByTimeAsync(1)
  expect(suspects.ask(1)).toBe(true)
})

test('no slot may run a suspect while a cancelled behaviour goes on, unless that is about to return (SUSPECT-2)', async () => {
  const suspects = new Suspects(60_000)
  await suspects.noteOverrunIfDeaf(Promise.resolve().then(() => {}))
  expect(suspects.ask(1)).toBe(true)
  const deaf = Promise.withResolvers<void>()
  await suspects.noteOverrunIfDeaf(deaf.promise)
  expect(suspects.ask(1)).toBe(false)
  deaf.resolve()
  await waitUntil('it has ended', () => suspects.ask(1))
})

/** An idle worker that the next claim takes for a suspect. */
async function suspectOf(troupe: TestTroupe) {
  const session = await troupe.create('echo', 'one', { keepOpen: true })
  await session.result({ run: 1 })
  const { record } = workerKeys(troupe.tag, session.rootId)
  await waitUntil('it is idle', async () => (await session.root.report()).status === 'idle')
  // The worker was claimed three times, and the commit of its run was made under the first claim: two starts without a commit.
  await troupe.redis.hset(record, 'token', '3:')
  return { session, token: () => troupe.redis.hget(record, 'token') }
}

test('a slot that claimed an innocent worker lets another slot claim a suspect', async () => {
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const long = defineWorker({
    receive() {
      begun.resolve()
      return ended.promise
    },
  })
  await using troupe = await TestTroupe.start({ workers: { echo, long }, concurrency: 2 })
  const { session } = await suspectOf(troupe)
  const innocent = await troupe.create('long')
  await begun.promise
  await session.root.send('two')
  const result = await awaitResult(session, { run: 2 })
  expect(result).toMatchObject({ status: 'completed', value: 'two' })
  expect((await innocent.root.report()).status).toBe('running')
  ended.resolve()
  await innocent.result()
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('a node claims no suspect while a cancelled handler goes on, not even for the cancelling end, and claims others', async () => {
  const begun = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const deaf = defineWorker({
    receive() {
      begun.resolve()
      return ended.promise
    },
  })
  // There is one slot, so the suspect first waits for the end of the cancelled turn, whose commit claims for the slot.
  await using troupe = await TestTroupe.start({ workers: { echo, deaf }, concurrency: 1 })
  const { session, token } = await suspectOf(troupe)
  const cancelled = await troupe.create('deaf')
  await begun.promise
  await session.root.send('two')
  await cancelled.cancel()
  expect(await cancelled.result()).toMatchObject({ status: 'cancelled' })
  for (const number of [1, 2, 3]) expect(await troupe.run('echo', number)).toMatchObject({ value: number })
  expect(await session.root.report()).toMatchObject({ status: 'queued', mailbox: { pending: 1 } })
  expect(await token()).toBe('3:')
  ended.resolve()
  expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: 'two' })
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('a node claims no suspect while a handler goes on whose turn was taken away, and claims others', async () => {
  const ended = Promise.withResolvers<void>()
  let starts = 0
  const deaf = defineWorker({
    async receive(_, self) {
      starts++
      if (starts === 1) await ended.promise
      self.reply(starts)
    },
  })
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  // After its first renewal only a cancel notice tells a turn of its lease: no renewal puts back the lease that the test takes away.
  const policy = { leaseMs: 600_000, renewEveryMs: 600_000 }
  await using troupe = await TestTroupe.start({ workers: { echo, deaf }, logger, policy })
  const { leases, cancelNotices, busy } = partitionKeys(troupe.tag)

  const { session: suspect, token } = await suspectOf(troupe)
  const taken = await troupe.create('deaf')
  await waitUntil('its turn was renewed', async () => (await troupe.redis.zcard(busy('default'))) === 1)
  await troupe.redis.zadd(leases, 1, taken.rootId)
  expect(await taken.result()).toMatchObject({ status: 'completed', value: 2 })
  await troupe.redis.publish(cancelNotices, taken.id)
  await waitUntil('the node gives its first turn up', () => lines.some((line) => line.includes('a turn was given up')))

  await suspect.root.send('two')
  // These workers stand in the run queue behind the suspect: a slot that claims them has passed it by.
  for (const number of [1, 2, 3]) expect(await troupe.run('echo', number)).toMatchObject({ value: number })
  expect(await suspect.root.report()).toMatchObject({ status: 'queued', mailbox: { pending: 1 } })
  expect(await token()).toBe('3:')
  ended.resolve()
  expect(await suspect.result({ run: 2 })).toMatchObject({ status: 'completed', value: 'two' })
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('a node logs an isolated start, and the last one before poison, before it starts the worker', async () => {
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  await using troupe = await TestTroupe.start({ workers: { echo }, logger })
  const { session } = await suspectOf(troupe)
  expect(lines).toEqual([])
  await session.root.send('two')
  await session.result({ run: 2 })
  const who = { session: session.id, worker: session.rootId, kind: 'echo' }
  const told = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(told()).toEqual([
    expect.objectContaining({
      ...who,
      run: 2,
      starts: 2,
      msg: expect.stringMatching(/^a worker is started apart from other suspects/),
    }),
  ])
  const { record } = workerKeys(troupe.tag, session.rootId)
  await waitUntil('it is idle', async () => (await session.root.report()).status === 'idle')
  const commit = Number((await troupe.redis.hget(record, 'commit'))?.split(':')[0])
  await troupe.redis.hset(record, { token: `${commit + 5}:`, isolated: 3 })
  await session.root.send('three')
  expect(await session.result({ run: 3 })).toMatchObject({ status: 'failed', failure: { code: 'poison' } })
  expect(told().slice(1)).toEqual([
    expect.objectContaining({ ...who, run: 3, starts: 5, msg: expect.stringMatching(/^a run fails with poison/) }),
  ])
  await expectInvariants(troupe.redis, troupe.namespace)
})
