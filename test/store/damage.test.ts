/** What somebody wrote over, and whom it stops: who needs it, and no other. Nothing is written in part. */
import { describe, expect, test } from 'vitest'
import type { HandTurn } from './support/hand-node.ts'
import { Place } from './support/place.ts'

const renewal = (turn: HandTurn, bell = '', becomesBusy = false) => ({
  workerId: turn.worker,
  token: turn.grant.token,
  bell,
  becomesBusy,
})

/** A child that runs, of a root that is parked; and the turn of another session. */
async function childAndOther(place: Place) {
  const { id, root } = await place.create()
  const node = place.node({ slots: 3 })
  const turn = await node.claim()
  const spawns = [place.child(root, 1, 'child')]
  await turn.park('family:1', { spawns, awaits: [1] })
  const child = await node.claim({ slot: '1' })
  await place.create({ label: 'other' })
  const other = await node.claim({ slot: '2' })
  return { id, root, node, child, other }
}

describe('renew, of turns of which one is damaged,', () => {
  test.each<[what: string, spoil: (place: Place, id: string, root: string) => Promise<unknown>]>([
    ['root', (place, _, root) => place.redis.set(place.workerKeys(root).record, 'x')],
    [
      'set of what was cancelled',
      async (place, id, root) => {
        await place.redis.hset(place.workerKeys(root).record, 'marks', '1')
        await place.redis.set(place.sessionKeys(id).cancelled, 'x')
      },
    ],
  ])('(%s) ends that one and keeps the others', async (_, spoil) => {
    await using place = await Place.open()
    const { id, root, node, child, other } = await childAndOther(place)
    await place.expireLease(child.worker)
    await place.expireLease(other.worker)
    await spoil(place, id, root)
    const changed = await place.changed(async () =>
      expect((await node.turns.renew([renewal(child), renewal(other)])).verdicts).toEqual(['fenced', 'kept']),
    )
    expect(changed).toEqual({ leases: ['<child> now', '<other.root> now+60s'] })
  })

  test.each(['bells', 'busy'] as const)('(%s of a pool) keeps them all: no lease needs a bell', async (name) => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    const turn = await node.claim()
    await place.expireLease(turn.worker)
    await place.redis.del(place.keys[name]('default'))
    await place.redis.set(place.keys[name]('default'), 'x')
    expect((await node.turns.renew([renewal(turn, 'mine', true)])).verdicts).toEqual(['kept'])
    expect(await place.dump()).toMatchObject({ leases: ['<one.root> now+60s'] })
  })
})
