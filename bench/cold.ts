/**
 * Duty: measures what workers that rest cost: bytes of Redis for an agent that waits and for a session that has ended, as a ratio of the text of
 * their histories, warm and packed; what packing costs; and the first turn of a worker that is packed, over that of one that is not.
 * `npm run bench:cold`; one line of JSON for each figure. `COUNT=1000`: so many of each; `waiting`, `ended` or `short` behind it: this
 * scene alone. Texts are pieces of the documentation.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { connect, defineTool, defineWorker, startNode, type Troupe } from 'troupe'
import { z } from 'zod'
import { startInternalNode } from '../src/compose.ts'
import { policy } from '../src/core/policy.ts'
import { say, scriptedModel } from '../src/models/local/scripted-model.ts'
import { openModels } from '../src/models/model-source.ts'
import { KindMaker } from '../src/runtime/node/kind-maker.ts'
import { HistoryPacker } from '../src/store/history/history-packer.ts'
import { partitionKeys, tagOf } from '../src/store/keys.ts'
import { ScriptCaller } from '../src/store/script/script.ts'
import { measureKeyMemory } from './measure/key-memory.ts'
import { median } from './measure/statistics.ts'
import { startRedisServer } from './redis-server.ts'

const count = Number(process.env.COUNT ?? 1_000)
/** Messages of people in each conversation. */
const messages = Number(process.env.MESSAGES ?? 4)
const server = await startRedisServer(process.env.PATH ?? '')
const redis = new Redis(server.url)

const docs = new URL('../docs/', import.meta.url)
const prose = readdirSync(docs)
  .filter((name) => name.endsWith('.md'))
  .map((name) => readFileSync(new URL(name, docs), 'utf8'))
  .join('\n')

/** A piece of about this many characters, never twice the same. */
function piece(about: number): string {
  const length = Math.round(about * (0.5 + Math.random()))
  const from = Math.floor(Math.random() * (prose.length - length))
  return prose.slice(from, from + length)
}

const search = defineTool({
  name: 'search_pages',
  description: 'Searches the pages.',
  effect: 'pure',
  input: z.object({ words: z.string(), most: z.number() }),
  run: () => ({
    hits: [1, 2, 3].map((rank) => ({ rank, page: `${piece(12)}.md`, score: Math.random(), text: piece(300) })),
  }),
})
const reader = defineWorker({
  instructions: 'You answer questions about pages.',
  model: scriptedModel('bench/reader', ({ messages: said }) => {
    if (said.at(-1)?.role !== 'user') return say(piece(500))
    return {
      content: [
        { type: 'text', text: piece(80) },
        {
          type: 'tool-call',
          toolCallId: `call_${Math.random().toString(36).slice(2)}`,
          toolName: 'search_pages',
          input: { words: piece(30), most: 3 },
        },
      ],
    } as const
  }),
  tools: [search],
})
const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
const workers = { reader, echo }
const maker = new KindMaker(openModels({ env: {} }))
const kinds = Object.entries(workers).map(([kind, definition]) => maker.make(kind, definition))

function tell(figure: string, values: Readonly<Record<string, number>>): void {
  const rounded = Object.entries(values).map(([name, value]) => [name, Math.round(value * 1000) / 1000])
  console.log(JSON.stringify({ figure, ...Object.fromEntries(rounded) }))
}

async function each(most: number, act: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const lane = async () => {
    for (let index = next++; index < most; index = next++) await act(index)
  }
  await Promise.all(Array.from({ length: 50 }, lane))
}

/** Packs the histories of all workers at once, whatever their age. */
async function packAll(namespace: string): Promise<{ packed: number; msEach: number; redisMsEach: number }> {
  const [began, before] = [performance.now(), await redisMs()]
  const keys = partitionKeys(tagOf(namespace, 0))
  const options = { redis, caller: new ScriptCaller(redis), keys, nodeId: 'bench' }
  const packer = new HistoryPacker({ ...options, policy: { ...policy, coldAfterMs: 0, coldEveryMs: 0 } })
  let packed = 0
  // The first walk only goes on where a node left its own.
  for (let [walk, found] = [0, 0]; walk < 2 || found > 0; walk++) {
    found = await walkOnce(packer)
    packed += found
  }
  const each = Math.max(1, packed)
  return { packed, msEach: (performance.now() - began) / each, redisMsEach: ((await redisMs()) - before) / each }
}

/** Returns how many histories it packed. */
async function walkOnce(packer: HistoryPacker): Promise<number> {
  for (let packed = 0; ; ) {
    const found = await packer.packSome()
    packed += found.packed
    if (found.done) return packed
  }
}

async function redisMs(): Promise<number> {
  const info = await redis.info('cpu')
  const seconds = (field: string) => Number(new RegExp(`${field}:([\\d.]+)`).exec(info)?.[1])
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1_000
}

/** How many bytes one conversation takes: of its history, of all its keys, and of the text in it. */
async function bytes(): Promise<{ history: number; all: number; text: number }> {
  const { byOwner, payload } = await measureKeyMemory(redis)
  const all = byOwner.history + byOwner.worker + byOwner.session + byOwner.shared
  return { history: byOwner.history / count, all: all / count, text: payload / count }
}

async function compare(
  what: string,
  make: (troupe: Troupe) => Promise<void>,
  wake?: (troupe: Troupe, run: number) => Promise<number>,
): Promise<void> {
  await redis.flushall()
  const place = { redisUrl: server.url, namespace: 'cold' }
  await using troupe = await connect(place)
  {
    // Packs nothing by itself, however long this takes.
    const never = { coldAfterMs: Number.MAX_SAFE_INTEGER }
    await using node = await startInternalNode({ ...place, kinds, concurrency: 50, policy: never })
    await make(troupe)
    void node
  }
  const plain = await wake?.(troupe, messages + 1)
  const warm = await bytes()
  const { packed, msEach, redisMsEach } = await packAll(place.namespace)
  const cold = await bytes()
  tell(`bytes of ${what}: packed, over the text of its history`, {
    count,
    packed,
    text: warm.text,
    warm: warm.all,
    cold: cold.all,
    'warm ratio': warm.all / warm.text,
    ratio: cold.all / warm.text,
    'history ratio': cold.history / warm.text,
  })
  tell(`ms to pack ${what}`, { node: msEach, redis: redisMsEach })
  const after = await wake?.(troupe, messages + 2)
  if (plain === undefined || after === undefined) return
  const figure =
    'ms of the first turn of an agent that is packed, over that of one that is not; no node has it in memory'
  tell(figure, { packed: after, plain, ratio: after / plain })
}

async function converse(troupe: Troupe): Promise<void> {
  await each(count, async () => {
    const session = await troupe.sessions.create({ kind: 'reader', input: piece(150), keepOpen: true })
    await session.result({ run: 1 })
    for (let run = 2; run <= messages; run++) {
      await session.root.send(piece(150))
      await session.result({ run })
    }
  })
}

/** Sends one message to each worker, on a node that has none of them in memory: the median in ms. */
async function wake(troupe: Troupe, run: number): Promise<number> {
  const ids = (await troupe.sessions.list({ limit: Math.min(count, 300) })).map(({ id }) => id)
  await using node = await startNode({ redisUrl: server.url, namespace: 'cold', workers })
  void node
  const times: number[] = []
  for (const id of ids) {
    const session = troupe.sessions.get(id)
    const began = performance.now()
    await session.root.send(piece(150))
    await session.result({ run })
    times.push(performance.now() - began)
  }
  return median(times)
}

const scenes: Record<string, () => Promise<void>> = {
  waiting: () => compare('an agent that waits', converse, wake),
  ended: () =>
    compare('a session of one agent that has ended', async (troupe) => {
      await each(count, async () => (await troupe.sessions.create({ kind: 'reader', input: piece(150) })).result())
    }),
  short: () =>
    compare('a session of one message that has ended', async (troupe) => {
      await each(count, async () => (await troupe.sessions.create({ kind: 'echo', input: piece(100) })).result())
    }),
}
const only = process.argv[2]
try {
  for (const [name, measure] of Object.entries(scenes)) if (only === undefined || only === name) await measure()
} finally {
  redis.disconnect()
  await server.stop()
}
