/** A node listens when it starts, and in new partitions when it begins to work there, also where its first try failed (GROWTH-1). */
import { expect, inject, test } from 'vitest'
import { hearing } from '../../../src/compose/listening.ts'
import type { Parts } from '../../../src/compose/parts.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { newId } from '../../../src/core/ids.ts'
import type { RuntimeNode } from '../../../src/runtime/node/node.ts'
import { FollowedSessions } from '../../../src/store/event/followed-sessions.ts'
import { Places } from '../../../src/store/places.ts'
import { Connections } from '../../../src/store/redis/connections.ts'
import { newNamespace } from '../../support/namespace.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { shortLeases } from '../../support/test-policy.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

test('a node whose first attempt to listen failed hears of followers and cancels after the next one', async () => {
  const namespace = newNamespace()
  const connections = await Connections.open(inject('redisUrl'), { deadlineMs: 5_000 })
  const places = new Places(connections, namespace, 2)
  const heard = new Set<string>()
  const node: Pick<RuntimeNode, 'tellFollower' | 'learnOfChange'> = {
    tellFollower: (partition) => void heard.add(`follower in ${partition}`),
    learnOfChange: async (partition) => void heard.add(`cancel in ${partition}`),
  }
  const parts: Pick<Parts, 'places' | 'patienceMs'> & { live: Pick<Parts['live'], 'followed'> } = {
    places,
    patienceMs: 5_000,
    live: { followed: new FollowedSessions() },
  }
  const attempts: number[] = []
  const hear = hearing(parts as Parts, connections, node as RuntimeNode, async (from) => {
    attempts.push(from)
    if (attempts.length === 1) throw new Error('away')
  })
  await expect(hear(2)).rejects.toThrow('away')
  await hear(2)
  for (const { keys, redis, partition } of places.all) {
    await redis.publish(keys.followers, `${newId(partition)} new`)
    await redis.publish(keys.cancelNotices, newId(partition))
  }
  await waitUntil('all is heard', () => heard.size === 4)
  expect(attempts).toEqual([0])
  connections.end()
})

test('a node starts although it can listen for wake-ups only after a time that is longer than its leases', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  await using troupe = await TestTroupe.connect()
  const settings = { redisUrl: proxy.url, deadlineMs: 60_000, policy: shortLeases }
  const starting = troupe.startNode({ idle: defineWorker({ receive() {} }) }, settings)
  await waitUntil('it is connected', () => proxy.opened > 0)
  // What it listens with comes later.
  proxy.holdNew()
  await waitUntil('it has swept', async () => (await troupe.client.nodes()).length === 1)
  const sweptAt = performance.now()
  await waitUntil('a lease would have ended', () => performance.now() > sweptAt + 1.2 * (shortLeases.leaseMs ?? 0))
  proxy.mend()
  expect((await starting).id).toBe((await troupe.client.nodes())[0]?.id)
})
