/** If the definition of a kind names another pool than before, its workers go on in that pool. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { partitionKeys } from '../../../src/store/keys.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { hourMs, makeTimersDue } from '../../support/time/due-timers.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const kind = (pool: string) =>
  defineWorker({
    pool,
    receive: (message, self) =>
      message.kind === 'input' ? self.after(message.value as number, null) : self.reply('done'),
  })

test('a worker that was parked before its kind moved to another pool runs when it wakes', async () => {
  await using troupe = await TestTroupe.connect()
  const first = await troupe.startNode({ moved: kind('old') })
  const session = await troupe.create('moved', hourMs)
  await waitUntil('it is parked', async () => (await session.root.report()).status === 'parked')
  await first.stop()
  await troupe.startNode({ moved: kind('new') })
  await makeTimersDue(troupe)
  expect(await awaitResult(session)).toMatchObject({ value: 'done' })
})

test('a session that a client creates just after its kind moved to another pool runs', async () => {
  await using troupe = await TestTroupe.connect()
  const first = await troupe.startNode({ moved: kind('old') })
  expect(await troupe.run('moved', 0)).toMatchObject({ value: 'done' })
  await first.stop()
  // The client remembers the pool of a kind for a second.
  await troupe.create('moved', 0)
  await troupe.startNode({ moved: kind('new') })
  const session = await troupe.create('moved', 0)
  expect(await awaitResult(session)).toMatchObject({ value: 'done' })
})

test('a client that created sessions before a kind moved learns where it is hosted now', async () => {
  await using troupe = await TestTroupe.connect()
  expect((await troupe.create('moved')).warning).not.toBeNull()
  await troupe.startNode({ moved: kind('new') })
  const isHosted = async () => (await troupe.create('moved')).warning === null
  expect(await waitUntil('a session waits for no node', isHosted)).toBe(true)
})

test('a worker in the run queue of its former pool, while no node is live, is no finding of audit or doctor', async () => {
  await using troupe = await TestTroupe.connect()
  const echo = (pool: string) => defineWorker({ pool, receive: (message, self) => self.reply(message.value) })
  const first = await troupe.startNode({ moved: echo('old') })
  const session = await troupe.create('moved', 1, { keepOpen: true })
  await session.result({ run: 1 })
  await waitUntil('it is idle', async () => (await session.root.report()).status === 'idle')
  await first.stop()
  await (await troupe.startNode({ moved: echo('new') })).stop()
  await session.root.send(2)
  expect(await troupe.redis.zcard(partitionKeys(troupe.tag).run('old'))).toBe(1)
  expect((await troupe.client.audit()).findings).toEqual([])
  expect((await troupe.client.health()).stranded).toEqual([])
})

test.each([1, 2, 3])(
  'a kind whose only node died as soon as it was ready runs where it is hosted next (time %i)',
  async () => {
    await using troupe = await TestTroupe.connect()
    const echo = (pool: string) => defineWorker({ pool, receive: (message, self) => self.reply(message.value) })
    await troupe.startNode({ other: echo('default') })
    const dead = await troupe.startNode({ mover: echo('gpu') })
    await dead.stop({ force: true })
    const session = await troupe.create('mover', 1)
    expect(session.warning).toBeNull()
    expect((await troupe.client.audit()).findings).toEqual([])
    await troupe.startNode({ mover: echo('default') })
    expect(await awaitResult(session)).toMatchObject({ value: 1 })
  },
)
