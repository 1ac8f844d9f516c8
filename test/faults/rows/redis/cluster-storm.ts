/** F50: nodes die and stand still under load in a Redis Cluster whose slots move, and whose primaries die, stand still and hand over meanwhile. */
import { Cluster } from 'ioredis'
import { ClusterTrouble } from '../../../support/cluster-trouble.ts'
import { storm, tagsOf } from '../../../support/fault/storm/storm.ts'
import { RedisCluster } from '../../../support/redis/redis-cluster.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import type { Row, Stage } from '../../row.ts'

const partitions = 6
/** As docs/cluster.md advises. Servers that share a core with all others must not take each other for dead. */
const settings = ['cluster-node-timeout 4000', 'cluster-require-full-coverage no']

export const clusterStormRow: Row = {
  id: 'F50',
  promise:
    'a storm in a Redis Cluster whose slots move and whose primaries die loses and doubles nothing but what was acknowledged in the last moments of a primary, and tears nothing (I1 to I9, I12)',
  done: '4 nodes killed and frozen at random; 3 primaries with a replica each: slots move all the time, primaries are killed, stand still, hand over; queues of wake-ups are obliterated; trees, cancels, messages within and between partitions; for --minutes; a trial is a fault',
  isEndless: true,
  trials: ({ minutes = 1 }) => [{ name: `${minutes} min`, run: (stage) => inCluster(stage, minutes * 60_000) }],
}

async function inCluster(stage: Stage, ms: number): Promise<number> {
  await using cluster = await RedisCluster.start({ durability: 'everysec', settings })
  await using harness = await stage.open({ redisUrl: cluster.url, client: { partitions } })
  const trouble = new ClusterTrouble(cluster, tagsOf(harness, partitions), stage.random)
  const connection = new Cluster(cluster.servers.map(({ port }) => ({ host: '127.0.0.1', port })))
  connection.on('error', () => {})
  try {
    return await storm(stage, ms, {
      harness,
      partitions,
      connection,
      losses: trouble,
      ready: () => waitUntil('the cluster is whole', () => cluster.isWhole()),
      also: async (over) => {
        await trouble.run(over)
        return trouble.done
      },
    })
  } finally {
    connection.disconnect()
  }
}
