/** A Redis Cluster of two servers: how it is found, and what scripts do while a slot of it is on its way from one to the other. */
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import { judgeServers } from '../../../src/client/health/away.ts'
import { partitionKeys, tagOf } from '../../../src/store/keys.ts'
import { Connections } from '../../../src/store/redis/connections.ts'
import { ClusterMap } from '../../../src/store/redis/connector/cluster-map.ts'
import { infoFields } from '../../../src/store/redis/server-facts.ts'
import { slotCount, slotOf } from '../../../src/store/redis/slot.ts'
import { storeError } from '../../../src/store/redis/store-error.ts'
import * as scripts from '../../../src/store/script/scripts.ts'
import { isLong, withSeed } from '../../support/fault/fault-settings.ts'
import { newNamespace } from '../../support/namespace.ts'
import { loadScripts } from '../../support/redis/load-scripts.ts'
import { RedisCluster } from '../../support/redis/redis-cluster.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { ask } from '../../support/redis/sentinel-group.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { scenesOf } from '../support/calls/script-scenes.ts'
import { connectTo } from '../support/connect-to.ts'
import { Place } from '../support/place.ts'

/** How many of the keys have arrived; each scene is tried that often. */
const shares = isLong ? Array.from({ length: 200 }, (_, nth) => nth / 200) : [0, 0.1, 0.3, 0.6, 1]

type Servers = readonly [RedisServer, RedisServer]

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await RedisCluster.start({ primaries: 2, replicas: 0 })
})
afterAll(() => cluster[Symbol.asyncDispose]())

describe('a cluster', () => {
  test('a cluster is found whichever of its servers is named, and whatever keys that one has', async () => {
    const [one, other] = cluster.servers as Servers
    for (const { url } of cluster.servers) {
      for (const namespace of [await namespaceAt(one.port), await namespaceAt(other.port)]) {
        await using connections = await opened(url)
        expect(connections.isCluster).toBe(true)
        const tag = tagOf(namespace, 0)
        const redis = connections.at(tag)
        expect(await redis.set(`${tag}:found`, '1')).toBe('OK')
        expect(await redis.config('GET', 'port')).toEqual(['port', String((await cluster.primaryOf(tag)).port)])
      }
    }
  })

  test('a cluster is found by the one server that answers', async () => {
    const [one] = cluster.servers as Servers
    const { namespace, partitions } = { namespace: newNamespace(), partitions: 4 }
    await connectTo(`redis://127.0.0.1:1,127.0.0.1:${one.port}`, { namespace, partitions })
    await expect(connectTo(cluster.url, { namespace, partitions: 3 })).rejects.toThrow(/has 4 partitions/)
  })

  test('a map that its last follower leaves while it asks keeps no connection', async () => {
    const [one, other] = cluster.servers as Servers
    const map = new ClusterMap(`redis://127.0.0.1:${one.port},127.0.0.1:${other.port}`)
    const follower = { slot: 0, server: undefined, moveOn: () => {} }
    map.follow(follower)
    const asking = map.ranges().catch(() => {})
    map.unfollow(follower)
    await asking
    const clients = () => ask(other, (redis) => redis.client('LIST'))
    await waitUntil('it has no connection', async () => !String(await clients()).includes('cmd=cluster|slots'))
    expect(String(await clients())).not.toContain('cmd=cluster|slots')
  })

  test('a server that was taken out of the cluster is not asked for its slots (MAP-3)', async () => {
    await using out = await RedisServer.start({ durability: 'none', settings: ['cluster-enabled yes'] })
    const [one] = cluster.servers as Servers
    const map = new ClusterMap(`redis://127.0.0.1:${out.port},127.0.0.1:${one.port}`)
    expect(await map.serverOf(0)).toMatchObject({ port: (await new ClusterMap(one.url).serverOf(0)).port })
  })

  test('a server whose address nobody knows any more has no slots and follows nobody', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-cluster-'))
    const [own, replica, gone] = ['a', 'b', 'c'].map((digit) => digit.repeat(40))
    const known = [
      `${own} 127.0.0.1:1@2 myself,master - 0 0 1 connected 0-8191`,
      `${replica} :0@0 slave,noaddr ${own} 0 0 1 disconnected`,
      `${gone} :0@0 master,noaddr - 0 0 2 disconnected 8192-16383`,
      'vars currentEpoch 2 lastVoteEpoch 0',
    ]
    const file = join(folder, 'nodes.conf')
    await writeFile(file, `${known.join('\n')}\n`)
    const settings = ['cluster-enabled yes', `cluster-config-file ${file}`]
    await using server = await RedisServer.start({ durability: 'none', settings })
    const map = new ClusterMap(`redis://127.0.0.1:${server.port}`)
    expect(await map.ranges()).toEqual([{ host: '127.0.0.1', port: server.port, from: 0, to: 8_191, replicas: [] }])
    await expect(map.serverOf(8_192)).rejects.toThrow(/no server of the cluster has slot 8192/)
  })

  test('a server that is cut off from most others is not believed, if another is not (MAP-3)', async () => {
    await using whole = await RedisServer.start({ durability: 'none', settings: ['cluster-enabled yes'] })
    const stateOf = async (server: RedisServer) =>
      infoFields(await ask(server, (redis) => redis.cluster('INFO'))).cluster_state
    const slots = Array.from({ length: slotCount }, (_, slot) => slot)
    await ask(whole, (redis) => redis.call('CLUSTER', 'ADDSLOTS', ...slots))
    const [one, other] = cluster.servers as Servers
    other.freeze()
    onTestFinished(async () => {
      other.thaw()
      await waitUntil('the cluster is whole', () => cluster.isWhole())
    })
    await waitUntil('one is cut off', async () => (await stateOf(one)) === 'fail')
    await waitUntil('the other cluster is whole', async () => (await stateOf(whole)) === 'ok')
    const map = new ClusterMap(`redis://127.0.0.1:${one.port},127.0.0.1:${whole.port}`)
    expect(await map.serverOf(0)).toMatchObject({ port: whole.port })
  })

  test('a cluster of which no server answers is named without its password', async () => {
    await expect(connectTo('redis://user:secret@127.0.0.1:1,127.0.0.1:2')).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/^Redis at redis:\/\/user:\*\*\*@127\.0\.0\.1:1,127\.0\.0\.1:2 does not answer/),
    })
  })

  test('servers that belong to no cluster are refused as a cluster', async () => {
    const { host } = new URL(inject('redisUrl'))
    await expect(connectTo(inject('redisUrl').replace(host, `${host},${host}`))).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(/names several servers, and the one that answered first is no cluster/),
    })
  })

  test('a slot is looked for where a server redirects to, also if another one disagrees (MAP-4)', async () => {
    const [one, other] = cluster.servers as Servers
    const map = new ClusterMap(one.url)
    const { port } = await map.serverOf(0)
    const elsewhere = port === one.port ? other.port : one.port
    map.redirected(`MOVED 0 127.0.0.1:${elsewhere}`)
    expect(await map.serverOf(0)).toEqual({ host: '127.0.0.1', port: elsewhere })
    expect(await map.serverOf(0)).toMatchObject({ port })
  })

  test('a cluster has only database 0', async () => {
    const [one] = cluster.servers as Servers
    await expect(connectTo(`${one.url}/3`)).rejects.toMatchObject({ code: 'config_invalid' })
  })

  test('a cluster whose number of partitions was removed is not set up with another', async () => {
    const namespace = newNamespace()
    await using connections = await opened(cluster.url)
    for (let partition = 0; partition < 5; partition++) {
      const { meta } = partitionKeys(tagOf(namespace, partition))
      await connections.at(meta).hset(meta, 'sweptAt', '1')
    }
    await expect(connectTo(cluster.url, { namespace, partitions: 1 })).rejects.toThrow(/has 5 partitions/)
  })

  test('a cluster with a server that may evict keys is refused, even if the first partition is at another server', async () => {
    const [one, other] = cluster.servers as Servers
    await ask(other, (redis) => redis.config('SET', 'maxmemory-policy', 'allkeys-lru'))
    onTestFinished(() =>
      ask(other, async (redis) => void (await redis.config('SET', 'maxmemory-policy', 'noeviction'))),
    )
    const namespace = await namespaceAt(one.port)
    await connectTo(one.url, { namespace, partitions: 1 })
    await expect(connectTo(one.url, { namespace: `${namespace}-`, partitions: 4 })).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(new RegExp(`^server 127.0.0.1:${other.port} of the cluster: .* may evict keys`)),
    })
  })

  test('a cluster is checked server by server', async () => {
    const place = { redisUrl: cluster.url, namespace: newNamespace() }
    await using client = await connectInternal({ ...place, partitions: 16 })
    const { cluster: seen } = await client.health()
    expect(seen?.slotsMissing).toBe(0)
    const names = cluster.servers.map(({ port }) => `127.0.0.1:${port}`)
    expect(seen?.servers.map(({ server }) => server).toSorted()).toEqual(names.toSorted())
    const parts = seen?.servers.flatMap(({ partitions }) => partitions) ?? []
    expect(parts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, partition) => partition))
    for (const server of seen?.servers ?? []) {
      expect(server).toMatchObject({
        isReplica: false,
        replicas: 0,
        unread: null,
        seesWhole: true,
        needsAllSlots: true,
      })
      expect(server.facts).toMatchObject({ refusal: null, role: 'master', evictionPolicy: 'noeviction' })
    }
    expect((await client.facts()).redis.usedBytes).toBeGreaterThan(seen?.servers[0]?.facts?.usedBytes ?? Infinity)
    const ofServers = (await client.partitions.list()).map(({ server }) => server)
    expect(new Set(ofServers)).toEqual(new Set(names))
  })

  test('a cluster says which of its servers does not answer', async () => {
    const [one, other] = cluster.servers as Servers
    const namespace = await namespaceAt(one.port)
    await using client = await connectInternal({ redisUrl: cluster.url, namespace, partitions: 1 })
    other.freeze()
    onTestFinished(async () => {
      other.thaw()
      await waitUntil('the cluster is whole', () => cluster.isWhole())
    })
    const seen = (await client.health()).cluster?.servers.find(({ server }) => server.endsWith(`:${other.port}`))
    expect(seen).toMatchObject({ facts: null, unread: expect.stringMatching(/no answer within 3000 ms/) })
    const away = await judgeServers(cluster.url, await namespaceAt(other.port), 1_000)
    const server = `127.0.0.1:${other.port}`
    expect(away).toContainEqual(expect.objectContaining({ code: 'server_unread', level: 'problem', server }))
  })

  test.each(['', 'a', '{troupe.0}:w:1', '{}a', 'a{b}c{d}', '{}a{b}', '{é.12}:meta', '{a', 'x'.repeat(300)])(
    'a cluster has the key "%s" in the slot that its servers say',
    async (key) => {
      const [one] = cluster.servers as Servers
      expect(slotOf(key)).toBe(await ask(one, (redis) => redis.cluster('KEYSLOT', key)))
    },
  )
})

/** Keys that have arrived at the other server, and keys that do not exist yet, cannot be touched at the one that the slot leaves. */
// Rights are only tried, by a caller of their own.
const guarded = Object.values(scripts).filter((script) => script !== scripts.rightsScript)

describe.each(guarded)('while a slot moves, $file', ({ sha }) => {
  test('a script whose slot moves is refused as a whole (SCRIPT-2)', { timeout: isLong ? 600_000 : 120_000 }, () =>
    withSeed(async (random) => {
      const [one, other] = cluster.servers as Servers
      await using place = await Place.open({
        redisUrl: one.url,
        namespace: await namespaceAt(one.port),
        isInCluster: true,
      })
      const slot = slotOf(place.keys.tag)
      const to = await ask(other, (redis) => redis.cluster('MYID'))
      await ask(one, (redis) => redis.call('CLUSTER', 'SETSLOT', String(slot), 'STABLE'))
      const scenes = await scenesOf(sha, place)
      expect(scenes).not.toEqual([])
      await loadScripts(place.redis)
      for (const { name, scene } of scenes) {
        for (const share of shares) {
          const { error, hasWritten, what } = await scene.whileMoving(slot, to, share, random)
          const told = `${name}: ${error?.message}; arrived: ${what.join(' ')}`
          const code = error === null ? 'none' : storeError(error, 'script').code
          expect({ hasWritten, code, told }).toEqual({ hasWritten: false, code: 'store_refused', told })
        }
      }
    }),
  )
})

async function opened(url: string): Promise<Connections & AsyncDisposable> {
  const connections = await Connections.open(url, { deadlineMs: 5_000 })
  return Object.assign(connections, { [Symbol.asyncDispose]: async () => connections.end() })
}

/** A namespace whose first partition is at this server. */
async function namespaceAt(port: number): Promise<string> {
  for (let number = 0; ; number++) {
    const namespace = `moving${number}`
    if ((await cluster.primaryOf(`{${namespace}.0}`)).port === port) return namespace
  }
}
