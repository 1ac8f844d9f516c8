/** Duty: scenes of what concerns all of a namespace: gates, kinds, nodes, timers, and mail between partitions. */
import { randomUUID } from 'node:crypto'
import { connect, startNode } from 'troupe'
import { workers } from './kinds.ts'
import { type Scene, type Stage, until, wait } from './measure.ts'

const kindsOf = (letter: string, count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`${letter}-${'kind'.repeat(3)}-${index}`, workers.sink]),
  )

/** What the keys of the partition begin with. Those of BullMQ have more behind the brace. */
async function tagOf(redis: Stage['redis']): Promise<string> {
  const [meta] = await redis.keys('*}:meta')
  return String(meta).replace(/:meta$/, '')
}

async function allEnd({ troupe }: Stage): Promise<void> {
  await until(async () => (await troupe.sessions.list({ state: 'active', limit: 1 })).length === 0)
}

export const fleetScenes: Readonly<Record<string, Scene>> = {
  gates: {
    figure: '200 keys of a kind with a gate, for each of which 20 runs wait',
    async act(stage) {
      const inputs = Array.from({ length: 4_000 }, (_, index) => ({ key: index % 200 }))
      await stage.troupe.sessions.createMany(inputs.map((input) => ({ kind: 'gated', input })))
      await allEnd(stage)
    },
  },
  wide: {
    figure: '20 kinds with a rate, at each of which 500 runs wait',
    node: {
      workers: Object.fromEntries(
        Array.from({ length: 20 }, (_, index) => [
          `rated${index}`,
          { ...workers.sink, rate: { most: 100, perMs: 1_000 }, concurrency: { most: 1_000 } },
        ]),
      ),
    },
    async act(stage) {
      const orders = Array.from({ length: 10_000 }, (_, index) => ({ kind: `rated${index % 20}`, input: 1 }))
      await stage.troupe.sessions.createMany(orders)
      await wait(5_000)
    },
  },
  kinds: {
    figure: 'two nodes with 1 000 kinds each in one pool, and work of all of them',
    node: { workers: kindsOf('a', 1_000), concurrency: 16 },
    async act(stage) {
      await using other = await startNode({ ...stage.place, workers: kindsOf('b', 1_000), concurrency: 16 })
      void other
      const kinds = [...Object.keys(kindsOf('a', 1_000)), ...Object.keys(kindsOf('b', 1_000))]
      await stage.troupe.sessions.createMany([...kinds, ...kinds, ...kinds].map((kind) => ({ kind, input: 1 })))
      await allEnd(stage)
    },
  },
  former: {
    figure: '10 000 kinds that nobody hosts any more',
    async act({ redis }) {
      const tag = await tagOf(redis)
      const pipeline = redis.pipeline()
      for (let index = 0; index < 10_000; index++)
        pipeline.hset(`${tag}:kinds`, `gone-${index}`, 'default {"type":"handler"}')
      for (let index = 0; index < 10_000; index += 2) pipeline.zadd(`${tag}:former`, 1_000, `kind gone-${index}`)
      pipeline.hdel(`${tag}:meta`, 'formerAt', 'prunedAt')
      await pipeline.exec()
      // Nodes look at them once a minute.
      const libraries = JSON.stringify(await redis.call('FUNCTION', 'LIST'))
      const [forget = ''] = /troupe_[0-9a-f]+_forget_kinds/.exec(libraries) ?? []
      const keys = ['kinds', 'nodes', 'pools', 'meta', 'former'].map((key) => `${tag}:${key}`)
      for (let time = 0; time < 3; time++) await redis.fcall(forget, keys.length, ...keys, '1', '0', '10')
    },
  },
  nodes: {
    figure: '500 nodes of 1 000 kinds each, of which one sweeps',
    async act({ troupe, redis }) {
      const tag = await tagOf(redis)
      const kinds = Object.keys(kindsOf('n', 1_000)).join(',')
      const facts = JSON.stringify({
        version: '0.1.0',
        host: 'a-host-in-a-cluster',
        pid: 12_345,
        more: 'x'.repeat(200),
      })
      const pipeline = redis.pipeline()
      for (let index = 0; index < 500; index++)
        pipeline.hset(`${tag}:nodes`, `n-${index}`, `${Date.now()} 50 default ${kinds} ${facts}`)
      for (let index = 0; index < 500; index++)
        pipeline.hset(`${tag}:node-slots`, `n-${index}`, '50 default 00').hset(`${tag}:seen`, `n-${index}`, Date.now())
      await pipeline.exec()
      // A node that has work sweeps.
      await troupe.sessions.create({ kind: 'nobody', input: 1 })
      await wait(5_000)
    },
  },
  ownPools: {
    figure: 'a node of 200 pools, with work in each',
    node: {
      workers: Object.fromEntries(
        Array.from({ length: 200 }, (_, index) => [`in${index}`, { ...workers.busy, pool: `pool-${index}` }]),
      ),
      concurrency: 1,
    },
    async act({ troupe }) {
      const orders = Array.from({ length: 400 }, (_, index) => ({ kind: `in${index % 200}`, input: 1 }))
      const made = await troupe.sessions.createMany(orders)
      await wait(5_000)
      for (const one of made) if (one.status === 'fulfilled') await one.value.cancel()
    },
  },
  pools: {
    figure: 'a node that rests beside 20 000 pools',
    async act({ redis }) {
      const tag = await tagOf(redis)
      const names = Array.from({ length: 20_000 }, (_, index) => `pool-${'name'.repeat(3)}-${index}`)
      for (let from = 0; from < names.length; from += 1_000)
        await redis.sadd(`${tag}:pools`, ...names.slice(from, from + 1_000))
      await wait(5_000)
    },
  },
  setBack: {
    figure: '20 000 timers that wait when the clock is set back by an hour',
    async act({ redis }) {
      const tag = await tagOf(redis)
      const hourMs = 3_600_000
      const later = Date.now() + 2 * hourMs
      const pipeline = redis.pipeline()
      for (let index = 0; index < 20_000; index++) pipeline.zadd(`${tag}:timers`, later + index, `${randomUUID()}:t`)
      await pipeline.hset(`${tag}:meta`, 'sweptAt', Date.now() + hourMs).exec()
      await until(async () => (await redis.zcount(`${tag}:timers`, later, '+inf')) === 0)
    },
  },
  movedKinds: {
    figure: '200 kinds with 100 queued workers each, which another pool hosts since',
    node: { workers: kindsOf('a', 200), concurrency: 16 },
    async act({ redis }) {
      const tag = await tagOf(redis)
      const pipeline = redis.pipeline().sadd(`${tag}:pools`, 'old')
      for (const kind of Object.keys(kindsOf('a', 200))) {
        const ids = Array.from({ length: 100 }, () => randomUUID())
        for (const id of ids) pipeline.hset(`${tag}:w:${id}`, 'kind', kind, 'status', 'idle', 'pool', 'old')
        pipeline.zadd(`${tag}:kind-queues:old:${kind}`, ...ids.flatMap((id) => [1, id]))
        pipeline.sadd(`${tag}:kind-queues:old`, kind)
      }
      await pipeline.exec()
      await wait(5_000)
    },
  },
  outbox: {
    figure: '64 mails of a megabyte for another partition',
    partitions: 2,
    async act({ place }) {
      await using troupe = await connect({ ...place, partitions: 2 })
      await using node = await startNode({ ...place, workers, partitions: 2 })
      void node
      const made = await troupe.sessions.createMany(
        Array.from({ length: 64 }, () => ({ kind: 'sink', input: 1, keepOpen: true })),
      )
      const ids = made.flatMap((one) => (one.status === 'fulfilled' ? [one.value.rootId] : []))
      const to = ids.find((id) => id.endsWith('1'))
      await wait(1_000)
      await Promise.all(
        Array.from({ length: 64 }, () =>
          troupe.sessions.create({ kind: 'sender', input: { ids: [to], value: 1_000_000 } }),
        ),
      )
      await wait(6_000)
    },
  },
  running: {
    figure: 'a pause beside 2 000 turns that run',
    node: { concurrency: 2_000 },
    async act({ troupe }) {
      const made = await troupe.sessions.createMany(Array.from({ length: 2_000 }, () => ({ kind: 'busy', input: 1 })))
      await wait(5_000)
      const [one] = made
      if (one?.status === 'fulfilled') await one.value.pause()
    },
  },
}
