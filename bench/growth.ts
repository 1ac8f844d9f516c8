/**
 * Duty: measures what must not grow with what a Redis keeps: a cancel with the workers that its session ever had, pruning and lists with sessions that
 * they do not concern, a list of pools with workers that wait. Each figure is a ratio within one run. `npm run bench:growth`; one line of JSON for
 * each figure. `--short`: a tenth of the sizes.
 */
import { Redis } from 'ioredis'
import { connect, defineWorker, startNode, type Troupe } from 'troupe'
import { z } from 'zod'
import { startRedisServer } from './redis-server.ts'

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const part = process.argv.includes('--short') ? 0.1 : 1
const server = await startRedisServer(process.env.PATH ?? '')
const redis = new Redis(server.url)
let spaces = 0

function at(): { redisUrl: string; namespace: string } {
  return { redisUrl: server.url, namespace: `growth${spaces++}` }
}

function tell(figure: string, values: Readonly<Record<string, number>>): void {
  const rounded = Object.entries(values).map(([name, value]) => [name, Math.round(value * 100) / 100])
  console.log(JSON.stringify({ figure, ...Object.fromEntries(rounded) }))
}

/** How many seconds Redis has worked. */
async function worked(): Promise<number> {
  const info = await redis.info('cpu')
  const seconds = (field: string) => Number(new RegExp(`${field}:([\\d.]+)`).exec(info)?.[1])
  return seconds('used_cpu_user') + seconds('used_cpu_sys')
}

/** For how many ms Redis works for one of `times` calls. */
async function costOf(call: () => Promise<unknown>, times = 500): Promise<number> {
  await call()
  const before = await worked()
  for (let time = 0; time < times; time++) await call()
  return ((await worked()) - before) * (1000 / times)
}

const echo = defineWorker({ receive: (_, self) => self.reply(null) })
/** A child that does not listen to its signal. */
const stubborn = defineWorker({
  async receive(message, self) {
    await wait(Number(message.value))
    self.reply(null)
  },
})
/** Has as many children as it is told, one batch after the other; then it replies while one more is open. */
const parent = defineWorker({
  state: z.object({ left: z.number() }),
  initial: { left: 0 },
  spawns: ['echo', 'stubborn'],
  await: 'all',
  limits: { children: 1000 },
  receive(message, self) {
    if (message.kind === 'timer') return self.reply(null)
    if (self.openChildren > 0) return
    const left = message.kind === 'input' ? Number(message.value) : self.state.left
    if (left === 0) {
      self.spawn('stubborn', 6_000)
      self.after(500, null)
      return
    }
    const count = Math.min(left, 500)
    self.setState({ left: left - count })
    for (let index = 0; index < count; index++) self.spawn('echo', null)
  },
})

/** For how many ms of a second Redis works while one child of an ended run still runs, in a session that had `others` further children. */
async function openChild(others: number): Promise<number> {
  const place = at()
  const policy = { workers: { echo, stubborn, parent }, concurrency: 20 }
  await using one = await startNode({ ...place, ...policy })
  await using other = await startNode({ ...place, ...policy })
  await using troupe = await connect(place)
  const limits = { workers: 100_000, children: 1000 }
  const session = await troupe.sessions.create({ kind: 'parent', input: others, keepOpen: true, limits })
  await session.result({ run: 1 })
  await wait(500)
  const before = await worked()
  await wait(3_000)
  const ms = (((await worked()) - before) * 1000) / 3
  void one
  void other
  return ms
}

async function cancels(): Promise<void> {
  const many = Math.round(10_000 * part)
  const [few, most] = [await openChild(13), await openChild(many)]
  tell(`ms of Redis in a second for one open child of an ended run: a session that had ${many} workers, over 13`, {
    few,
    most,
    ratio: most / few,
  })
}

async function createMany(troupe: Troupe, kind: string, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 5_000)
    await troupe.sessions.createMany(Array.from({ length: Math.min(left, 5_000) }, () => ({ kind, input: null })))
}

/** A namespace with so many sessions, that have ended or that go on. */
async function withSessions(count: number, hasEnded: boolean): Promise<ReturnType<typeof at>> {
  const place = at()
  await using troupe = await connect(place)
  await createMany(troupe, 'echo', count)
  if (!hasEnded) return place
  await using node = await startNode({ ...place, workers: { echo } })
  while ((await troupe.sessions.list({ state: 'active', limit: 1 })).length > 0) await wait(200)
  void node
  return place
}

async function compare(
  figure: string,
  counts: readonly [number, number],
  cost: (count: number) => Promise<number>,
): Promise<void> {
  const [few, many] = [await cost(counts[0]), await cost(counts[1])]
  tell(`${figure}: at ${counts[1]}, over ${counts[0]}`, { few, many, ratio: many / few })
}

const small = Math.round(1_000 * part)

async function prunes(): Promise<void> {
  await compare('ms of Redis for a prune with nothing to prune', [small, Math.round(80_000 * part)], async (count) => {
    await using troupe = await connect(await withSessions(count, false))
    return await costOf(() => troupe.sessions.prune({ olderThanMs: 0 }))
  })
}

async function lists(): Promise<void> {
  await compare(
    'ms of Redis for a list of active sessions, beside ended ones',
    [small, Math.round(100_000 * part)],
    async (count) => {
      await using troupe = await connect(await withSessions(count, true))
      await createMany(troupe, 'nobody', 20)
      return await costOf(() => troupe.sessions.list({ state: 'active' }))
    },
  )
}

async function pools(): Promise<void> {
  await compare('ms of Redis for a list of pools', [small, Math.round(50_000 * part)], async (count) => {
    await using troupe = await connect(await withSessions(count, false))
    return await costOf(() => troupe.pools.list())
  })
}

const all = { cancels, prunes, lists, pools }
const only = process.argv.slice(2).find((word) => !word.startsWith('--'))
try {
  for (const [name, measure] of Object.entries(all)) if (only === undefined || only === name) await measure()
} finally {
  redis.disconnect()
  await server.stop()
}
