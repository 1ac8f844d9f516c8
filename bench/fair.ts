/**
 * Duty: measures who waits for whom: a small session beside a large one, a pool beside a flooded one, a node beside work that it cannot run, and
 * sessions of different weight. Each figure is a ratio within one run. `npm run bench:fair`; one line of JSON for each figure.
 */
import { connect, defineWorker, startNode, type Troupe } from 'troupe'
import { z } from 'zod'
import { startRedisServer } from './redis-server.ts'

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits for as many ms as its message says. */
const sleeperIn = (pool?: string) =>
  defineWorker({
    ...(pool === undefined ? {} : { pool }),
    async receive(message, self) {
      await wait(Number(message.value))
      self.reply(null)
    },
  })
const sleeper = sleeperIn()

/** Spawns children that wait, all at once. */
const flood = defineWorker({
  state: z.object({ left: z.number() }),
  initial: { left: 0 },
  spawns: ['sleeper'],
  await: 'all',
  limits: { children: 1000 },
  receive(message, self) {
    if (message.kind !== 'input') {
      if (self.openChildren === 0) self.reply(null)
      return
    }
    const { count, ms } = z.object({ count: z.number(), ms: z.number() }).parse(message.value)
    for (let index = 0; index < count; index++) self.spawn('sleeper', ms)
  },
})

const server = await startRedisServer(process.env.PATH ?? '')
const limits = { workers: 5000, children: 1000 }
let spaces = 0

function at(): { redisUrl: string; namespace: string } {
  return { redisUrl: server.url, namespace: `fair${spaces++}` }
}

function percentile(values: readonly number[], part: number): number {
  return [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] as number
}

function tell(figure: string, values: Readonly<Record<string, number>>): void {
  const rounded = Object.entries(values).map(([name, value]) => [name, Math.round(value * 100) / 100])
  console.log(JSON.stringify({ figure, ...Object.fromEntries(rounded) }))
}

/** How long each of `count` small sessions takes, one after the other. */
async function smallSessions(troupe: Troupe, kind: string, ms: number, count: number) {
  const took: number[] = []
  for (let index = 0; index < count; index++) {
    const begun = performance.now()
    const session = await troupe.sessions.create({ kind, input: ms })
    await session.result()
    took.push(performance.now() - begun)
  }
  return took
}

/** A session of 20 ms beside one of 200 workers with turns of 2 s, on 20 slots. */
async function smallBesideBig(): Promise<void> {
  const place = at()
  await using node = await startNode({ ...place, workers: { sleeper, flood }, concurrency: 20 })
  await using troupe = await connect(place)
  await smallSessions(troupe, 'sleeper', 20, 20)
  const alone = await smallSessions(troupe, 'sleeper', 20, 30)
  const big = await troupe.sessions.create({ kind: 'flood', input: { count: 200, ms: 2000 }, limits })
  await wait(500)
  const beside = await smallSessions(troupe, 'sleeper', 20, 12)
  await big.cancel('measured')
  tell('a session of 20 ms beside one of 200 workers of 2 s on 20 slots', {
    aloneP99: percentile(alone, 0.99),
    besideP50: percentile(beside, 0.5),
    besideP99: percentile(beside, 0.99),
    turnsOfTheOther: percentile(beside, 0.99) / 2000,
  })
  void node
}

/** How long small sessions of a kind take alone, and beside what `begin` begins. */
async function besideWork(
  place: ReturnType<typeof at>,
  kind: string,
  figure: string,
  begin: (troupe: Troupe) => Promise<void>,
) {
  await using troupe = await connect(place)
  await smallSessions(troupe, kind, 1, 20)
  const alone = percentile(await smallSessions(troupe, kind, 20, 30), 0.5)
  await begin(troupe)
  const beside = await smallSessions(troupe, kind, 20, 30)
  const besideP50 = percentile(beside, 0.5)
  tell(figure, {
    alone,
    besideP50,
    ratio: besideP50 / alone,
    besideP99: percentile(beside, 0.99),
    first: beside[0] as number,
  })
}

/** A pool beside a pool of the same node that is flooded with turns of 20 ms. */
async function poolBesideFlood(): Promise<void> {
  const place = at()
  const workers = { quick: sleeperIn('quick'), sleeper, flood }
  await using node = await startNode({ ...place, workers, concurrency: 10 })
  await besideWork(place, 'quick', 'a pool beside a flooded pool of the same node', async (troupe) => {
    // One step holds no thousand children.
    for (let half = 0; half < 2; half++)
      await troupe.sessions.create({ kind: 'flood', input: { count: 500, ms: 20 }, limits })
    await wait(300)
  })
  void node
}

/** A node beside 1 500 queued sessions of a kind that only another node hosts. */
async function besideOthersKind(): Promise<void> {
  const place = at()
  await using busy = await startNode({ ...place, workers: { sleeper, flood }, concurrency: 2 })
  await using node = await startNode({ ...place, workers: { mine: sleeperIn() }, concurrency: 10 })
  await besideWork(place, 'mine', "a node beside 1 500 sessions of another node's kind", async (troupe) => {
    await troupe.sessions.createMany(Array.from({ length: 1500 }, () => ({ kind: 'sleeper', input: 30_000 })))
  })
  void [busy, node]
}

/**
 * Gives two sessions work all the time, one of them with weight 3, and tells how many turns each gets. One step spawns 500 children at most: each turn
 * lasts so long that neither session runs out of them.
 */
async function weights(): Promise<void> {
  const place = at()
  const ended = { heavy: 0, light: 0 }
  const counted = (name: keyof typeof ended) =>
    defineWorker({
      async receive(_, self) {
        await wait(120)
        ended[name]++
        self.reply(null)
      },
    })
  const parent = (kind: string) =>
    defineWorker({
      spawns: [kind],
      limits: { children: 1000 },
      await: 'all',
      receive(message, self) {
        if (message.kind === 'input') for (let index = 0; index < 500; index++) self.spawn(kind, index)
        else if (self.openChildren === 0) self.reply(null)
      },
    })
  const workers = {
    heavy: counted('heavy'),
    light: counted('light'),
    heavies: parent('heavy'),
    lights: parent('light'),
  }
  await using node = await startNode({ ...place, workers, concurrency: 10 })
  await using troupe = await connect(place)
  const sessions = [
    await troupe.sessions.create({ kind: 'lights', input: 1, limits }),
    await troupe.sessions.create({ kind: 'heavies', input: 1, limits, weight: 3 }),
  ]
  await wait(1500)
  const from = { ...ended }
  await wait(4000)
  const [heavy, light] = [ended.heavy - from.heavy, ended.light - from.light]
  await Promise.all(sessions.map((session) => session.cancel('measured')))
  tell('turns of a session of weight 3 and of one of weight 1', { heavy, light, ratio: heavy / light })
  void node
}

const all = { smallBesideBig, poolBesideFlood, besideOthersKind, weights }
const only = process.argv[2]
try {
  for (const [name, measure] of Object.entries(all)) if (only === undefined || only === name) await measure()
} finally {
  await server.stop()
}
