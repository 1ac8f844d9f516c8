/** A session is created with its root worker and the first message, in one script. */
import { describe, expect, test, vi } from 'vitest'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import { defaultSessionLimits, defaultSpending } from '../../../src/core/policy.ts'
import { prepareForkScript } from '../../../src/store/script/scripts.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { Place } from '../support/place.ts'
import { aSession } from '../support/session/create-checks.ts'

describe('creating a session', () => {
  test('a session is its record, its root in the run queue with the first message, and one wake-up', async () => {
    await using place = await Place.open()
    const limits = { workers: 9, children: 8, depth: 7, mailbox: 6 }
    expect(await place.changed(() => place.create({ limits }))).toEqual({
      sessions: ['<one> now'],
      ends: ['<one> goes on since now'],
      's:<one>': { wakeups: 'w*-default-1' },
      'w:<one.root>': { status: 'queued', kind: 'echo', name: 'one', limits: '9 8 7 6' },
      'w:<one.root>:mail:inbox': ['i\t-\t"first"'],
      'run:default': ['<one.root> now'],
      'wakeups:default': ['w*-default-1 now+20s'],
      events: [['session.created <one.root>']],
    })
  })

  test('a conversation says so in the record of its root', async () => {
    await using place = await Place.open()
    const changed = await place.changed(() => place.create({ mode: 'conversation' }))
    expect(changed['w:<one.root>']).toMatchObject({ mode: 'conversation' })
  })

  test('a session without a first message is its record and its history, and nothing wakes it', async () => {
    await using place = await Place.open()
    const changed = await place.changed(() =>
      place.create({ mode: 'conversation', history: ['{"a":1}', '{"b":2}'], rests: true }),
    )
    expect(changed).toEqual({
      sessions: ['<one> now'],
      ends: ['<one> goes on since now'],
      's:<one>': {},
      'w:<one.root>': { status: 'idle', kind: 'echo', name: 'one', mode: 'conversation', version: '1' },
      'w:<one.root>:log': ['{"a":1}', '{"b":2}'],
      events: [['session.created <one.root>']],
    })
  })

  test('a long history is written in pieces, none of which has many bytes', async () => {
    await using place = await Place.open()
    const history = Array.from({ length: 6 }, (_, number) => JSON.stringify({ number, text: 'x'.repeat(60_000) }))
    const calls = vi.spyOn(place.caller, 'call')
    const { root } = await place.create({ mode: 'conversation', history, rests: true })
    const pieces = calls.mock.calls.flatMap(([script, , args]) => (script === prepareForkScript ? [args.texts] : []))
    expect(pieces).toEqual([history.slice(0, 3), history.slice(3)])
    expect(await place.redis.lrange(place.workerKeys(root).log, 0, -1)).toEqual(history)
  })

  test('a worker of another pool waits in the queue of that pool', async () => {
    await using place = await Place.open()
    const changed = await place.changed(() => place.create({ pool: 'gpu-2_b', kind: 'paint' }))
    expect(changed).toMatchObject({
      'run:gpu-2_b': ['<one.root> now'],
      'wakeups:gpu-2_b': ['w*-gpu-2_b-1 now+20s'],
      'w:<one.root>': { pool: 'gpu-2_b', kind: 'paint' },
    })
    expect(changed).not.toHaveProperty('run:default')
  })

  test('a worker of a kind that no node hosts waits without a wake-up', async () => {
    await using place = await Place.open()
    const changed = await place.changed(() => place.create({ pool: 'unhosted', kind: 'later' }))
    expect(changed['run:unhosted']).toEqual(['<one.root> now'])
    expect(Object.keys(changed).filter((key) => key.startsWith('wakeups'))).toEqual([])
    expect(changed['s:<one>']).toEqual({})
  })

  test('a second session of a pool without slots brings no second wake-up: one awake slot takes both', async () => {
    await using place = await Place.open()
    await place.create()
    const changed = await place.changed(() => place.create({ label: 'two' }))
    expect(changed['run:default']).toEqual(['<one.root> now', '<two.root> now'])
    expect(changed).not.toHaveProperty('wakeups:default')
  })

  test('the same session again is the first one, with its wake-ups, and nothing is written', async () => {
    await using place = await Place.open()
    const first = await place.create()
    const before = await place.dump()
    const again = await place.sessions.create({
      sessionId: first.id,
      kind: 'other',
      name: 'other',
      pool: 'other',
      mode: 'conversation',
      mail: 'i\t-\t"other"',
      keyDigest: null,
      limits: { workers: 1, children: 1, depth: 1, mailbox: 1, ...defaultSpending },
      event: '[]',
    })
    expect(again).toEqual({
      kind: 'again',
      sessionId: first.id,
      workerId: first.root,
      wakeups: first.wakeups.map((id) => ({ id, pool: 'default' })),
    })
    expect(await place.dump()).toEqual(before)
  })
})

describe('a session under a key that the caller gave', () => {
  test('a session under a key is found again under that key by a caller that made another id for it', async () => {
    await using place = await Place.open()
    const first = await place.create({ key: 'order-7' })
    expect(await place.dump()).toMatchObject({
      'idem:<order-7>': expect.stringMatching(/^<one> [\w-]{22} w\*-default-1 \| for 86400s$/),
    })
    const before = await place.dump()
    const again = await place.create({ key: 'order-7', label: 'two' })
    expect(again).toEqual(first)
    expect(await place.dump()).toEqual(before)
  })

  test('a session under a key is found even if it had brought no wake-up', async () => {
    await using place = await Place.open()
    await place.create({ label: 'zero' })
    const first = await place.create({ key: 'order-8' })
    expect(first.wakeups).toEqual([])
    expect(await place.create({ key: 'order-8', label: 'two' })).toEqual(first)
  })

  test.each([
    { kind: 'paint' },
    { name: 'another' },
    { mode: 'conversation' },
    { mail: 'i\t-\t2' },
    { permissions: 'tools a' },
    { limits: { ...defaultSessionLimits, workers: 7 } },
    { limits: { ...defaultSessionLimits, tokens: 7 } },
  ] as const)('a session under a key is not found by a request with %j', async (more) => {
    await using place = await Place.open()
    const { id } = await place.create()
    const [first = '', second = ''] = ['e', 'f'].map((digit) => id.replace(/^./, digit))
    const order = { ...aSession, keyDigest: 'key' }
    await place.sessions.create({ ...order, sessionId: first })
    const other = await place.sessions.create({ ...order, ...more, sessionId: second })
    expect(other).toMatchObject({ kind: 'other', sessionId: first })
  })

  test('another key is another session', async () => {
    await using place = await Place.open()
    const first = await place.create({ key: 'a' })
    const second = await place.create({ key: 'b', label: 'two' })
    expect(second.id).not.toBe(first.id)
  })
})

test('two calls that create one session at the same time make one session', async () => {
  await using place = await Place.open()
  const sessionId = place.label(newId(0), 'one')
  place.label(rootIdOf(sessionId), 'one.root')
  await Promise.all(Array.from({ length: 20 }, () => place.sessions.create({ ...aSession, sessionId })))
  expect(await place.dump()).toMatchObject({
    sessions: ['<one> now'],
    'run:default': ['<one.root> now'],
    'w:<one.root>:mail:inbox': ['i\t-\t1'],
    'wakeups:default': ['w*-default-1 now+20s'],
  })
})

test('a call that Redis did not answer says that the session may be there: by its id, or how its key finds it', async () => {
  await using server = await RedisServer.start({ durability: 'none' })
  await using place = await Place.open({ redisUrl: server.url, deadlineMs: 500 })
  const created = (more: object) => place.sessions.create({ ...aSession, sessionId: newId(0), ...more })
  await waitUntil('Redis knows the script', () => created({}).catch(() => null))
  const [sessionId, other] = [newId(0), newId(0)]
  server.freeze()
  const late = await Promise.allSettled([created({ sessionId }), created({ sessionId: other, keyDigest: 'key' })])
  server.thaw()
  const how = expect.stringMatching(/may have been created: call again with the same idempotency key/)
  const where = expect.stringContaining(`may have been created: \`troupe session show ${sessionId}\``)
  expect(late.map((one) => (one as { readonly reason?: unknown }).reason)).toMatchObject([
    { code: 'store_unavailable', message: where, details: { sessionId } },
    { code: 'store_unavailable', message: how, details: {} },
  ])
  await waitUntil('it is there', () => place.redis.zscore(place.keys.sessions, sessionId))
  const again = await waitUntil('Redis answers', () => created({ keyDigest: 'key' }).catch(() => null))
  expect(again).toMatchObject({ kind: 'again', sessionId: other })
})
