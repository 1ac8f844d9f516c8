/** What programs ask of sessions: create once under a key, list, prune, reports, other namespaces, and what is refused. */
import { describe, expect, test } from 'vitest'
import { connectInternal, type Session } from '../../src/client/client.ts'
import type { WorkersQuery } from '../../src/client/queries.ts'
import { defineWorker } from '../../src/core/define-worker.ts'
import { newId, partitionOf, rootIdOf, timeOf } from '../../src/core/ids.ts'
import { hardSessionLimits } from '../../src/core/policy.ts'
import { tagOf } from '../../src/store/keys.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/wait-until.ts'

const echo = defineWorker({ description: 'Says it again.', receive: (message, self) => self.reply(message.value) })

describe('sessions.create', () => {
  test('with one idempotency key makes one session, however many ask at once', async () => {
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

  test('says of a session that its key had begun before that nothing was added to it', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const first = await troupe.create('echo', 'one', { idempotencyKey: 'k' })
    const again = await troupe.create('echo', 'two', { idempotencyKey: 'k' })
    expect([first.warning, again.id]).toEqual([null, first.id])
    expect(again.warning).toMatch(/^its idempotency key was used before: this is the session it began then/)
    expect(await again.result()).toMatchObject({ value: 'one' })
    const other = await troupe.create('nobody', 'two', { idempotencyKey: 'k' })
    expect(other.warning).toMatch(/this is the session of kind "echo" that it began then, and nothing was added/)
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
  test('refuse what is not an id', async () => {
    await using troupe = await TestTroupe.connect()
    for (const id of ['', 'abc', '../../x', newId(0).slice(1), `${newId(0)}0`, null, 7, {}]) {
      expect(() => troupe.client.sessions.get(id as string)).toThrow(expect.objectContaining({ code: 'input_invalid' }))
      expect(() => troupe.client.workers.get(id as string)).toThrow(expect.objectContaining({ code: 'input_invalid' }))
    }
  })

  test('of an id that is not known: every call is a typed error that names it', async () => {
    await using troupe = await TestTroupe.connect()
    const id = newId(0)
    const session = troupe.client.sessions.get(id)
    const found = { code: 'session_not_found', message: expect.stringContaining(id) }
    await expect(session.report()).rejects.toMatchObject(found)
    await expect(session.result()).rejects.toMatchObject(found)
    await expect(session.cancel()).rejects.toMatchObject(found)
    await expect(session.close()).rejects.toMatchObject(found)
    const worker = troupe.client.workers.get(id)
    await expect(worker.report()).rejects.toMatchObject({ code: 'worker_not_found' })
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
  test.each(mistaken)('of an id of the other sort say so: %s', async (_, call, told) => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('nobody')
    await expect(call(troupe, session)).rejects.toThrow(told)
  })

  test('of an id of a partition that the namespace does not have: a clear error', async () => {
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

describe('sessions.list', () => {
  test('gives all sessions, newest first, page by page, although many were created in one millisecond', async () => {
    await using troupe = await TestTroupe.connect()
    const created = await Promise.all(Array.from({ length: 60 }, (_, number) => troupe.create('echo', number)))
    const listed: string[] = []
    let before: string | undefined
    for (;;) {
      const page = await troupe.client.sessions.list({ limit: 7, ...(before === undefined ? {} : { before }) })
      if (page.length === 0) break
      listed.push(...page.map(({ id }) => id))
      before = page.at(-1)?.id
    }
    expect(listed.length).toBe(new Set(listed).size)
    expect(listed.toSorted()).toEqual(created.map(({ id }) => id).toSorted())
  })

  test('finds all of a state and of a kind behind many others', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const done = await Promise.all(
      [1, 2, 3].map((number) => troupe.create('echo', number, { name: `number ${number}` })),
    )
    await Promise.all(done.map((session) => session.result()))
    await Promise.all(Array.from({ length: 40 }, () => troupe.create('nobody')))
    const found = await troupe.client.sessions.list({ state: 'completed', limit: 3 })
    expect(found.map(({ id }) => id).toSorted()).toEqual(done.map(({ id }) => id).toSorted())
    expect(found[0]).toMatchObject({ kind: 'echo', state: 'completed', mode: 'job', workers: 1 })
    expect(await troupe.client.sessions.list({ kind: 'echo', limit: 100 })).toHaveLength(3)
    expect(await troupe.client.sessions.list({ kind: 'echo', state: 'active' })).toEqual([])
  })
})

describe('sessions.list over several partitions', () => {
  test('goes on behind the page before, although sessions come and go in between', async () => {
    await using troupe = await TestTroupe.connect({ partitions: 4 })
    const created = await Promise.all(Array.from({ length: 40 }, (_, number) => troupe.create('echo', number)))
    expect(new Set(created.map(({ id }) => partitionOf(id))).size).toBeGreaterThan(1)
    const all = (await troupe.client.sessions.list({ limit: 100 })).map(({ id }) => id)
    const listed: string[] = []
    let before: string | undefined
    for (;;) {
      const page = await troupe.client.sessions.list({ limit: 7, ...(before === undefined ? {} : { before }) })
      if (page.length === 0) break
      listed.push(...page.map(({ id }) => id))
      before = page.at(-1)?.id as string
      await troupe.create('echo', 'newer')
      // Pruned, as far as lists can tell.
      const gone = page[0]?.id as string
      if (gone !== before) await troupe.redis.zrem(tagOf(troupe.namespace, partitionOf(gone)).concat(':sessions'), gone)
    }
    expect(listed).toEqual(all)
    expect(listed.toSorted()).toEqual(created.map(({ id }) => id).toSorted())
  })

  test('goes on behind a page whose last session was pruned, by the time in its id', async () => {
    await using troupe = await TestTroupe.connect()
    const first = await troupe.create('echo')
    await waitUntil('a later time', () => Date.now() > timeOf(first.id) + 50)
    const last = await troupe.create('echo')
    await waitUntil('a later time', () => Date.now() > timeOf(last.id) + 50)
    await troupe.create('echo')
    await troupe.redis.zrem(`${troupe.tag}:sessions`, last.id)
    expect((await troupe.client.sessions.list({ before: last.id })).map(({ id }) => id)).toEqual([first.id])
  })

  test('finds the newest of a state, in whatever partition they lie behind others', async () => {
    await using troupe = await TestTroupe.connect({ partitions: 2 })
    const key = (partition: number) => tagOf(troupe.namespace, partition).concat(':sessions')
    const created = await Promise.all(Array.from({ length: 30 }, () => troupe.create('echo')))
    const [first, second] = [0, 1].map((partition) => created.filter(({ id }) => partitionOf(id) === partition))
    const cancelled = [...(first ?? []).slice(0, 2), ...(second ?? []).slice(0, 2)]
    await Promise.all(cancelled.map((session) => session.cancel()))
    // Of the first partition they are the newest of all; of the second older than others there, but newer than one of the first.
    const scores = [90, 50, 80, 70]
    for (const { id } of created) await troupe.redis.zadd(key(partitionOf(id)), partitionOf(id) === 1 ? 85 : 10, id)
    for (const [index, { id }] of cancelled.entries())
      await troupe.redis.zadd(key(partitionOf(id)), scores[index] as number, id)
    const found = await troupe.client.sessions.list({ state: 'cancelling', limit: 2 })
    expect(found.map(({ createdAt }) => createdAt)).toEqual([90, 80])
  })

  test('refuses a page behind what is no session', async () => {
    await using troupe = await TestTroupe.connect()
    const { rootId } = await troupe.create('echo')
    for (const [before, told] of [
      ['x', /^"x" is not a session id/],
      [rootId, /id of a worker, whose session/],
      [newId(5), /partition 5/],
    ] as const)
      await expect(troupe.client.sessions.list({ before })).rejects.toThrow(told)
  })
})

describe('workers.list', () => {
  test('gives at most as many as asked for, roots first, although one session has more', async () => {
    await using troupe = await TestTroupe.start({
      workers: {
        echo,
        parent: defineWorker({
          receive(message, self) {
            if (message.kind === 'input') for (let child = 0; child < 5; child++) self.spawn('echo', child)
            else if (self.openChildren === 0) self.reply(null)
          },
        }),
      },
    })
    const older = await troupe.create('parent')
    await older.result()
    const newer = await troupe.create('parent')
    await newer.result()
    const ids = async (query: WorkersQuery) => (await troupe.client.workers.list(query)).map(({ id }) => id)
    const all = await ids({})
    expect(all).toHaveLength(12)
    expect([all[0], all[6]]).toEqual([newer.rootId, older.rootId])
    for (const limit of [1, 2, 6, 7, 11]) expect(await ids({ limit })).toEqual(all.slice(0, limit))
    expect(await ids({ sessionId: older.id, limit: 3 })).toEqual(all.slice(6, 9))
    expect(await ids({ sessionId: older.id })).toEqual(all.slice(6))
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
  test('has the shape that interfaces.md promises', async () => {
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
          mailbox: { pending: 0, control: 0 },
          approvals: [],
          node: null,
        },
      ],
    })
    const [worker] = (await session.report()).workers
    expect(worker).toHaveProperty('updatedAt')
    expect(worker?.updatedAt).toEqual(expect.any(Number))
  })

  test('names the node that runs a worker now, and counts its runs', async () => {
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
    await waitUntil('it runs', async () => (await session.root.report()).place === 'running')
    expect(await session.root.report()).toMatchObject({ node: node.id, state: 'working', lifecycle: 'busy', runs: 1 })
    gate.resolve()
    await session.result()
    expect(await session.root.report()).toMatchObject({ node: null, runs: 1, historyLength: 2 })
  })
})

describe('namespaces', () => {
  test('are apart: ids, kinds, nodes, queues and keys of one are not seen in the other', async () => {
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
    expect((await twin.report()).workers[0]?.place).toBe('queued')
    const foreign = (await one.redis.keys(`*${session.id}*`)).filter((key) => !key.startsWith(tagOf(one.namespace, 0)))
    expect(foreign).toEqual([])
  })

  test('set up with another number of partitions are refused', async () => {
    await using troupe = await TestTroupe.connect()
    const options = { redisUrl: troupe.redisUrl, namespace: troupe.namespace }
    await expect(connectInternal({ ...options, partitions: 4 })).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('1 partition'),
    })
  })

  test('of several partitions run sessions in all of them', async () => {
    await using troupe = await TestTroupe.connect({ partitions: 3 })
    await troupe.startNode({ echo })
    const sessions = await Promise.all(Array.from({ length: 24 }, (_, number) => troupe.create('echo', number)))
    for (const [number, session] of sessions.entries()) expect(await session.result()).toMatchObject({ value: number })
    expect(new Set(sessions.map(({ id }) => id.slice(-3)))).toEqual(new Set(['000', '001', '002']))
    expect(await troupe.client.sessions.list({ limit: 100 })).toHaveLength(24)
  })
})

describe('limits of a session', () => {
  const hardest = Object.entries(hardSessionLimits)

  test.each(hardest)('%s may be as high as %d, and no higher', async (name, most) => {
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
  test('tells Redis, nodes, kinds, what waits and for how long', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo }, concurrency: 7 })
    await troupe.create('nobody')
    const health = await troupe.client.health()
    expect(health).toMatchObject({
      redis: { evictionPolicy: 'noeviction', role: 'master' },
      nodes: [{ slots: 7, kinds: ['echo'], pools: ['default'], pid: process.pid }],
      kinds: [{ kind: 'echo', pool: 'default', description: 'Says it again.', nodes: 1, hosted: true }],
      unhosted: [{ kind: 'nobody' }],
      running: 0,
      expiredLeases: 0,
      deadLetters: 0,
    })
    expect(Math.abs(health.redis.clockSkewMs)).toBeLessThan(1_000)
    expect(health.pools.find(({ pool }) => pool === 'unhosted')).toMatchObject({ queued: 1 })
  })

  test('of an address where nothing listens is one clear error, soon', async () => {
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
