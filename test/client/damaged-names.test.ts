/** The name of a worker when somebody has written over the fields that it follows from. */
import { describe, expect, test } from 'vitest'
import { workerReport } from '../../src/client/report.ts'
import { readRows } from '../../src/client/worker-rows.ts'
import { Place } from '../store/support/place.ts'

describe('the name of a worker', () => {
  const reportOf = async (place: Place, id: string) => {
    const [row] = await readRows(place.inspect, [id])
    return row === undefined ? undefined : workerReport(row)
  }

  test('a worker whose record has lost its kind has an empty name, and the damage is named', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    await place.redis.hdel(place.workerKeys(root).record, 'kind', 'name')
    const report = await reportOf(place, root)
    expect(report).toMatchObject({ name: '', lastFailure: { message: expect.stringContaining('field kind') } })
  })

  test('a worker whose call was overwritten has the name of its kind, and the damage is named', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    const spawn = place.child(root, 1, 'c1', { name: 'echo-1' })
    const turn = await place.node().claim()
    await turn.record({ spawns: [spawn], pendingCalls: [1] })
    expect(await reportOf(place, spawn.id)).toMatchObject({ name: 'echo-1' })
    expect(await place.redis.hexists(place.workerKeys(spawn.id).record, 'name')).toBe(0)
    await place.redis.hset(place.workerKeys(spawn.id).record, 'call', 'zz')
    const report = await reportOf(place, spawn.id)
    expect(report).toMatchObject({ name: 'echo', lastFailure: { message: expect.stringContaining('field call') } })
  })
})
