/** Workers of whom somebody is about to write over a key. */
import type { Place } from './place.ts'

/** A child that runs, of a root that is parked; and the turn of another session. */
export async function childAndOther(place: Place) {
  const { id, root } = await place.create()
  const node = place.node({ slots: 3 })
  const turn = await node.claim()
  const spawns = [place.child(root, 1, 'child')]
  await turn.park('results:1', { spawns, pendingCalls: [1] })
  const child = await node.claim({ slot: '1' })
  await place.create({ label: 'other' })
  const other = await node.claim({ slot: '2' })
  return { id, root, node, child, other }
}
