/** What a node says of partitions that come while it runs (GROWTH-1). */
import { expect, test } from 'vitest'
import type { WorkerLog } from '../../../src/core/definition/worker-log.ts'
import { Growth } from '../../../src/runtime/node/growth.ts'

test('a node says that the number was raised only when it has read the new one', async () => {
  const said: string[] = []
  const tell = (message: string) => void said.push(message)
  const away = () => Promise.reject(new Error('Redis is away'))
  let [count, open]: [() => Promise<number>, () => Promise<void>] = [away, away]
  const log = { debug: tell, info: tell, warn: tell, error: tell } as unknown as WorkerLog
  const growth = new Growth({ count: () => count(), known: () => 1, open: () => open(), log })
  await growth.ready()
  await growth.look()
  expect(said).toEqual([])
  count = () => Promise.resolve(2)
  await growth.look()
  open = () => Promise.resolve()
  await growth.look()
  await growth.stop()
  expect(said).toEqual([
    'the number of partitions was raised, and this node cannot work in the new ones yet; it tries again',
    'the number of partitions was raised: this node works in the new ones, too',
  ])
})
