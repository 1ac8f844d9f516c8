/** The rows of many workers are read piece by piece. */
import { expect, test } from 'vitest'
import { readRows } from '../../src/client/worker-rows.ts'
import type { InspectStore } from '../../src/store/audit/inspect-store.ts'
import type { WorkerRow } from '../../src/store/worker/worker-rows.ts'
import { Place } from '../store/support/place.ts'

test('rows of many workers come in order, and each read is of a bounded number', async () => {
  const sizes: number[] = []
  const workers = async (ids: readonly string[]) => {
    sizes.push(ids.length)
    return ids
      .filter((id) => id !== 'gone')
      .map((id) => ({ id, keyDamage: null, fieldDamage: [] }) as unknown as WorkerRow)
  }
  const ids = Array.from({ length: 1_700 }, (_, number) => (number === 3 ? 'gone' : `worker ${number}`))
  const rows = await readRows({ workers, recordKey: String } as unknown as InspectStore, ids)
  expect(rows.map(({ id }) => id)).toEqual(ids.filter((id) => id !== 'gone'))
  expect(Math.max(...sizes)).toBeLessThanOrEqual(500)
})

test('mails that were taken out of their order are not among those that wait', async () => {
  await using place = await Place.open()
  const { root } = await place.create()
  const { inbox, results, record } = place.workerKeys(root)
  await place.redis.rpush(inbox, '', 'waits', '')
  await place.redis.rpush(results, 'one', '', 'two', '')
  const pending = async () => (await place.inspect.workers([root]))[0]?.pending
  expect(await pending()).toMatchObject({ results: 2 })
  await place.redis.hset(record, 'steered', '7')
  expect(await pending()).toMatchObject({ inbox: 2, results: 2 })
})
