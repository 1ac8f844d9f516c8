/** A Redis that is full or read-only: whoever writes says so at once, and once, and says when it is over. */
import { expect, test } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import type { InternalNodeOptions } from '../../../src/compose.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { LoggerLike } from '../../../src/log.ts'
import { Refusals } from '../../../src/store/script/refusals.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

function linesOf() {
  const lines: string[] = []
  const note = (fields: { refusal?: unknown }, message: string) =>
    lines.push([message, fields.refusal].filter(Boolean).join(': '))
  const logger: LoggerLike = { debug: () => {}, info: note, warn: note, error: note }
  return { lines, logger }
}

const began = 'Redis takes no writes now; refused calls are made again until it does'
const over = 'Redis takes writes again'
const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

test('a refusal is reported once, however many scripts are refused, and its end when all of them are taken (REFUSALS-1)', () => {
  const { lines, logger } = linesOf()
  const say =
    (level: 'info' | 'warn') =>
    (message: string, fields: object = {}) =>
      logger[level](fields, message)
  const refusals = new Refusals({ debug: say('info'), info: say('info'), warn: say('warn'), error: say('warn') })
  refusals.accepted('a.lua')
  for (const file of ['a.lua', 'b.lua', 'a.lua']) refusals.refused(file, new Error(`no ${file}`))
  refusals.accepted('a.lua')
  refusals.accepted('c.lua')
  expect(lines).toEqual([`${began}: no a.lua`])
  refusals.accepted('b.lua')
  refusals.refused('c.lua', new Error('no'))
  expect(lines).toEqual([`${began}: no a.lua`, over, `${began}: no`])
})

test.each([
  ['full', /OOM .*It is full/, 'maxmemory', '1', '0'],
  // Without replicas it refuses as a primary whose replicas have gone.
  ['without its replicas', /NOREPLICAS .*Too few of its replicas/, 'min-replicas-to-write', '1', '0'],
])(
  'a node and a client report that Redis is %s while their call still waits, and go on when it is not',
  async (_, why, setting, bad, good) => {
    await using server = await RedisServer.start({ durability: 'none' })
    await using troupe = await TestTroupe.start({ workers: { echo }, redisUrl: server.url })
    await troupe.run('echo')
    const [ofNode, ofClient] = [linesOf(), linesOf()]
    await troupe.redis.config('SET', setting, bad)
    const logger = ofNode.logger as InternalNodeOptions['logger']
    const starting = troupe.startNode({ echo }, { logger })
    await waitUntil('the node says it', () => ofNode.lines.length > 0)
    expect(ofNode.lines).toEqual([expect.stringMatching(why)])
    await using client = await connectInternal({
      redisUrl: server.url,
      namespace: troupe.namespace,
      purpose: 'look',
      logger: ofClient.logger,
    })
    const creating = client.sessions.create({ kind: 'echo', input: 1 })
    await waitUntil('the client says it', () => ofClient.lines.length > 0)
    expect(ofClient.lines).toEqual([expect.stringMatching(why)])
    await troupe.redis.config('SET', setting, good)
    await starting
    await (await creating).result()
    expect(ofNode.lines).toContain(over)
    expect(ofClient.lines).toContain(over)
  },
)

test('a full Redis is not reported for a call that writes nothing, because it takes that', async () => {
  await using server = await RedisServer.start({ durability: 'none' })
  await using troupe = await TestTroupe.connect({ redisUrl: server.url })
  await troupe.create('echo')
  await troupe.redis.config('SET', 'maxmemory', '1')
  const { lines, logger } = linesOf()
  const place = { redisUrl: server.url, namespace: troupe.namespace }
  await using client = await connectInternal({ ...place, purpose: 'change', logger })
  expect(await client.sessions.prune()).toBe(0)
  expect(lines).toEqual([])
  await troupe.redis.config('SET', 'maxmemory', '0')
})
