/** Forks of a live session while its Redis is killed: each copy is whole, or nothing of it is there. */
import { expect, test } from 'vitest'
import type { Session } from '../../src/client/session/session.ts'
import { type TreeInput, treeResult } from '../programs/node/fault-kinds.ts'
import { Harness } from '../support/fault/harness.ts'
import { chatter, countOf, letters, settled } from '../support/fault/letters.ts'
import { expectInvariants } from '../support/fault/oracle.ts'
import { RedisServer } from '../support/redis/redis-server.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { awaitResult } from '../support/time/await-session.ts'
import { waitUntil } from '../support/time/wait-until.ts'

test('a Redis that is killed while a session of 50 workers is forked loses no letter of the session or of a copy', async () => {
  await using server = await RedisServer.start()
  await using troupe = await TestTroupe.start({ workers: chatter, redisUrl: server.url })
  const session = await troupe.create('root', { letters }, { keepOpen: true })
  await waitUntil('some letters have arrived', async () => (await countOf(session)) >= letters / 6)
  const forks: Promise<Session>[] = []
  let underWay = 0
  const fork = () => {
    underWay++
    const copy = session.fork().finally(() => underWay--)
    copy.catch(() => {})
    forks.push(copy)
  }
  for (let kill = 0; kill < 3; kill++) {
    fork()
    fork()
    // Somewhere in the middle of what a fork writes.
    await waitUntil('keys of a copy are there', async () => {
      if ((await troupe.redis.keys('*:fork:*')).length > kill * 5) return true
      // On a fast machine a copy may be whole between two looks.
      if (underWay === 0) fork()
      return false
    })
    await server.kill()
    await server.restart()
    await Promise.allSettled(forks)
  }
  const settledForks = await Promise.allSettled(forks)
  const copies = settledForks.flatMap((fork) => (fork.status === 'fulfilled' ? [fork.value] : []))
  const listed = await troupe.client.sessions.list()
  for (const { id } of copies) expect(listed.map((one) => one.id)).toContain(id)
  for (const { id } of listed) {
    const one = troupe.client.sessions.get(id)
    await settled(one)
    expect(await one.result()).toMatchObject({ status: 'completed', run: letters + 1, value: letters })
  }
  expect((await troupe.client.audit()).findings).toEqual([])
})

test('nodes that are killed around forks of a tree with timers and results: each copy gets the whole result', async () => {
  await using harness = await Harness.open()
  // However long the nodes take to start, the tree still works when the last of them is killed.
  const input: TreeInput = { children: 8, steps: 4, stepMs: 150, until: 'forked' }
  const session = await harness.client.sessions.create({ kind: 'tree', input })
  const all: Session[] = [session]
  let node = await harness.start('n0')
  for (let kill = 1; kill <= 4; kill++) {
    await waitUntil('a worker runs or has run', async () => (await session.report()).workers.length > 1)
    const copy = session.fork()
    void node.kill()
    all.push(await copy)
    node = await harness.start(`n${kill}`)
  }
  harness.ledger.append('forked')
  for (const one of all) expect(await awaitResult(one)).toMatchObject({ value: treeResult(input) })
  const { workers } = await expectInvariants(harness.redis, harness.namespace)
  expect(workers.size).toBe(all.length * (input.children + 1))
})
