/** The wake-up that a client sends in addition to those of scripts, if the system may be idle. */
import { expect, test } from 'vitest'
import { connectInternal } from '../../src/client/client.ts'
import type { Wakeup } from '../../src/core/ports/wake.ts'
import { partitionKeys } from '../../src/store/keys.ts'
import { TestTroupe } from '../support/test-troupe.ts'

/** Creates these sessions before the client does anything else, all at one moment; returns the wake-ups that the client sends. */
async function wakeupsFor(troupe: TestTroupe, ...created: readonly string[]): Promise<readonly Wakeup[]> {
  const sentWakeups: Wakeup[] = []
  const waker = { wake: (_: number, wakeups: readonly Wakeup[]) => void sentWakeups.push(...wakeups) }
  const { redisUrl, namespace } = troupe
  await using client = await connectInternal({ redisUrl, namespace, waker, policy: { wakeupMs: 60_000 } })
  await Promise.all(created.map((kind) => client.sessions.create({ kind, input: 1 })))
  return sentWakeups
}

test('an extra wake-up is sent although a wake-up is out already, and not for a kind that no node ever hosted', async () => {
  await using troupe = await TestTroupe.connect()
  const { kinds, wakeups } = partitionKeys(troupe.tag)
  await troupe.redis.hset(kinds, 'echo', 'gpu {"description":""}')
  const byScript = await wakeupsFor(troupe, 'echo')
  const extra = await wakeupsFor(troupe, 'echo')
  expect([byScript.length, extra.map(({ pool }) => pool)]).toEqual([1, ['gpu']])
  expect(await troupe.redis.zrange(wakeups('gpu'), '0', '-1')).toEqual([byScript[0]?.id])
  expect(await wakeupsFor(troupe, 'nobody')).toEqual([])
})

test('an extra wake-up is sent even if a session of another pool, created at the same moment, brought one', async () => {
  await using troupe = await TestTroupe.connect()
  const { kinds, wakeups } = partitionKeys(troupe.tag)
  await troupe.redis.hset(kinds, 'echo', 'default {"description":""}', 'paint', 'gpu {"description":""}')
  await troupe.redis.zadd(wakeups('default'), Date.now() + 60_000, 'bx-default-1')
  const sentWakeups = await wakeupsFor(troupe, 'echo', 'paint')
  expect(sentWakeups.map(({ pool }) => pool).toSorted()).toEqual(['default', 'gpu'])
})
