/** F19: Redis is there and turns everybody away: it reads its file, or is held up by somebody else's command. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Session } from '../../../../src/client/session/session.ts'
import { type TreeInput, treeResult } from '../../../programs/node/fault-kinds.ts'
import type { Harness } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { RedisServer } from '../../../support/redis/redis-server.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { type Row, type Stage, times } from '../../row.ts'

const tree: TreeInput = { children: 4, steps: 4, stepMs: 100 }
/** Redis looks at its connections after every 1024 commands that it loads. */
const loaded = 8_192

/** Makes Redis refuse calls for this time, calls `meanwhile` during it, and returns how often a call was refused. */
type Trouble = (harness: Harness, ms: number, meanwhile: () => void) => Promise<string>

export const loadingRow: Row = {
  id: 'F19',
  promise: 'while Redis is loading or busy nodes and clients wait; then all of it ends right (I7)',
  done: 'a slow load after kill -9, and under open connections (DEBUG LOADAOF); a script without end; DEBUG SLEEP; longer than a lease',
  atOnce: 2,
  trials: ({ isLong }) =>
    Object.entries({ restart, reload, busy, asleep }).flatMap(([name, trouble]) =>
      times(isLong ? 5 : 1, name, (stage) => endure(stage, trouble, isLong ? 3_000 + 7_000 * stage.random() : 1_500)),
    ),
}

async function endure(stage: Stage, trouble: Trouble, ms: number): Promise<undefined> {
  const settings = [
    `key-load-delay ${Math.ceil((1_000 * ms) / loaded)}`,
    'lua-time-limit 50',
    ...(await debugSettings()),
  ]
  await using harness = await stage.open({ ownRedis: { settings } })
  await fill(harness.redis)
  const nodes = await Promise.all([harness.start('a'), harness.start('b')])
  const sessions = await submit(harness, 10)
  await pause(300 * stage.random())
  const late: Promise<Session[]>[] = []
  const met = await trouble(harness, ms, () => {
    late.push(submit(harness, 5))
    late[0]?.catch(() => {})
  })
  stage.say(`${Math.round(ms)} ms: ${met}`)
  const signal = AbortSignal.timeout(120_000)
  for (const session of [...sessions, ...(await Promise.all(late)).flat()]) {
    const result = await session.result({ signal })
    assert.partialDeepStrictEqual(result, { status: 'completed', value: treeResult(tree) }, `session ${session.id}`)
  }
  assert.deepEqual(
    nodes.map((node) => node.isGone),
    [false, false],
    'a node ended',
  )
  const { workers, dead } = await expectInvariants(harness.redis, harness.namespace)
  assert.deepEqual([workers.size, dead.length], [15 * (tree.children + 1), 0])
  return undefined
}

/** A client that connects again asks first whether Redis is loading, and learns that it is. */
async function restart(harness: Harness, _ms: number, meanwhile: () => void): Promise<string> {
  await harness.killRedis()
  const isBack = harness.restartRedis()
  const waiting = new Set<string>()
  await withProbe(harness.redisUrl, async (probe) => {
    await waitUntil('Redis is loading', () => isLoading(probe))
    meanwhile()
    while (await isLoading(probe)) {
      const clients = (await probe.client('LIST')) as string
      for (const [, address = ''] of clients.matchAll(/ addr=(\S+) .* cmd=info\b/g)) waiting.add(address)
    }
  })
  await isBack
  // The probe is one of them.
  assert.ok(waiting.size > 4, `only ${waiting.size} connections asked while Redis was loading`)
  return `${waiting.size - 1} connections waited for the file to be loaded`
}

/** The connections stay: whoever sends a command now is refused. */
async function reload(harness: Harness, _ms: number, meanwhile: () => void): Promise<string> {
  return withProbe(harness.redisUrl, async (probe) => {
    const loading = withProbe(harness.redisUrl, (other) => other.call('DEBUG', 'LOADAOF'))
    await waitUntil('Redis is loading', () => isLoading(probe))
    meanwhile()
    await loading
    return refusals(probe, 'LOADING')
  })
}

async function busy(harness: Harness, ms: number, meanwhile: () => void): Promise<string> {
  return withProbe(harness.redisUrl, async (probe) => {
    const script = withProbe(harness.redisUrl, (other) => other.eval('while true do end', 0))
    const killed = assert.rejects(script, /killed/)
    await pause(100)
    meanwhile()
    await pause(ms)
    await probe.script('KILL')
    await killed
    return refusals(probe, 'BUSY')
  })
}

/** No client gets an answer. */
async function asleep(harness: Harness, ms: number, meanwhile: () => void): Promise<string> {
  return withProbe(harness.redisUrl, async (probe) => {
    await probe.ping()
    const begunAt = performance.now()
    const sleeping = probe.call('DEBUG', 'SLEEP', String(ms / 1_000))
    await pause(50)
    meanwhile()
    await sleeping
    assert.ok(performance.now() - begunAt > ms - 10, 'Redis did not sleep')
    return 'nobody was answered'
  })
}

async function refusals(probe: Redis, code: string): Promise<string> {
  const count = Number(
    new RegExp(`^errorstat_${code}:count=(\\d+)`, 'm').exec(await probe.info('errorstats'))?.[1] ?? 0,
  )
  assert.ok(count > 0, `nobody was refused with ${code}`)
  return `${count} commands were refused with ${code}`
}

async function isLoading(probe: Redis): Promise<boolean> {
  return /^loading:1/m.test(await probe.info('persistence'))
}

/** A connection that speaks whether Redis is ready or not. */
async function withProbe<T>(url: string, use: (probe: Redis) => Promise<T>): Promise<T> {
  const probe = new Redis(url, { enableReadyCheck: false, maxRetriesPerRequest: null, retryStrategy: () => 10 })
  probe.on('error', () => {})
  try {
    return await use(probe)
  } finally {
    probe.disconnect()
  }
}

/** Something to load. */
async function fill(redis: Redis): Promise<void> {
  const filling = redis.pipeline()
  for (let number = 0; number < loaded; number++) filling.set(`filler:${number}`, number)
  await filling.exec()
}

/** From Redis 7 on DEBUG has to be allowed; older ones do not know that word. */
async function debugSettings(): Promise<string[]> {
  await using server = await RedisServer.start({ durability: 'none' })
  const info = await withProbe(server.url, (probe) => probe.info('server'))
  return Number(/^redis_version:(\d+)/m.exec(info)?.[1]) >= 7 ? ['enable-debug-command local'] : []
}

function submit(harness: Harness, count: number): Promise<Session[]> {
  const create = () => harness.client.sessions.create({ kind: 'tree', input: tree })
  return Promise.all(Array.from({ length: count }, create))
}
