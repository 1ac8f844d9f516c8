/** Wake-ups of pools without a node: clients go on ringing them, and nobody hosts the pool whose queue they wait in. */
import { Queue } from 'bullmq'
import { expect, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/wait-until.ts'

const paintIn = (pool: string) => defineWorker({ pool, receive: (_, self) => self.reply('painted') })
const paint = paintIn('gpu')
const echo = defineWorker({ receive: (_, self) => self.reply('done') })

test('are removed by nodes of other pools when nobody took them for a minute, however many there were (B-e)', async () => {
  await using troupe = await TestTroupe.connect()
  const first = await troupe.startNode({ paint })
  await troupe.run('paint')
  await first.stop()
  const queue = new Queue('wakeup-gpu', { connection: troupe.redis, prefix: `${troupe.tag}:q` })
  await queue.drain()
  await queue.add('wakeup', { wakeup: 'fresh' }, { timestamp: Date.now() + 3_600_000 })
  for (const number of [1_200, 2_400]) {
    const old = Array.from({ length: number }, (_, index) => `old ${index}`)
    const opts = { timestamp: Date.now() - 61_000 }
    await queue.addBulk(old.map((wakeup) => ({ name: 'wakeup', data: { wakeup }, opts: { ...opts, jobId: wakeup } })))
    expect(await queue.getWaitingCount()).toBe(number + 1)
    await troupe.startNode({ echo })
    await waitUntil('those that are old are gone', async () => (await queue.getWaitingCount()) === 1)
  }
  expect((await queue.getWaiting()).map(({ data }) => data)).toEqual([{ wakeup: 'fresh' }])
  await queue.close()
})

test('are removed also where all kinds of their pool are in another one now', async () => {
  await using troupe = await TestTroupe.connect()
  const first = await troupe.startNode({ paint })
  await first.stop()
  const queue = new Queue('wakeup-gpu', { connection: troupe.redis, prefix: `${troupe.tag}:q` })
  await queue.add('wakeup', { wakeup: 'old' }, { timestamp: Date.now() - 61_000 })
  await troupe.startNode({ paint: paintIn('cpu') })
  await waitUntil('it is gone', async () => (await queue.getWaitingCount()) === 0)
  expect(await queue.getJobCounts()).toMatchObject({ waiting: 0, completed: 0, failed: 0 })
  await queue.close()
})
