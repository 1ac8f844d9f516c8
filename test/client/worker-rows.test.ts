/** The rows of many workers are read piece by piece. */
import { expect, test } from 'vitest'
import { readRows } from '../../src/client/worker-rows.ts'
import type { InspectStore } from '../../src/store/audit/inspect-store.ts'
import type { WorkerRow } from '../../src/store/worker/worker-rows.ts'

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
