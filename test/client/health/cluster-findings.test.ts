/** Findings about a Redis Cluster and each of its servers (CLUSTER-FINDING-1, CLUSTER-FINDING-2), as data and in words. */
import { expect, test } from 'vitest'
import { judge } from '../../../src/client/health/findings.ts'
import type { ClusterFacts, ClusterServer } from '../../../src/store/redis/cluster-look.ts'
import type { ServerFacts } from '../../../src/store/redis/server-facts.ts'
import { findingText } from '../../../src/words/finding-text.ts'
import { healthySystem as well } from '../../support/healthy-system.ts'

const { clockSetBack: _, ...facts } = well.redis

function primary(number: number, more: Partial<ClusterServer> = {}): ClusterServer {
  return {
    server: `10.0.0.${number}:7000`,
    isReplica: false,
    partitions: [number],
    replicas: 1,
    facts: { ...facts, clockSkewMs: number },
    unread: null,
    seesWhole: true,
    needsAllSlots: false,
    ...more,
  }
}

function replica(number: number, more: Partial<ClusterServer> = {}): ClusterServer {
  return primary(number, { isReplica: true, replicas: 0, ...more })
}

const servers = [primary(1), primary(2), primary(3), replica(4), replica(5), replica(6)]

function found(more: Partial<ClusterFacts>) {
  const all = judge({ ...well, cluster: { servers, slotsMissing: 0, ...more } })
  const before = all.findIndex(({ code }) => code === 'nodes')
  return all.slice(0, before).map((one) => ({ ...one, ...findingText(one) }))
}

/** The findings that are not ok, if this server takes the place of the first. */
function wrongWith(server: ClusterServer) {
  return found({ servers: [server, ...servers.slice(1)] }).filter(({ level }) => level !== 'ok')
}

const saying = (more: Partial<ServerFacts>) => ({ facts: { ...facts, ...more } })

test('a cluster whose servers are all well is one finding (CLUSTER-FINDING-1)', () => {
  expect(found({}).map(({ level, what }) => `${level} ${what}`)).toEqual([
    'ok each slot belongs to a server in the cluster of 3 primary servers and 3 replicas',
    'ok 3 partitions at 3 of 3 primary servers',
    'ok each of 6 servers: Redis 8.6.3 answers',
    'ok each of 6 servers: Redis never evicts keys (maxmemory-policy noeviction)',
    expect.stringMatching(/^ok each of 6 servers: Redis writes an append-only file/),
    'ok each of 6 servers: Redis uses 1.0 MiB of memory, and has no memory limit',
    'ok each of 6 servers: the clock of Redis agrees with the clock of this machine',
  ])
})

test('a finding about a problem of a server names the server, with a command that goes there', () => {
  expect(wrongWith(primary(1, saying({ evictionPolicy: 'allkeys-lru' })))).toMatchObject([
    {
      code: 'eviction',
      level: 'problem',
      server: '10.0.0.1:7000',
      command: 'redis-cli -h 10.0.0.1 -p 7000 config set maxmemory-policy noeviction',
      what: '10.0.0.1:7000: Redis may evict keys, and so lose work (maxmemory-policy allkeys-lru)',
    },
  ])
  expect(wrongWith(primary(1, saying({ usedBytes: 96, maxBytes: 100 })))).toMatchObject([
    { code: 'memory', level: 'problem', server: '10.0.0.1:7000' },
  ])
  const others = found({ servers: [primary(1, saying({ usedBytes: 96, maxBytes: 100 })), ...servers.slice(1)] })
  const ofMemory = others.filter(({ code }) => code === 'memory')
  expect(ofMemory.map(({ server, servers: many }) => server ?? many)).toEqual(['10.0.0.1:7000', 5])
})

test.each<[string, ClusterServer, object[]]>([
  [
    'a server that does not answer',
    primary(1, { facts: null, unread: 'no answer', seesWhole: null, needsAllSlots: null }),
    [{ code: 'server_unread', level: 'problem', what: '10.0.0.1:7000: Redis could not be looked at: no answer' }],
  ],
  [
    'a replica that does not answer',
    replica(1, { facts: null, unread: 'no answer', seesWhole: null, needsAllSlots: null }),
    [{ code: 'server_unread', level: 'warning' }],
  ],
  [
    'a replica without its primary',
    replica(1, saying({ role: 'slave', info: { ...facts.info, master_link_status: 'down' } })),
    [{ code: 'replica_behind', level: 'warning', server: '10.0.0.1:7000' }],
  ],
  ['a replica as it should be', replica(1, saying({ role: 'slave' })), []],
  [
    'a primary without a replica',
    primary(1, { replicas: 0 }),
    [{ code: 'cluster_without_replica', level: 'warning', facts: { servers: ['10.0.0.1:7000'] } }],
  ],
  ['such a one without partitions', primary(1, { replicas: 0, partitions: [] }), []],
  [
    'a server that needs all slots',
    primary(1, { needsAllSlots: true }),
    [{ code: 'cluster_needs_all_slots', level: 'warning' }],
  ],
  [
    'a server that takes the cluster for broken',
    primary(1, { seesWhole: false }),
    [{ code: 'cluster_state', level: 'problem', what: expect.stringMatching(/is broken, says 10\.0\.0\.1:7000$/) }],
  ],
  [
    'a server without partitions that may evict keys (CLUSTER-FINDING-2)',
    primary(1, { partitions: [], ...saying({ evictionPolicy: 'allkeys-lru' }) }),
    [{ code: 'eviction', level: 'warning' }],
  ],
])('%s', (_, server, wrong) => {
  expect(wrongWith(server)).toMatchObject(wrong)
  expect(wrongWith(server)).toHaveLength(wrong.length)
})

test('slots that no server has are a problem', () => {
  expect(found({ slotsMissing: 5_461 })[0]).toMatchObject({
    level: 'problem',
    what: 'the cluster of 3 primary servers and 3 replicas has no server for 5461 slots',
  })
})
