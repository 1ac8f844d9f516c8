/** The rows of many workers are read piece by piece. */
import { expect, onTestFinished, test } from 'vitest'
import { readRows } from '../../src/client/worker-rows.ts'
import { newId } from '../../src/core/ids.ts'
import type { InspectStore } from '../../src/store/audit/inspect-store.ts'
import type { WorkerRecord } from '../../src/store/record/worker-record.ts'
import { endRedis, openRedis } from '../../src/store/redis/redis.ts'
import { gateFactsOf } from '../../src/store/worker/gate-facts.ts'
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

test('a worker that waits at a gate of the first partition is shown without it while that is away (GATE-FACTS-2)', async () => {
  await using place = await Place.open()
  const record = {
    status: 'parked',
    wait: { kind: 'gate' },
    kind: 'k',
    gates: { state: 'runs', runs: 'all', rate: '' },
  }
  const row = {
    id: newId(1),
    record: { ...record, gates: { ...record.gates, guestVersion: 1 } } as unknown as WorkerRecord,
  }
  // Nobody listens there: commands wait for a connection.
  const away = openRedis('redis://127.0.0.1:1')
  onTestFinished(() => endRedis(away))
  expect(await gateFactsOf(place, { redis: away, keys: place.keys }, [row])).toEqual(new Map())
})
