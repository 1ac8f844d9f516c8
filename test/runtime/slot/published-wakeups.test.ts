/** Wake-ups that a script publishes to a node before their jobs come: work begins at once, and the job then ends without a claim. */
import { once } from 'node:events'
import { Queue } from 'bullmq'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { Policy } from '../../../src/core/policy.ts'
import type { TurnStore } from '../../../src/core/ports/ports.ts'
import { partitionKeys } from '../../../src/store/keys.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
/** While the test runs no sweep finds waiting work, and no wake-up goes stale. */
const noSweeps: Partial<Policy> = { sweepEveryMs: 600_000, wakeupMs: 600_000, leaseMs: 600_000 }

function queueOf(troupe: TestTroupe): Queue {
  const { queuePrefix } = partitionKeys(troupe.tag)
  const queue = new Queue('wakeup-default', { connection: troupe.redis, prefix: queuePrefix })
  onTestFinished(() => queue.close())
  return queue
}

describe('a published wake-up', () => {
  test('a published wake-up is answered by the node that received it, even if its job does not come', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo }, policy: noSweeps })
    const queue = queueOf(troupe)
    await queue.pause()
    expect(await troupe.run('echo', 'told')).toMatchObject({ status: 'completed', value: 'told' })
    await waitUntil('its job was added', async () => (await queue.count()) === 1)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a published wake-up is answered once: its job makes no claim (WAKE-2)', async () => {
    let claims = 0
    const aroundTurns = (turns: TurnStore): TurnStore =>
      new Proxy(turns, {
        get(target, name: keyof TurnStore) {
          if (name === 'claim') claims++
          const value = target[name]
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
    await using troupe = await TestTroupe.start({ workers: { echo }, policy: noSweeps, aroundTurns })
    const queue = queueOf(troupe)
    for (let number = 1; number <= 3; number++) {
      expect(await troupe.run('echo', number)).toMatchObject({ value: number })
      await waitUntil('its job was added', async () => (await troupe.redis.get(queue.toKey('id'))) === `${number}`)
      await waitUntil('its job has gone', async () => (await queue.getJobCountByTypes('wait', 'active')) === 0)
    }
    expect(claims).toBe(3)
  })

  test('a wake-up that reaches a node which can run nothing of the queue goes on to other nodes as a job, a limited number of times (WAKE-4)', async () => {
    await using troupe = await TestTroupe.connect()
    const other = await troupe.startNode({ other: echo }, { policy: noSweeps })
    await troupe.startNode({ echo }, { policy: noSweeps })
    await other.stop()
    const queue = queueOf(troupe)
    await troupe.create('other')
    // The job is the only one of this session, and no other node is there that could end it.
    await waitUntil('it was sent again and again', async () => Number(await troupe.redis.get(queue.toKey('id'))) > 8)
    await waitUntil('it is sent no more', async () => (await queue.getJobCountByTypes('wait', 'active')) === 0)
    expect(await troupe.run('echo', 'beside')).toMatchObject({ value: 'beside' })
  })

  test('a wake-up that comes to a full node is answered when a slot is free', async () => {
    const gate = Promise.withResolvers<void>()
    const held = defineWorker({
      async receive(message, self) {
        if (message.value === 'first') await gate.promise
        self.reply(message.value)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { held }, policy: noSweeps, concurrency: 1 })
    const first = await troupe.create('held', 'first')
    await waitUntil('it runs', async () => (await first.root.report()).status === 'running')
    const second = await troupe.create('held', 'second')
    gate.resolve()
    expect(await awaitResult(second)).toMatchObject({ value: 'second' })
  })

  test('a wake-up whose claim fails is answered by its job (WAKE-2)', async () => {
    let claims = 0
    const aroundTurns = (turns: TurnStore): TurnStore =>
      new Proxy(turns, {
        get(target, name: keyof TurnStore) {
          const value = target[name]
          if (name === 'claim' && claims++ === 0) return () => Promise.reject(new Error('lost'))
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
    await using troupe = await TestTroupe.start({ workers: { echo }, policy: noSweeps, aroundTurns })
    expect(await troupe.run('echo', 'again')).toMatchObject({ value: 'again' })
  })

  test('a published wake-up never stays with a full node while another has a slot free (I17)', async () => {
    const held = defineWorker({
      receive: async (_, { signal }) => void (await once(signal, 'abort')),
    })
    const settings = { policy: noSweeps, concurrency: 1 }
    await using troupe = await TestTroupe.start({ workers: { held, echo }, ...settings })
    await troupe.startNode({ held, echo }, settings)
    const first = await troupe.create('held')
    await waitUntil('it runs', async () => (await first.root.report()).status === 'running')
    for (let number = 0; number < 20; number++)
      expect(await troupe.run('echo', number)).toMatchObject({ value: number })
  })

  test('a published wake-up is sent for a new session, and for a message to an idle worker, even while a slot is awake, whose turn may last', async () => {
    const gate = Promise.withResolvers<void>()
    const held = defineWorker({ receive: () => gate.promise })
    const policy = { ...noSweeps, busyAfterMs: 600_000 }
    await using troupe = await TestTroupe.start({ workers: { held, echo }, concurrency: 2, policy })
    const talk = await troupe.create('echo', 'before', { keepOpen: true })
    expect(await talk.result({ run: 1 })).toMatchObject({ value: 'before' })
    const first = await troupe.create('held')
    let began = performance.now()
    const isQuiet = () => performance.now() - began > 10
    const runs = async () => isQuiet() && (await first.root.report()).status === 'running'
    await waitUntil('it runs, and nobody creates or sends anything', runs)
    expect(await troupe.run('echo', 'beside')).toMatchObject({ value: 'beside' })
    began = performance.now()
    await waitUntil('nobody creates or sends anything', isQuiet)
    await talk.root.send('a message')
    expect(await awaitResult(talk, { run: 2 })).toMatchObject({ value: 'a message' })
    gate.resolve()
  })
})
