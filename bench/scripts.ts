/**
 * Duty: measures for how long scripts hold Redis with the most that a user may ask: the longest call of each script, by the slow log of Redis, in
 * scenes that take limits to their end. `npm run bench:scripts`; one line of JSON for each scene. The bound is 10 ms.
 */
import { Redis } from 'ioredis'
import { connect, defineWorker, startNode, type Troupe } from 'troupe'
import { z } from 'zod'
import { startRedisServer } from './redis-server.ts'

const boundMs = 10
const repeats = Number(process.env.REPEATS ?? 5)
const server = await startRedisServer(process.env.PATH ?? '')
const redis = new Redis(server.url)
await redis.config('SET', 'slowlog-log-slower-than', '1000')
await redis.config('SET', 'slowlog-max-len', '10000')

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const text = (bytes: number) => 'x'.repeat(bytes)

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
/** Waits until it is cancelled, or for a minute. */
const sleeper = defineWorker({
  receive(message, self) {
    if (message.kind === 'input') self.after(60_000, null)
    else self.reply(null)
  },
})
/** Replies with 100 KB, in no order. */
const large = defineWorker({
  async receive(_, self) {
    await wait(Math.random() * 200)
    self.reply(text(100_000))
  },
})
interface Order {
  readonly kind: 'echo' | 'sleeper' | 'large' | 'copier'
  readonly count: number
  readonly bytes: number
  /** Each child gets a name and a kind other than its sibling's: then none has the record of another. */
  readonly named?: boolean
}
const parent = defineWorker<{ left: number }, Order>({
  state: z.object({ left: z.number() }),
  initial: { left: 0 },
  spawns: ['echo', 'other', 'sleeper', 'large', 'copier'],
  await: 'all',
  limits: { children: 1_000 },
  receive(message, self) {
    if (message.kind !== 'input') return self.openChildren === 0 ? self.reply(null) : undefined
    const { kind, count, bytes, named } = message.value
    const name = (index: number) => `${index} ${text(60 - String(index).length)}`
    for (let index = 0; index < count; index++) {
      if (named) self.spawn(index % 2 === 0 ? kind : 'other', text(bytes), { name: name(index) })
      else self.spawn(kind, text(bytes))
    }
  },
})
/** A handler that sets as many timers in one step as its input says. */
const clock = defineWorker<null, number>({
  receive(message, self) {
    if (message.kind !== 'input') return
    for (let index = 0; index < message.value; index++) self.after(60_000 + index, null)
  },
})
/** A handler that asks as many questions in one step as its input says. */
const asker = defineWorker<null, number>({
  receive(message, self) {
    if (message.kind !== 'input') return
    for (let index = 0; index < message.value; index++) self.ask('May I?')
  },
})
/** A handler that sends to these workers in one step. */
const sender = defineWorker<null, string[]>({
  receive(message, self) {
    if (message.kind !== 'input') return
    for (const id of message.value) self.send(id, 'hello')
    self.reply(null)
  },
})
/** Passes as much as one receive may: it keeps what it received, replies with the rest, and its parent gets that. */
const copier = defineWorker<string, string>({
  initial: '',
  receive(message, self) {
    self.setState(message.kind === 'input' ? message.value.slice(0, 200_000) : '')
    self.reply(text(1_000_000))
  },
})
/** Sets timers of a megabyte, and receives them. */
const alarm = defineWorker<number, number>({
  initial: 0,
  receive(message, self) {
    if (message.kind === 'input') for (let index = 0; index < message.value; index++) self.after(3_000, text(1_000_000))
    else if (self.state === 1) self.reply(null)
    else self.setState(1)
  },
})
const workers = { echo, other: echo, sleeper, large, parent, clock, asker, sender, copier, alarm }
const limits = { workers: 100_000, children: 1_000, mailbox: 100_000 }

/** The longest call of each script that took a millisecond or more. */
async function longest(): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  for (const entry of (await redis.call('SLOWLOG', 'GET', '-1')) as [number, number, number, string[]][]) {
    const [, , micros, words] = entry
    const [command = '', name = ''] = words
    // Commands within a script are logged as well; BullMQ calls its own by their digests.
    const [, script] = /^fcall$/i.test(command) ? (/^troupe_[0-9a-f]+_(.*)$/.exec(name) ?? []) : []
    if (script === undefined) continue
    found[script] = Math.max(found[script] ?? 0, micros / 1_000)
  }
  return Object.fromEntries(Object.entries(found).toSorted(([, a], [, b]) => b - a))
}

/** The longest call of a scene; of several repeats the shortest of these counts, because another process that has the core counts as work of Redis. */
async function scene(name: string, act: (troupe: Troupe) => Promise<unknown>): Promise<void> {
  let calls: Record<string, number> | undefined
  for (let repeat = 0; repeat < repeats; repeat++) {
    const found = await longestIn(act)
    const known: Record<string, number> = calls ?? found
    calls = Object.fromEntries(Object.entries(known).map(([script, ms]) => [script, Math.min(ms, found[script] ?? 1)]))
  }
  const over = Object.entries(calls ?? {}).flatMap(([script, ms]) => (ms > boundMs ? [script] : []))
  console.log(JSON.stringify({ figure: `ms of the longest call of each script: ${name}`, over, ...calls }))
}

async function longestIn(act: (troupe: Troupe) => Promise<unknown>): Promise<Record<string, number>> {
  await redis.flushall()
  await redis.call('SLOWLOG', 'RESET')
  const place = { redisUrl: server.url, namespace: 'scripts' }
  await using troupe = await connect({ ...place, deadlineMs: 60_000 })
  await using node = await startNode({ ...place, workers, concurrency: 50 })
  void node
  await act(troupe)
  return await longest()
}

async function run(troupe: Troupe, input: Order): Promise<void> {
  const session = await troupe.sessions.create({ kind: 'parent', input, limits })
  await session.result()
}

const scenes: Record<string, () => Promise<void>> = {
  children: () =>
    scene('750 children in one step, the most that it may hold, and pruning them', async (troupe) => {
      await run(troupe, { kind: 'echo', count: 750, bytes: 50 })
      await troupe.sessions.prune({ olderThanMs: 0 })
    }),
  named: () =>
    scene('750 children in one step, each with a name, of two kinds by turns', (troupe) =>
      run(troupe, { kind: 'echo', count: 750, bytes: 50, named: true }),
    ),
  inputs: () =>
    scene('375 children with 3 500 bytes each, the most that a step may hold in both ways', (troupe) =>
      run(troupe, { kind: 'echo', count: 375, bytes: 3_450 }),
    ),
  bytes: () =>
    scene('3 children with 860 KB each, as many bytes as a step may hold', (troupe) =>
      run(troupe, { kind: 'echo', count: 3, bytes: 860_000 }),
    ),
  copies: () =>
    scene('a child that receives a megabyte, keeps 200 KB, and replies with a megabyte', (troupe) =>
      run(troupe, { kind: 'copier', count: 1, bytes: 1_000_000 }),
    ),
  gather: () =>
    scene('200 results of 100 KB that come in no order, gathered by one parent', (troupe) =>
      run(troupe, { kind: 'large', count: 200, bytes: 1 }),
    ),
  cancel: () =>
    scene('a cancel of 750 children that wait', async (troupe) => {
      const session = await troupe.sessions.create({
        kind: 'parent',
        input: { kind: 'sleeper', count: 750, bytes: 50 } satisfies Order,
        limits,
      })
      while ((await troupe.workers.list({ sessionId: session.id, limit: 2_000 })).length < 751) await wait(200)
      await wait(2_000)
      await session.cancel()
      await session.result()
      await troupe.sessions.prune({ olderThanMs: 0 })
    }),
  sends: () =>
    scene('500 messages to other sessions in one step, the most that it may hold', async (troupe) => {
      const rests = await troupe.sessions.createMany(
        Array.from({ length: 500 }, () => ({ kind: 'echo', input: 'first', keepOpen: true })),
      )
      const others = rests.flatMap((made) => (made.status === 'fulfilled' ? [made.value] : []))
      for (const other of others) await other.result({ run: 1 })
      const session = await troupe.sessions.create({ kind: 'sender', input: others.map(({ rootId }) => rootId) })
      await session.result()
    }),
  asks: () =>
    scene('1 000 asks in one step, and a cancel of them', async (troupe) => {
      const session = await troupe.sessions.create({ kind: 'asker', input: 1_000 })
      await wait(2_000)
      await session.cancel()
      await session.result()
    }),
  inbox: () =>
    scene('pruning a session that has asked 5 000 questions', async (troupe) => {
      const session = await troupe.sessions.create({ kind: 'asker', input: 1_000, keepOpen: true })
      for (let run = 1; run <= 5; run++) {
        if (run > 1) await session.root.send(1_000)
        await wait(1_000)
        await session.root.cancelRun()
        await session.result({ run })
      }
      await session.cancel()
      await session.result()
      await troupe.sessions.prune({ olderThanMs: 0 })
    }),
  alarms: () =>
    scene('20 timers of a megabyte each that are due at once', async (troupe) => {
      const made = await troupe.sessions.createMany(Array.from({ length: 10 }, () => ({ kind: 'alarm', input: 2 })))
      for (const one of made) if (one.status === 'fulfilled') await one.value.result()
    }),
  timers: () =>
    scene('2 000 timers in one step, and a cancel of them', async (troupe) => {
      const session = await troupe.sessions.create({ kind: 'clock', input: 2_000 })
      await wait(2_000)
      await session.cancel()
      await session.result()
    }),
  many: () =>
    scene('5 000 sessions in one call, and pruning them', async (troupe) => {
      await troupe.sessions.createMany(Array.from({ length: 5_000 }, () => ({ kind: 'echo', input: text(1_000) })))
      while ((await troupe.sessions.list({ state: 'active', limit: 1 })).length > 0) await wait(200)
      await troupe.sessions.prune({ olderThanMs: 0 })
    }),
  large: () =>
    scene('an input and a result of a megabyte, and an audit', async (troupe) => {
      const session = await troupe.sessions.create({ kind: 'echo', input: text(1_000_000) })
      await session.result()
      await troupe.audit()
    }),
}

const only = process.argv.slice(2).find((word) => !word.startsWith('--'))
try {
  for (const [name, measure] of Object.entries(scenes)) if (only === undefined || only === name) await measure()
} finally {
  redis.disconnect()
  await server.stop()
}
