/** troupe.pools: how much work each pool has, and how many nodes it takes. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { commandsNaming } from '../support/redis/watched-commands.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'

const paint = defineWorker({
  description: 'Paints.',
  pool: 'gpu',
  receive: (message, self) => self.reply(message.value),
})
/** A worker that waits for two timers: one that is due within a minute, and one that is not. */
const wait = defineWorker({
  description: 'Waits.',
  receive(_message, self) {
    self.after(30_000, 'soon')
    self.after(3_600_000, 'late')
  },
})

const poolsOf = async (troupe: TestTroupe) =>
  Object.fromEntries((await troupe.client.pools.list()).map(({ pool, ...facts }) => [pool, facts]))

describe('pools.list', () => {
  test('pools.list counts what waits in each pool, and the nodes that serve it', async () => {
    await using troupe = await TestTroupe.connect()
    const node = await troupe.startNode({ paint, wait }, { concurrency: 20 })
    const parked = await troupe.create('wait')
    await waitUntil('it waits', async () => (await parked.report()).workers[0]?.status === 'parked')
    const idle = { waiting: 0, oldestMs: null, due: 0, busy: 0, nodes: 1, slots: 20, expectedNodes: 0 }
    expect(await poolsOf(troupe)).toEqual({ gpu: idle, default: { ...idle, due: 1, expectedNodes: 1 } })

    await node.stop()
    await Promise.all(Array.from({ length: 60 }, (_, number) => troupe.create('paint', number)))
    await troupe.create('nobody')
    const found = await poolsOf(troupe)
    expect(found.gpu).toMatchObject({ waiting: 60, nodes: 0, slots: 0, expectedNodes: 2 })
    expect(found.gpu?.oldestMs).toBeGreaterThanOrEqual(0)
    expect(found.unhosted).toMatchObject({ waiting: 1, expectedNodes: 1 })
    expect(found.default).toMatchObject({ waiting: 0, due: 1 })
    expect(await troupe.client.pools.get('nowhere')).toMatchObject({ waiting: 0, oldestMs: null, expectedNodes: 0 })
  })

  test('pools.list asks Redis no more often with many waiting workers than with few', async () => {
    await using troupe = await TestTroupe.connect()
    await troupe.startNode({ paint }).then((node) => node.stop())
    const asked = () => commandsNaming(troupe.redis, troupe.tag, () => troupe.client.pools.list())
    const counts: number[] = []
    for (const more of [3, 100]) {
      await troupe.client.sessions.createMany(Array.from({ length: more }, () => ({ kind: 'paint', input: 1 })))
      counts.push((await asked()).length)
    }
    expect(counts[1]).toBe(counts[0])
  })
})
