/** A child of whose record somebody wrote over what names its parent, its session or its last commit. */
import { describe, expect, test } from 'vitest'
import { childAndOther } from './support/damage-scenes.ts'
import { Place } from './support/place.ts'

/** Each field would be taken for something else: a worker without commits, or a root. */
describe.each<[what: string, fields: Record<string, string>, says: string]>([
  ['last commit', { commit: '1:n:1x' }, 'field commit of KEY should end with the number of commits'],
  ['depth', { depth: 'deep' }, 'field depth of KEY should be a whole number'],
  ['path', { path1: 'nonsense' }, 'field path1 of KEY should name a worker and its run'],
  ['parent, by an id too short for a key,', { path1: 'abcd:1' }, 'field path1 of KEY should name a worker and its run'],
  ['depth, which is more than its path says,', { depth: '2' }, 'field path2 of KEY should name a worker and its run'],
])('a child whose %s somebody wrote over', (_, fields, says) => {
  test('an overwritten child commits nothing, and its node learns which field is damaged', async () => {
    await using place = await Place.open()
    const { child } = await childAndOther(place)
    const { record } = place.workerKeys(child.worker)
    await place.redis.hset(record, fields)
    const changed = await place.changed(() =>
      expect(child.commit({ entries: ['{}'] })).rejects.toThrow(says.replace('KEY', record)),
    )
    expect(changed).toEqual({})
  })

  test('an overwritten child leaves the run queue, and the next worker runs', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    const turn = await node.claim()
    const spawns = [place.child(turn.worker, 1, 'child'), place.child(turn.worker, 2, 'next')]
    await turn.park('results:2', { spawns, pendingCalls: [1, 2] })
    await place.redis.hset(place.workerKeys(spawns[0]?.id ?? '').record, fields)
    expect((await node.claim()).worker).toBe(spawns[1]?.id)
    expect((await place.dump())['run:unhosted']).toEqual(['<child> now'])
  })
})

test('a grandchild whose path no longer names its root writes to no other session', async () => {
  await using place = await Place.open()
  const { node, child } = await childAndOther(place)
  await child.park('results:1', { spawns: [place.child(child.worker, 1, 'below')], pendingCalls: [1] })
  const below = await node.claim({ slot: '1' })
  const { record } = place.workerKeys(below.worker)
  await place.redis.hset(record, 'path1', 'nonsense')
  const changed = await place.changed(() =>
    expect(below.commit({ entries: ['{}'], stateJson: 'a 1 1 5 5' })).rejects.toThrow(
      `field path1 of ${record} should name a worker and its run`,
    ),
  )
  expect(changed).toEqual({})
})

test('a child that has lost only its depth is no root', async () => {
  await using place = await Place.open()
  const { child } = await childAndOther(place)
  const { record } = place.workerKeys(child.worker)
  await place.redis.hdel(record, 'depth')
  await expect(child.commit({ entries: ['{}'] })).rejects.toThrow(`field depth of ${record} should be a whole number`)
})
