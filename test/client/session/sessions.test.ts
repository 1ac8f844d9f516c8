/** What programs ask of sessions: create once under a key, list, prune, reports, other namespaces, and what is refused. */
import { describe, expect, test } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { newId, rootIdOf, sessionIdOfRoot } from '../../../src/core/ids.ts'
import { hardSessionLimits } from '../../../src/core/policy.ts'
import { tagOf } from '../../../src/store/keys.ts'
import { takeSnapshot } from '../../support/snapshot.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const echo = defineWorker({ description: 'Says it again.', receive: (message, self) => self.reply(message.value) })

describe('sessions.create', () => {
  test('one idempotency key makes one session, however many callers use it at once', async () => {
    const runs: unknown[] = []
    await using troupe = await TestTroupe.start({
      workers: {
        echo: defineWorker({
          receive(message, self) {
            runs.push(message.value)
            self.reply(message.value)
          },
        }),
      },
    })
    await using other = await connectInternal({ redisUrl: troupe.redisUrl, namespace: troupe.namespace })
    const clients = [troupe.client, other]
    const sessions = await Promise.all(
      [0, 1, 2, 3, 4].flatMap((number) =>
        clients.map((client) => client.sessions.create({ kind: 'echo', input: number, idempotencyKey: 'order 66 ✓' })),
      ),
    )
    const results = await Promise.all(sessions.map((session) => session.result()))
    expect(new Set(sessions.map((session) => session.id)).size).toBe(1)
    expect(new Set(sessions.map((session) => session.rootId)).size).toBe(1)
    expect(runs).toHaveLength(1)
    for (const result of results) expect(result).toMatchObject({ status: 'completed', value: runs[0] })
    expect(await troupe.client.sessions.list()).toHaveLength(1)
  })

  test('sessions.create says for a session that its key had begun before that nothing was added to it', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const first = await troupe.create('echo', 'one', { idempotencyKey: 'k' })
    const again = await troupe.create('echo', 'two', { idempotencyKey: 'k' })
    expect([first.warning, again.id]).toEqual([null, first.id])
    expect(again.warning).toMatch(
      /^its idempotency key was used before, for something else: this is the session it began then/,
    )
    expect((await troupe.create('echo', 'one', { idempotencyKey: 'k' })).warning).toMatch(
      /^its idempotency key was used before: this is the session it began then/,
    )
    expect(await again.result()).toMatchObject({ value: 'one' })
    const other = await troupe.create('nobody', 'two', { idempotencyKey: 'k' })
    expect(other.warning).toMatch(/this is the session of kind "echo" that it began then, and nothing was added/)
  })

  test('an input that looks like media and holds none is passed on as it is', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const input = { content: [{ type: 'file', mediaType: 'text/csv', data: [[1, 2]], url: 3 }] }
    expect(await troupe.run('echo', input)).toMatchObject({ status: 'completed', value: input })
  })

  test('a message sent twice under one key is received once', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo', 0, { keepOpen: true })
    await session.result()
    const sent = await Promise.all(Array.from({ length: 10 }, () => session.root.send('once', { idempotencyKey: 'k' })))
    expect(new Set(sent.map(({ position }) => position)).size).toBe(1)
    expect(sent.filter(({ again }) => !again)).toHaveLength(1)
    expect(await session.result({ run: 2 })).toMatchObject({ value: 'once' })
    await session.root.send('twice', { idempotencyKey: 'k2' })
    expect(await session.result({ run: 3 })).toMatchObject({ value: 'twice' })
    expect((await troupe.history(session.rootId)).filter(({ type }) => type === 'received')).toHaveLength(3)
  })

  test.each([
    ['a kind that is none', { kind: 'No Kind', input: 1 }],
    ['an empty name', { kind: 'echo', input: 1, name: '' }],
    ['a name that is too long', { kind: 'echo', input: 1, name: 'ä'.repeat(33) }],
    ['a name with a line break', { kind: 'echo', input: 1, name: 'a\nb' }],
    ['a limit that is none', { kind: 'echo', input: 1, limits: { height: 3 } }],
    ['a limit that is too high', { kind: 'echo', input: 1, limits: { workers: 1e9 } }],
    ['a limit that is no whole number', { kind: 'echo', input: 1, limits: { children: 1.5 } }],
    ['an input that JSON cannot hold', { kind: 'echo', input: 1n }],
    ['an input with a circle', { kind: 'echo', input: circle() }],
    ['an input that is a function', { kind: 'echo', input: () => 1 }],
  ])('refuses %s, and stores nothing', async (_, request) => {
    await using troupe = await TestTroupe.connect()
    await expect(troupe.client.sessions.create(request as never)).rejects.toMatchObject({ code: 'input_invalid' })
    expect(await troupe.client.sessions.list()).toEqual([])
  })
})

describe('sessions.get and workers.get', () => {
  test('sessions.get and workers.get refuse a text that is not an id', async () => {
    await using troupe = await TestTroupe.connect()
    for (const id of ['', 'abc', '../../x', newId(0).slice(1), `${newId(0)}0`, null, 7, {}]) {
      expect(() => troupe.client.sessions.get(id as string)).toThrow(expect.objectContaining({ code: 'input_invalid' }))
      expect(() => troupe.client.workers.get(id as string)).toThrow(expect.objectContaining({ code: 'input_invalid' }))
    }
  })

  test('an unknown id: every call is a typed error that names it', async () => {
    await using troupe = await TestTroupe.connect()
    const id = newId(0)
    const session = troupe.client.sessions.get(id)
    const found = { code: 'session_not_found', message: expect.stringContaining(id) }
    await expect(session.report()).rejects.toMatchObject(found)
    await expect(session.result()).rejects.toMatchObject(found)
    await expect(session.cancel()).rejects.toMatchObject(found)
    await expect(session.close()).rejects.toMatchObject(found)
    const worker = troupe.client.workers.get(id)
    for (const read of [worker.report(), worker.history(), worker.mailbox()])
      await expect(read).rejects.toMatchObject({ code: 'worker_not_found' })
    await expect(worker.send(1)).rejects.toMatchObject({
      code: 'worker_not_found',
      message: expect.stringContaining(id),
    })
  })

  const mistaken: readonly [string, (troupe: TestTroupe, session: Session) => Promise<unknown>, RegExp][] = [
    ['send', ({ client }, { id }) => client.workers.get(id).send(1), /id of a session, whose root worker is \S+\.$/],
    ['a report of a worker', ({ client }, { id }) => client.workers.get(id).report(), /id of a session, whose root/],
    ['a history', ({ client }, { id }) => client.workers.get(id).history(), /id of a session, whose root/],
    [
      'a report of a session',
      ({ client }, { rootId }) => client.sessions.get(rootId).report(),
      /id of a worker, whose/,
    ],
    ['a result', ({ client }, { rootId }) => client.sessions.get(rootId).result(), /id of a worker, whose session/],
    [
      'events',
      ({ client }, { rootId }) => client.sessions.get(rootId).events().next(),
      /id of a worker, whose session/,
    ],
    ['cancel', ({ client }, { rootId }) => client.sessions.get(rootId).cancel(), /id of a worker, whose session/],
    ['close', ({ client }, { rootId }) => client.sessions.get(rootId).close(), /id of a worker, whose session/],
    ['an audit', ({ client }, { rootId }) => client.audit({ sessionId: rootId }), /id of a worker, whose session/],
  ]
  test.each(mistaken)(
    'sessions.get and workers.get say so if the id is of the other type: %s',
    async (_, call, told) => {
      await using troupe = await TestTroupe.connect()
      const session = await troupe.create('nobody')
      await expect(call(troupe, session)).rejects.toThrow(told)
    },
  )

  test('the id of a child, written as the id of a session, finds no session, and the child goes on', async () => {
    const workers = {
      parent: defineWorker({
        spawns: ['child'],
        receive(message, self) {
          if (message.kind === 'input') self.spawn('child', null)
          else self.reply(message.value)
        },
      }),
      child: defineWorker({
        receive: (message, self) => (message.kind === 'input' ? self.after(60_000, 'never') : self.reply('done')),
      }),
    }
    await using troupe = await TestTroupe.start({ workers })
    const session = await troupe.create('parent')
    const { client } = troupe
    await waitUntil('the child waits', async () => {
      const [, child] = await client.workers.list({ sessionId: session.id })
      return child?.status === 'parked'
    })
    const [, child] = await client.workers.list({ sessionId: session.id })
    const id = sessionIdOfRoot(child?.id as string)
    const none = client.sessions.get(id)
    const before = await takeSnapshot(troupe.redis, troupe.namespace)
    const reads: Promise<unknown>[] = [
      none.report(),
      none.result(),
      none.events().next(),
      client.audit({ sessionId: id }),
    ]
    reads.push(client.workers.list({ sessionId: id }))
    const calls: Promise<unknown>[] = [...reads, none.cancel(), none.close(), none.limit({ tokens: 1 })]
    for (const answer of await Promise.allSettled(calls))
      expect(answer).toMatchObject({ reason: { code: 'session_not_found' } })
    expect(await takeSnapshot(troupe.redis, troupe.namespace)).toEqual(before)
  })

  test('an id of a partition that the namespace does not have is a clear error', async () => {
    await using troupe = await TestTroupe.connect()
    const { client, namespace } = troupe
    await troupe.create('nobody')
    const id = newId(5)
    const why = `is not known: its id is of partition 5, which namespace "${namespace}" does not have; check the id and the namespace.`
    const session = { code: 'session_not_found', message: `session ${id} ${why}` }
    const worker = { code: 'worker_not_found', message: `worker ${rootIdOf(id)} ${why}` }
    expect(() => client.sessions.get(id)).toThrow(expect.objectContaining(session))
    expect(() => client.workers.get(rootIdOf(id))).toThrow(expect.objectContaining(worker))
    await expect(client.audit({ sessionId: id })).rejects.toMatchObject(session)
    await expect(client.workers.list({ sessionId: id })).rejects.toMatchObject(session)
    await expect(client.redrive({ workerId: rootIdOf(id) })).rejects.toMatchObject(worker)
  })
})

describe('sessions.prune', () => {
  test('removes finished sessions with all their keys, and no others', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        echo,
        parent: defineWorker({
          receive(message, self) {
            if (message.kind === 'input') for (let child = 0; child < 3; child++) self.spawn('echo', 'x'.repeat(200))
            else if (self.openChildren === 0) self.reply(null)
          },
        }),
      },
    })
    const finished = await Promise.all([1, 2, 3].map(() => troupe.create('parent')))
    await Promise.all(finished.map((session) => session.result()))
    const open = await troupe.create('echo', 1, { keepOpen: true })
    await open.result()
    expect(await troupe.client.sessions.prune()).toBe(0)
    expect(await troupe.client.sessions.prune({ olderThanMs: 0 })).toBe(3)
    expect((await troupe.client.sessions.list()).map(({ id }) => id)).toEqual([open.id])
    await expect(finished[0]?.report()).rejects.toMatchObject({ code: 'session_not_found' })
    const keys = await troupe.redis.keys(`${troupe.tag}:[ws]:*`)
    for (const key of keys) expect(key.includes(open.id) || key.includes(open.rootId)).toBe(true)
  })
})

describe('the report', () => {
  test('a report has the shape that interfaces.md promises', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo', 1, { name: 'mine', limits: { workers: 5 } })
    await session.result()
    expect(await session.report()).toMatchObject({
      session: {
        id: session.id,
        name: 'mine',
        state: 'completed',
        createdAt: expect.any(Number),
        finishedAt: expect.any(Number),
        limits: { workers: 5, children: 20, depth: 5, mailbox: 1_000 },
        usage: { workers: 1 },
        result: { run: 1, status: 'completed' },
        failure: null,
      },
      workers: [
        {
          id: session.rootId,
          name: 'mine',
          kind: 'echo',
          parentId: null,
          depth: 0,
          lifecycle: 'idle',
          state: 'inactive',
          run: 'Idle',
          lastFailure: null,
          iterations: 0,
          usage: {},
          mailbox: { pending: 0, signals: 0 },
          approvals: [],
          node: null,
        },
      ],
    })
    const [worker] = (await session.report()).workers
    expect(worker).toHaveProperty('updatedAt')
    expect(worker?.updatedAt).toEqual(expect.any(Number))
  })

  test('a report names the node that runs a worker now, and counts its runs', async () => {
    const gate = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.connect()
    const node = await troupe.startNode({
      gated: defineWorker({
        async receive(_, self) {
          await gate.promise
          self.reply(null)
        },
      }),
    })
    const session = await troupe.create('gated')
    await waitUntil('it runs', async () => (await session.root.report()).status === 'running')
    expect(await session.root.report()).toMatchObject({ node: node.id, state: 'working', lifecycle: 'busy', runs: 1 })
    gate.resolve()
    await session.result()
    expect(await session.root.report()).toMatchObject({ node: null, runs: 1, historyLength: 2 })
  })
})

describe('namespaces', () => {
  test('namespaces are apart: ids, kinds, nodes, queues and keys of one are not seen in the other', async () => {
    await using one = await TestTroupe.start({ workers: { echo } })
    await using two = await TestTroupe.connect()
    const session = await one.create('echo', 'secret', { idempotencyKey: 'same key' })
    await session.result()
    expect(await two.client.sessions.list()).toEqual([])
    expect(await two.client.kinds()).toEqual([])
    expect(await two.client.nodes()).toEqual([])
    await expect(two.client.sessions.get(session.id).report()).rejects.toMatchObject({ code: 'session_not_found' })
    await expect(two.client.workers.get(session.rootId).send(1)).rejects.toMatchObject({ code: 'worker_not_found' })
    const twin = await two.create('echo', 'other', { idempotencyKey: 'same key' })
    expect(twin.id).not.toBe(session.id)
    expect((await twin.report()).workers[0]?.status).toBe('queued')
    const foreign = (await one.redis.keys(`*${session.id}*`)).filter((key) => !key.startsWith(tagOf(one.namespace, 0)))
    expect(foreign).toEqual([])
  })

  test('namespaces that were set up with another number of partitions are refused', async () => {
    await using troupe = await TestTroupe.connect()
    const options = { redisUrl: troupe.redisUrl, namespace: troupe.namespace }
    await expect(connectInternal({ ...options, partitions: 4 })).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('1 partition,'),
    })
  })

  test('a namespace of several partitions runs sessions in all of them', async () => {
    await using troupe = await TestTroupe.connect({ partitions: 3 })
    await troupe.startNode({ echo })
    // Creates so many sessions that all of them miss a partition only once in 100 000 000 times.
    const sessions = await Promise.all(Array.from({ length: 48 }, (_, number) => troupe.create('echo', number)))
    for (const [number, session] of sessions.entries()) expect(await session.result()).toMatchObject({ value: number })
    expect(new Set(sessions.map(({ id }) => id.slice(-3)))).toEqual(new Set(['000', '001', '002']))
    expect(await troupe.client.sessions.list({ limit: 100 })).toHaveLength(48)
  })
})

describe('limits of a session', () => {
  const hardest = Object.entries(hardSessionLimits)

  test.each(hardest)('a limit %s may be as high as %d, and no higher', async (name, most) => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('echo', 1, { limits: { [name]: most } })
    expect((await session.report()).session.limits).toMatchObject({ [name]: most })
    for (const wrong of [most + 1, name === 'depth' ? -1 : 0])
      await expect(troupe.create('echo', 1, { limits: { [name]: wrong } })).rejects.toMatchObject({
        code: 'input_invalid',
        message: expect.stringContaining(`the limit "${name}" must be a whole number from `),
      })
    const least = name === 'depth' ? 0 : 1
    const small = await troupe.create('echo', 1, { limits: { [name]: least } })
    expect((await small.report()).session.limits).toMatchObject({ [name]: least })
  })
})

describe('health', () => {
  test('health shows Redis, nodes, kinds, how many workers wait and for how long', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo }, concurrency: 7 })
    await troupe.create('nobody')
    const asked = Date.now()
    const health = await troupe.client.health()
    const answeredMs = Date.now() - asked
    expect(health).toMatchObject({
      redis: { evictionPolicy: 'noeviction', role: 'master' },
      nodes: [{ slots: 7, kinds: ['echo'], pools: ['default'], pid: process.pid }],
      kinds: [{ kind: 'echo', pool: 'default', description: 'Says it again.', nodes: 1, hosted: true }],
      unhosted: [{ kind: 'nobody' }],
      running: 0,
      expiredLeases: 0,
      deadLetters: 0,
    })
    // The same clock, read at two moments of the question.
    expect(Math.abs(health.redis.clockSkewMs)).toBeLessThanOrEqual(answeredMs + 1)
    expect(health.pools.find(({ pool }) => pool === 'unhosted')).toMatchObject({ queued: 1 })
  })

  test('an address where nothing listens is one clear error, soon', async () => {
    const options = { redisUrl: 'redis://user:secret@127.0.0.1:1', deadlineMs: 300 }
    const refused = connectInternal(options)
    await expect(refused).rejects.toMatchObject({ code: 'store_unavailable', retryable: true })
    await expect(refused).rejects.not.toThrow(/secret/)
  })
})

function circle(): unknown {
  const made: Record<string, unknown> = {}
  made.self = made
  return made
}

test('a send to a session that is being cancelled is refused as that, not as finished', async () => {
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('nobody', 'x')
  await session.cancel()
  await expect(session.root.send('more')).rejects.toMatchObject({
    code: 'session_finished',
    message: `the session of worker ${session.rootId} is being cancelled and takes no more messages: create a new session.`,
  })
})
