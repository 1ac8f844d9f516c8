/** Duty: judge the servers of a cluster when a namespace there cannot be looked at, because some of them are away. */
import { placesOf } from '../../store/keys.ts'
import { Places } from '../../store/places.ts'
import { lookAtCluster } from '../../store/redis/cluster-look.ts'
import { Connections } from '../../store/redis/connections.ts'
import { partitionsNow } from '../../store/set-up/set-up.ts'
import { judgeCluster } from './cluster-findings.ts'
import type { Finding } from './finding.ts'

/** Resolves with nothing for a Redis that is no cluster. Throws if no server answers. */
export async function judgeServers(redisUrl: string, namespace: string, deadlineMs: number): Promise<Finding[]> {
  const connections = await Connections.open(redisUrl, { deadlineMs })
  try {
    if (!connections.isCluster) return []
    // The first partition has the number of all. If it is away, the others are not known.
    const { first } = new Places(connections, namespace, 1)
    const partitions = await partitionsNow(first, deadlineMs).catch(() => null)
    const facts = await lookAtCluster(connections, placesOf(namespace, partitions ?? 1))
    const findings = facts === null ? [] : judgeCluster(facts)
    return findings.filter(({ code }) => partitions !== null || code !== 'cluster_partitions')
  } finally {
    connections.end()
  }
}
