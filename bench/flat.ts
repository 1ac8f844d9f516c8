/**
 * Duty: measures what must not grow: what clients that wait for other sessions cost, what a node asks that has nothing to do, and what kinds cost
 * that nobody uses. Each figure is a ratio within one run. `npm run bench:flat`; one line of JSON for each figure.
 */
import { Redis } from 'ioredis'
import { connect, defineWorker, startNode, type Troupe, type WorkerDefinition } from 'troupe'
import { readRedisCounters } from './measure/redis-counters.ts'
import { startRedisServer } from './redis-server.ts'

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const server = await startRedisServer(process.env.PATH ?? '')
const redis = new Redis(server.url)
let spaces = 0

function at(): { redisUrl: string; namespace: string } {
  return { redisUrl: server.url, namespace: `flat${spaces++}` }
}

function tell(figure: string, values: Readonly<Record<string, number>>): void {
  const rounded = Object.entries(values).map(([name, value]) => [name, Math.round(value * 100) / 100])
  console.log(JSON.stringify({ figure, ...Object.fromEntries(rounded) }))
}

function echoIn(pool: string, description = ''): WorkerDefinition {
  return defineWorker({
    pool,
    description,
    receive(message, self) {
      self.reply(message.value)
    },
  })
}

async function outputBytes(): Promise<number> {
  return Number(/total_net_output_bytes:(\d+)/.exec(await redis.info('stats'))?.[1])
}

/** How many bytes leave Redis for each run, while `clientCount` clients each wait for one session after the other. */
async function outputPerRun(clientCount: number, runs: number): Promise<number> {
  const place = at()
  await using node = await startNode({ ...place, workers: { echo: echoIn('default') } })
  const clients = await Promise.all(Array.from({ length: clientCount }, () => connect(place)))
  const run = async (client: Troupe) =>
    (await client.sessions.create({ kind: 'echo', input: 'x'.repeat(100) })).result()
  await Promise.all(clients.map(run))
  const before = await outputBytes()
  let left = runs
  await Promise.all(
    clients.map(async (client) => {
      while (left-- > 0) await run(client)
    }),
  )
  const bytes = (await outputBytes()) - before
  await Promise.all(clients.map((client) => client.close()))
  void node
  return bytes / runs
}

async function waitingClients(): Promise<void> {
  const [one, fifty] = [await outputPerRun(1, 1_000), await outputPerRun(50, 1_000)]
  tell('bytes that leave Redis for a run: 50 clients that each wait for a session, over one', {
    one,
    fifty,
    ratio: fifty / one,
  })
}

/** Lets 200 followers in one process follow one busy session, and measures the part of a core that they take. */
async function followers(): Promise<void> {
  const place = at()
  const ticking = defineWorker({
    async receive(_, self) {
      for (let tick = 0; tick < 50; tick++) {
        self.log.info('tick')
        await wait(20)
      }
      self.reply(null)
    },
  })
  await using node = await startNode({ ...place, workers: { ticking } })
  await using troupe = await connect(place)
  const busy = async (count: number) => {
    const session = await troupe.sessions.create({ kind: 'ticking', input: null, keepOpen: true })
    await session.result({ run: 1 })
    const controller = new AbortController()
    let events = 0
    const following = Array.from({ length: count }, async () => {
      for await (const _ of session.events({ after: '0-0', signal: controller.signal })) events++
    })
    await wait(500)
    const [from, cpu] = [performance.now(), process.cpuUsage()]
    events = 0
    for (let run = 2; run < 5; run++) {
      await session.root.send(null)
      await session.result({ run })
    }
    const { user, system } = process.cpuUsage(cpu)
    const ms = performance.now() - from
    controller.abort()
    await Promise.all(following)
    return { cores: (user + system) / 1_000 / ms, perSecond: (events / ms) * 1_000 }
  }
  const [none, many] = [await busy(0), await busy(200)]
  tell('200 followers of one session in one process: the part of a core', {
    eventsPerSecond: many.perSecond,
    cores: many.cores - none.cores,
  })
  void node
}

/** Counts the commands that a node asks in a second while it has nothing to do. */
async function idle(pools: number, partitions: number, seconds: number) {
  const names = Array.from({ length: pools }, (_, index) => (index === 0 ? 'default' : `pool${index}`))
  const workers = new Map(names.map((name) => [`echo-${name}`, echoIn(name)]))
  await using node = await startNode({ ...at(), partitions, workers })
  await wait(5_000)
  const before = await readRedisCounters(redis)
  await wait(seconds * 1_000)
  const after = await readRedisCounters(redis)
  void node
  return (after.commands - before.commands) / seconds
}

async function idleNode(): Promise<void> {
  const [one, twelve] = [await idle(1, 1, 20), await idle(3, 4, 20)]
  tell('commands a second of a node without work: 1 pool and partition; 3 pools in 4 partitions', { one, twelve })
}

/** Bytes that a node without work adds to the AOF, and those of a run beside it. */
async function withKinds(count: number) {
  const place = at()
  const workers = new Map([['echo', echoIn('default')]])
  for (let index = 1; index < count; index++) workers.set(`kind-${index}`, echoIn('default', 'a kind that nobody uses'))
  await using node = await startNode({ ...place, workers })
  await using troupe = await connect(place)
  const run = async () => (await troupe.sessions.create({ kind: 'echo', input: 'x' })).result()
  for (let index = 0; index < 100; index++) await run()
  await wait(3_000)
  const quiet = await readRedisCounters(redis)
  await wait(10_000)
  const before = await readRedisCounters(redis)
  for (let index = 0; index < 1_000; index++) await run()
  const after = await readRedisCounters(redis)
  void node
  return {
    idleBytes: (before.aofBytes - quiet.aofBytes) / 10,
    cpuMs: (after.cpuSeconds - before.cpuSeconds) * 1_000,
  }
}

async function kinds(): Promise<void> {
  const [ten, thousand] = [await withKinds(10), await withKinds(1_000)]
  tell('a node of 1 000 kinds over one of 10: bytes of the AOF a second without work, time of Redis for 1 000 runs', {
    tenBytes: ten.idleBytes,
    thousandBytes: thousand.idleBytes,
    bytes: thousand.idleBytes / ten.idleBytes,
    time: thousand.cpuMs / ten.cpuMs,
  })
}

const all = { waitingClients, followers, idleNode, kinds }
const only = process.argv[2]
try {
  for (const [name, measure] of Object.entries(all)) if (only === undefined || only === name) await measure()
} finally {
  redis.disconnect()
  await server.stop()
}
