/** The inbox: its first page costs the same however many asks are open. */
import { expect, test } from 'vitest'
import { newId, rootIdOf } from '../../src/core/ids.ts'
import { encodeAskBody } from '../../src/core/worker/ask/ask.ts'
import { askKey, partitionKeys, workerKeys } from '../../src/store/keys.ts'
import { RedisServer } from '../support/redis/redis-server.ts'
import { TestTroupe } from '../support/test-troupe.ts'

/** Fills the inbox with `count` open asks, the oldest first, each of a worker of its own, as scripts write them. */
async function fill({ redis, tag }: TestTroupe, count: number): Promise<void> {
  const { asks } = partitionKeys(tag)
  for (let from = 0; from < count; from += 1_000) {
    const pipeline = redis.pipeline()
    for (let number = from; number < Math.min(from + 1_000, count); number++) {
      const [id, session] = [newId(0), newId(0)]
      const worker = rootIdOf(session)
      const body = encodeAskBody({ question: `Question ${number}?` })
      pipeline.hset(workerKeys(tag, worker).record, 'status', 'parked', 'kind', 'asker')
      pipeline.hset(askKey(tag, id), { session, worker, run: '1', sort: 'question', body, at: String(number + 1) })
      pipeline.zadd(asks, number + 1, id)
    }
    await pipeline.exec()
  }
}

/** Calls, and microseconds of Redis, by command, of what happens in `work`. */
async function costOf({ redis }: TestTroupe, work: () => Promise<unknown>) {
  const read = async () => {
    const text = await redis.info('commandstats')
    const stats = text.matchAll(/^cmdstat_(\w+):calls=(\d+),usec=(\d+)/gm)
    return new Map([...stats].map(([, name, calls, usec]) => [String(name), [Number(calls), Number(usec)] as const]))
  }
  const before = await read()
  await work()
  const after = await read()
  const cost: Record<string, { calls: number; usec: number }> = {}
  for (const name of ['zrange', 'zrangebyscore', 'zcount', 'hmget', 'fcall', 'evalsha']) {
    const [calls, usec] = after.get(name) ?? [0, 0]
    const [callsBefore, usecBefore] = before.get(name) ?? [0, 0]
    if (calls > callsBefore) cost[name] = { calls: calls - callsBefore, usec: usec - usecBefore }
  }
  return cost
}

const callsIn = (cost: Record<string, { calls: number }>) =>
  Object.fromEntries(Object.entries(cost).map(([name, { calls }]) => [name, calls]))

test('the first page of 10 000 open asks is read with the commands that a few asks need, and so is the next one', async () => {
  // Nobody else calls this Redis, so its own figures count only the calls of this test.
  await using server = await RedisServer.start({ durability: 'none' })
  await using few = await TestTroupe.connect({ redisUrl: server.url })
  await using many = await TestTroupe.connect({ redisUrl: server.url })
  // Enough for the two pages that are read.
  await fill(few, 40)
  await fill(many, 10_000)
  const pageOf = (troupe: TestTroupe, after?: string) => troupe.client.asks.list({ limit: 10, after })
  const questions = Array.from({ length: 10 }, (_, number) => `Question ${number}?`)
  const costs = []
  for (const troupe of [few, many]) {
    const page = await pageOf(troupe)
    expect(page.map(({ question }) => question)).toEqual(questions)
    const first = await costOf(troupe, () => pageOf(troupe))
    const next = await costOf(troupe, () => pageOf(troupe, page.at(-1)?.id))
    costs.push({ first, next })
  }
  const [small, large] = costs
  process.stdout.write(
    `the first page of the inbox: ${JSON.stringify({ of40: small?.first, of10000: large?.first })}\n`,
  )
  expect(callsIn(large?.first ?? {})).toEqual(callsIn(small?.first ?? {}))
  expect(callsIn(large?.next ?? {})).toEqual(callsIn(small?.next ?? {}))
}, 60_000)
