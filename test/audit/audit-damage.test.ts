/** If somebody wrote over a key of a whole partition, audit names the key once, and looks at everything else. */
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { sessionIdOfRoot } from '../../src/core/ids.ts'
import { gateKeys, gatesKey, partitionKeys, sessionKeys, workerKeys } from '../../src/store/keys.ts'
import { play, type Scene, workers } from '../client/support/audit-scenes.ts'
import { spoil } from '../support/redis/spoil.ts'
import { TestTroupe } from '../support/test-troupe.ts'

let troupe: TestTroupe
let queued: string
const scenes: readonly Scene[] = ['queued', 'parentWithChildren', 'flaky', 'broken', 'backlog', 'cancelled', 'done']

beforeAll(async () => {
  troupe = await TestTroupe.connect()
  const special = defineWorker({ pool: 'special', receive() {} })
  const node = await troupe.startNode({ ...workers, special })
  const casts = await Promise.all(scenes.map((scene) => play(troupe, scene)))
  queued = casts[0]?.root as string
  const broken = casts[scenes.indexOf('broken')]?.root as string
  await node.stop()
  await troupe.redis.hset(partitionKeys(troupe.tag).nodes, 'n-1', '1 1 default  {}')
  // Audit knows the run queue of this kind by the register of kinds alone.
  await troupe.create('special')
  await quarantine(broken)
})
afterAll(() => troupe[Symbol.asyncDispose]())

/** Leaves a worker as if the message of its failed run had been quarantined. */
async function quarantine(worker: string): Promise<void> {
  const { log } = workerKeys(troupe.tag, worker)
  await troupe.redis.lpop(log)
  const end = (await troupe.redis.lindex(log, 0)) as string
  await troupe.redis.lset(log, 0, end.replace('"code":"run_failed"', '"code":"poison"'))
  await troupe.redis.hset(sessionKeys(troupe.tag, sessionIdOfRoot(worker)).runResults, '1', 'failed 0')
  await troupe.redis.xadd(partitionKeys(troupe.tag).dead, '*', 'worker', worker, 'mail', 'i\t-\t0')
}

/** Writes over a key; what stood there is put back at the end. */
async function spoilt(redis: Redis, key: string): Promise<AsyncDisposable> {
  const mend = await spoil(redis, key)
  return { [Symbol.asyncDispose]: mend }
}

type Name = keyof ReturnType<typeof partitionKeys>

/** `leases`, `run of default`, or `kindQueue of default sleeper`. */
function keyOf(name: string): string {
  const keys = partitionKeys(troupe.tag)
  const [of, pool, kind = ''] = name.split(/ of | /)
  return pool === undefined ? (keys[of as Name] as string) : keys[of as 'kindQueue'](pool, kind)
}

describe('a key of a partition that is of another sort', () => {
  test.each([
    [['leases']],
    [['timers']],
    [['asks']],
    [['sessions']],
    [['cancelling']],
    [['nodes', 'kinds']],
    [['events']],
    [['dead']],
    [['retired', 'redriven', 'wakeups of default', 'busy of default']],
    [['run of default']],
    [['run of unhosted']],
    [['kindQueues of default']],
    [['kindQueue of default sleeper']],
    [['claims of n-1']],
  ])('a key of another type (%j) is named, and the rest is whole', async (names) => {
    const whole = await troupe.client.audit()
    expect(whole.findings).toEqual([])
    await using spoils = new AsyncDisposableStack()
    for (const name of names) spoils.use(await spoilt(troupe.redis, keyOf(name)))
    const { sessions, workers: seen, findings, counts } = await troupe.client.audit()
    const what = expect.stringMatching(/ is a string and should be a (hash|zset|set|stream)$/)
    expect(findings).toEqual([{ invariant: 'key', rule: 'damaged', sessionId: null, workerId: null, what }])
    for (const name of names) expect(findings[0]?.what).toContain(`key ${keyOf(name)} is`)
    expect({ sessions, seen, counts }).toEqual({ sessions: whole.sessions, seen: whole.workers, counts: whole.counts })
  })

  test.each(['leases', 'kinds'])('a key of another type (%s) hides no fault of a worker', async (name) => {
    const { inbox } = workerKeys(troupe.tag, queued)
    await troupe.redis.rename(inbox, `aside:${inbox}`)
    await using _ = await spoilt(troupe.redis, keyOf(name))
    const { findings } = await troupe.client.audit()
    await troupe.redis.rename(`aside:${inbox}`, inbox)
    const named = new Set(findings.map(({ invariant, workerId }) => `${invariant} ${workerId}`))
    expect(named).toEqual(new Set([`I1 ${queued}`, 'key null']))
  })
})

test.each([
  ['all gates', gatesKey],
  ['those in progress at a gate', (tag: string) => gateKeys(tag, 'work:runs:all').in],
  ['the beginnings at a gate', (tag: string) => gateKeys(tag, 'work:runs:all').begun],
])('an overwritten key of %s is named', async (_, key) => {
  await troupe.redis.zadd(gatesKey(troupe.tag), 1, 'work:runs:all')
  const mend = await spoil(troupe.redis, key(troupe.tag))
  const { findings } = await troupe.client.audit()
  await mend()
  await troupe.redis.del(gatesKey(troupe.tag))
  expect(findings.map(({ what }) => what)).toEqual([expect.stringContaining(`key ${key(troupe.tag)} is a string`)])
})

test('an audit of one session names keys of its partition', async () => {
  await using _ = await spoilt(troupe.redis, keyOf('leases'))
  const [{ id } = { id: '' }] = await troupe.client.sessions.list({ kind: 'broken' })
  const { findings } = await troupe.client.audit({ sessionId: id })
  expect(findings.map(({ what }) => what)).toEqual([`key ${keyOf('leases')} is a string and should be a zset`])
})

test('the root of a session that is looked at in several groups is named once', async () => {
  await using large = await TestTroupe.start({
    // A busy machine may need longer than usual for two hundred workers.
    client: { deadlineMs: 120_000 },
    workers: {
      parent: defineWorker({
        spawns: ['child'],
        receive(message, self) {
          if (message.kind !== 'input') return
          for (let number = 0; number < 201; number++) self.spawn('child', null, { detached: true })
          self.reply(null)
        },
      }),
      child: defineWorker({ receive: (_, self) => self.reply(null) }),
    },
  })
  const session = await large.create('parent', null, { limits: { workers: 300, children: 300 } })
  await session.result()
  const { record } = workerKeys(large.tag, session.rootId)
  await large.redis.set(record, 'not what it was')
  const { findings } = await large.client.audit({ sessionId: session.id })
  expect(findings.filter(({ what }) => what.includes(record))).toMatchObject([{ workerId: session.rootId }])
})
