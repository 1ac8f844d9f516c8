/**
 * A cancel is finished in batches; nothing may be left out if another cancel comes between two batches. What breaks if another cancel comes between
 * two batches? Nothing may be left out.
 */
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { policy } from '../../../src/core/policy.ts'
import { partitionKeys } from '../../../src/store/keys.ts'
import { ScriptCaller } from '../../../src/store/script/script.ts'
import { RedisUpkeepStore } from '../../../src/store/upkeep-store.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const sleepy = defineWorker({ receive: (_, self) => self.after(60_000, null) })
const root = defineWorker({
  receive(message, self) {
    if (message.kind !== 'input') return
    for (let number = 0; number < 7; number++) self.spawn('sleepy', null)
  },
})

test('a cancel of the session that comes between two batches of a pass reaches every worker (I12)', async () => {
  await using troupe = await TestTroupe.connect()
  const node = await troupe.startNode({ root, sleepy }, { policy: { sweepEveryMs: 600_000 } })
  const session = await troupe.create('root')
  await waitUntil('all wait', async () => {
    const { workers } = await session.report()
    return workers.length === 8 && workers.every(({ status }) => status === 'parked')
  })
  await node.stop()
  const last = (await session.report()).workers.at(-1)
  await troupe.client.workers.get(last?.id ?? '').cancel()

  let batches = 0
  const redis = new Redis(troupe.redisUrl)
  const caller = new ScriptCaller(redis)
  const between = {
    call: async (...args: Parameters<ScriptCaller['call']>) => {
      const reply = await caller.call(...args)
      batches++
      if (batches === 1) await session.cancel()
      return reply
    },
  } as unknown as ScriptCaller
  const upkeep = new RedisUpkeepStore({
    redis,
    caller: between,
    keys: partitionKeys(troupe.tag),
    partition: 0,
    nodeId: 'none',
    nodeFacts: {},
    policy: { ...policy, sweepBatch: 2 },
  })
  await waitUntil('the cancel is finished', async () => {
    await upkeep.finishCancelled()
    return (await session.report()).session.state === 'cancelled'
  })
  redis.disconnect()
  expect(batches).toBeGreaterThan(3)
  const { workers } = await session.report()
  expect(
    workers.filter(({ status }) => status !== 'terminal').map(({ kind, status }) => `${kind} is ${status}`),
  ).toEqual([])
})
