/** Another program has written entries into the index of sessions and into the lists of their workers. Each is a finding, and hides nothing else. */
import { expect, test } from 'vitest'
import { judge } from '../../src/client/health/findings.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { partitionKeys, rootKey, sessionKeys } from '../../src/store/keys.ts'
import { TestTroupe } from '../support/test-troupe.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
const parent = defineWorker({
  spawns: ['echo'],
  await: 'all',
  receive(message, self) {
    if (message.kind === 'input') self.spawn('echo', 'a')
    else self.reply(null)
  },
})

const sessionId = '0199f3a2-5c1e-7b04-9d68-3e0f7a21c000'
const workerId = '0199f3a2-5c1e-8b04-9d68-3e0f7a21c000'
const elsewhere = (id: string) => id.replace(/000$/, 'fff')
const texts = ['', 'x', 'x'.repeat(36), 'a b\tc:d{e}', '{"a":1}', '\u{1b}[31m', 'é'.repeat(40), elsewhere(sessionId)]

test.each([
  ...[...texts, workerId].map((entry) => ['index', entry]),
  ...[...texts, sessionId, elsewhere(workerId)].map((entry) => ['list', entry]),
] as const)(
  'an entry in the %s that is %j is a finding of doctor, and everything else is shown',
  async (where, entry) => {
    await using troupe = await TestTroupe.start({ workers: { echo, parent } })
    const { client, redis, tag } = troupe
    const session = await troupe.create('parent')
    await session.result()
    const shown = async () => [
      await client.sessions.list(),
      await client.workers.list(),
      (await session.report()).workers,
      await client.workers.list({ sessionId: session.id }),
      await client.asks.list(),
    ]
    const whole = await shown()
    if (where === 'index') await redis.zadd(partitionKeys(tag).sessions, Date.now() + 60_000, entry)
    else await redis.lpush(sessionKeys(tag, session.id).workers, entry)
    // A record at the place where that of the entry would be does not make the entry a session or a worker.
    await redis.hset(rootKey(tag, entry), 'kind', 'echo')
    expect(await shown()).toEqual(whole)
    const facts = { entries: 1, sessionId: where === 'index' ? null : session.id, entry }
    const findings = judge(await client.health())
    expect(findings.filter(({ code }) => code === 'wrong_entries')).toMatchObject([{ level: 'problem', facts }])
    await redis.del(rootKey(tag, entry))
  },
)
