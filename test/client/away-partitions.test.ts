/** Lists over all partitions of a cluster while one of its servers is away. */
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { connectInternal } from '../../src/client/client.ts'
import { partitionOf } from '../../src/core/ids.ts'
import { tagOf } from '../../src/store/keys.ts'
import { RunningCommand } from '../cli/command-line.ts'
import { newNamespace } from '../support/namespace.ts'
import { RedisCluster } from '../support/redis/redis-cluster.ts'
import type { RedisServer } from '../support/redis/redis-server.ts'

const partitions = 6

test('while a server is away, lists show what the other partitions have, for those who take that', {
  timeout: 60_000,
}, async () => {
  const settings = ['cluster-require-full-coverage no']
  await using cluster = await RedisCluster.start({ primaries: 3, replicas: 0, settings })
  const namespace = newNamespace()
  const homes = await Promise.all(
    Array.from({ length: partitions }, (_, partition) => cluster.primaryOf(tagOf(namespace, partition))),
  )
  // Without the first partition nobody knows of the others.
  const gone = homes.find((home) => home !== homes[0]) as RedisServer
  const away = homes.flatMap((home, partition) => (home === gone ? [partition] : []))
  await using client = await connectInternal({ redisUrl: cluster.url, namespace, partitions, deadlineMs: 20_000 })
  const created = await Promise.all(
    Array.from({ length: 30 }, () => client.sessions.create({ kind: 'nobody', input: null })),
  )
  const here = created.map(({ id }) => id).filter((id) => !away.includes(partitionOf(id)))
  await using looking = await connectInternal({ redisUrl: cluster.url, namespace, purpose: 'look', deadlineMs: 2_000 })
  await gone.kill()

  const env = { TROUPE_REDIS_URL: cluster.url, TROUPE_NAMESPACE: namespace }
  const command = new RunningCommand(['session', 'list', '--limit', '50', '--json'], { cwd: tmpdir(), env })
  const { sessions, workers, pools } = looking
  const failed = expect(sessions.list()).rejects.toMatchObject({ retryable: true })
  await Promise.all(
    [sessions.list, sessions.page, workers.list, pools.list].map(async (list) => {
      const told: number[] = []
      await list({ onAway: (partition) => void told.push(partition) })
      expect(told).toEqual(away)
    }),
  )
  await failed
  const listed = await command.ended
  const shown = listed.objects.map(({ sessionId, code }) => sessionId ?? code)
  expect(shown.toSorted()).toEqual([...here, 'store_unavailable'].toSorted())
  const lacks = `the list lacks what is in ${away.length === 1 ? 'partition' : 'partitions'} ${away.join(', ')}, which`
  expect(listed).toMatchObject({ code: 69, stderr: expect.stringContaining(lacks) })
})
