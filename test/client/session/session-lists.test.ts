/** Lists of sessions and workers: newest first, page by page, over any number of partitions. */
import { describe, expect, test } from 'vitest'
import type { SessionsQuery, WorkersQuery } from '../../../src/client/queries.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { newId, partitionOf, timeOf } from '../../../src/core/ids.ts'
import { tagOf, workerKeys } from '../../../src/store/keys.ts'
import { commandsNaming } from '../../support/redis/watched-commands.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const echo = defineWorker({ description: 'Says it again.', receive: (message, self) => self.reply(message.value) })

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

  test('sessions.list finds all of a state and of a kind behind many others', async () => {
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

test('a session that is pruned while it is listed is left out', async () => {
  await using troupe = await TestTroupe.connect()
  const [gone, stays] = [await troupe.create('echo'), await troupe.create('echo')]
  await troupe.redis.del(workerKeys(troupe.tag, gone.rootId).record)
  expect((await troupe.client.sessions.list()).map(({ id }) => id)).toEqual([stays.id])
  expect(await troupe.client.sessions.list({ state: 'damaged' })).toEqual([])
})

describe('what sessions.list reads', () => {
  const namesOf = async (troupe: TestTroupe, query: SessionsQuery) =>
    (await commandsNaming(troupe.redis, troupe.tag, () => troupe.client.sessions.list(query))).map(({ name }) => name)

  test('sessions.list reads no history and no register of nodes', async () => {
    await using troupe = await TestTroupe.connect()
    await Promise.all(Array.from({ length: 5 }, (_, number) => troupe.create('echo', number)))
    const names = await namesOf(troupe, { limit: 5 })
    expect(names).toContain('hmget')
    expect(names).not.toContain('lindex')
    expect(names).not.toContain('hgetall')
  })

  test('sessions.list reads few pages, even if few sessions are wanted and many come before them', async () => {
    await using troupe = await TestTroupe.connect()
    await Promise.all(Array.from({ length: 40 }, (_, number) => troupe.create('echo', number)))
    const names = await namesOf(troupe, { limit: 1, state: 'failed' })
    expect(names.filter((name) => name.startsWith('zrevrange'))).toHaveLength(1)
  })
})

describe('sessions that go on', () => {
  test('sessions that go on are listed without a read of any that has ended', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const ended = await Promise.all(Array.from({ length: 3 }, (_, number) => troupe.create('echo', number)))
    await Promise.all(ended.map((session) => session.result()))
    const goesOn = await troupe.create('nobody', 1, { name: 'The Invoice' })
    const before = await troupe.create('nobody', 1)
    const asked = await commandsNaming(troupe.redis, `${troupe.tag}:w:`, async () => {
      const found = await troupe.client.sessions.list({ state: 'active' })
      expect(found.map(({ id }) => id)).toEqual([before.id, goesOn.id])
    })
    const named = asked.flatMap(({ args }) => args)
    for (const { rootId } of ended) expect(named.filter((arg) => arg.includes(rootId))).toEqual([])
    expect(named.filter((arg) => arg.includes(goesOn.rootId))).not.toEqual([])
    expect((await troupe.client.sessions.list({ name: 'invoice' })).map(({ id }) => id)).toEqual([goesOn.id])
    expect(await troupe.client.sessions.list({ state: 'active', before: goesOn.id })).toEqual([])
  })
})

describe('sessions.page', () => {
  test('sessions.page looks at a bounded number of sessions, says where it stopped, and goes on there', async () => {
    await using troupe = await TestTroupe.connect({ partitions: 2 })
    const wanted = await troupe.create('other')
    const others = await Promise.all(Array.from({ length: 9 }, (_, number) => troupe.create('echo', number)))
    const first = await troupe.client.sessions.page({ limit: 4 })
    expect(first.sessions).toHaveLength(4)
    expect(first.next).toBe(first.sessions.at(-1)?.id)
    const found: string[] = []
    for (let next: string | null | undefined; next !== null; ) {
      const page = await troupe.client.sessions.page({ limit: 4, ...(next === undefined ? {} : { before: next }) })
      found.push(...page.sessions.map(({ id }) => id))
      next = page.next
    }
    expect(found.toSorted()).toEqual([wanted, ...others].map(({ id }) => id).toSorted())
  })
})

describe('sessions.list over several partitions', () => {
  test('sessions.list over several partitions goes on behind the last page, even if sessions come and go in between', async () => {
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

  test('sessions.list over several partitions goes on behind a page whose last session was pruned, by the time in its id', async () => {
    await using troupe = await TestTroupe.connect()
    const first = await troupe.create('echo')
    await waitUntil('a later time', () => Date.now() > timeOf(first.id) + 50)
    const last = await troupe.create('echo')
    await waitUntil('a later time', () => Date.now() > timeOf(last.id) + 50)
    await troupe.create('echo')
    await troupe.redis.zrem(`${troupe.tag}:sessions`, last.id)
    expect((await troupe.client.sessions.list({ before: last.id })).map(({ id }) => id)).toEqual([first.id])
  })

  test('sessions.list over several partitions finds the newest of a state, in whatever partition and however far behind others', async () => {
    await using troupe = await TestTroupe.connect({ partitions: 2 })
    const createdAt = async (id: string, score: number) => {
      const tag = tagOf(troupe.namespace, partitionOf(id))
      await troupe.redis.zadd(`${tag}:sessions`, score, id)
      await troupe.redis.zadd(`${tag}:ends`, score - 4e15, id)
    }
    const created = await Promise.all(Array.from({ length: 30 }, () => troupe.create('echo')))
    const [first, second] = [0, 1].map((partition) => created.filter(({ id }) => partitionOf(id) === partition))
    const cancelled = [...(first ?? []).slice(0, 2), ...(second ?? []).slice(0, 2)]
    await Promise.all(cancelled.map((session) => session.cancel()))
    // In the first partition the cancelled sessions are the newest of all; in the second they are older than the others there, but newer than one of
    // the first.
    const scores = [90, 50, 80, 70]
    for (const { id } of created) await createdAt(id, partitionOf(id) === 1 ? 85 : 10)
    for (const [index, { id }] of cancelled.entries()) await createdAt(id, scores[index] as number)
    const found = await troupe.client.sessions.list({ state: 'cancelling', limit: 2 })
    expect(found.map(({ createdAt }) => createdAt)).toEqual([90, 80])
  })

  test('sessions.list over several partitions refuses a page that begins behind no session', async () => {
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
  test('workers.list gives at most as many as asked for, roots first, even if one session has more', async () => {
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

  test('workers.list does not take the id of a worker for that of a session, and reports one that is gone', async () => {
    await using troupe = await TestTroupe.connect()
    const { rootId } = await troupe.create('echo')
    await expect(troupe.client.workers.list({ sessionId: rootId })).rejects.toThrow(/id of a worker, whose session/)
    await expect(troupe.client.workers.list({ sessionId: newId(0) })).rejects.toMatchObject({
      code: 'session_not_found',
    })
  })
})
