/**
 * Duty: judge a Redis Cluster, and each of its servers.
 * CLUSTER-FINDING-1 If all is well at several servers, or the same finding holds at all, it is one finding. Any other finding names its server.
 * CLUSTER-FINDING-2 A server without keys of the namespace is no problem: it may get some when slots move.
 */
import type { ClusterFacts, ClusterServer } from '../../store/redis/cluster-look.ts'
import { type Finding, finding } from './finding.ts'
import { judgeReplica, judgeServer } from './server-findings.ts'

export function judgeCluster({ servers, slotsMissing }: ClusterFacts): Finding[] {
  const primaries = servers.filter(({ isReplica }) => !isReplica)
  return [
    judgeState(servers, primaries.length, slotsMissing),
    judgePartitions(primaries),
    ...judgeReplicas(primaries),
    ...judgeCoverage(primaries),
    ...judgeEach(servers),
  ]
}

type Servers = readonly ClusterServer[]

function judgeState(servers: Servers, primaries: number, slotsMissing: number): Finding {
  const doubting = namesOf(servers.filter(({ seesWhole }) => seesWhole === false))
  const isWell = slotsMissing === 0 && doubting.length === 0
  const facts = { primaries, replicas: servers.length - primaries, slotsMissing, doubting }
  return finding('cluster_state', isWell ? 'ok' : 'problem', facts)
}

function judgePartitions(primaries: Servers): Finding {
  const partitions = primaries.reduce((sum, server) => sum + server.partitions.length, 0)
  return finding('cluster_partitions', 'ok', { partitions, primaries: primaries.length, used: used(primaries).length })
}

function judgeReplicas(primaries: Servers): Finding[] {
  const alone = used(primaries).filter(({ replicas }) => replicas === 0)
  return alone.length === 0 ? [] : [finding('cluster_without_replica', 'warning', { servers: namesOf(alone) })]
}

function judgeCoverage(primaries: Servers): Finding[] {
  const strict = used(primaries).filter(({ needsAllSlots }) => needsAllSlots)
  return strict.length === 0 ? [] : [finding('cluster_needs_all_slots', 'warning', { servers: namesOf(strict) })]
}

function judgeEach(servers: Servers): Finding[] {
  const each = servers.flatMap((one) => ofServer(one).map((found) => named(one, found)))
  const answered = servers.filter(({ facts }) => facts !== null).length
  const groups = Map.groupBy(each, (one) => JSON.stringify(alikeIn(one)))
  const findings = [...groups.values()].flatMap((found) => {
    const [{ server: _, ...first }] = found as [Finding]
    const isOne = found.length > 1 && (first.level === 'ok' || found.length === answered)
    return isOne ? [{ ...first, servers: found.length }] : found
  })
  return [...Map.groupBy(findings, ({ code }) => code).values()].flat()
}

/** The facts by which findings are compared; clocks that agree may differ by some milliseconds. */
function alikeIn({ code, level, facts, command }: Finding): object {
  return { code, level, command, facts: code === 'clock' && level === 'ok' ? null : facts }
}

function ofServer({ facts, isReplica, unread }: ClusterServer): Finding[] {
  if (facts === null) return [finding('server_unread', isReplica ? 'warning' : 'problem', { why: unread ?? '' })]
  return isReplica ? judgeReplica(facts) : judgeServer(facts)
}

function named({ server, partitions }: ClusterServer, found: Finding): Finding {
  const level = found.level === 'problem' && partitions.length === 0 ? 'warning' : found.level
  const [, host, port] = /^(.*):(\d+)$/.exec(server) ?? []
  const command = found.command?.replace(/^redis-cli /, `redis-cli -h ${host} -p ${port} `)
  return { ...found, level, server, ...(command === undefined ? {} : { command }) }
}

function used(primaries: Servers): Servers {
  return primaries.filter(({ partitions }) => partitions.length > 0)
}

function namesOf(servers: Servers): string[] {
  return servers.map(({ server }) => server)
}
