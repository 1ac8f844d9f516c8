/** Sessions that are about to be cancelled. */
import { type CreateOptions, Place, type PlaceOptions } from '../place.ts'

export const cancelledEnd = {
  entries: ['{"type":"cancelled"}'],
  runState: 'Idle',
  open: false,
  outcome: 'cancelled',
  event: '[["worker.cancelled"]]',
  end: { wait: 'any', next: null },
} as const

export async function started(options: CreateOptions = {}, place?: Place) {
  const at = place ?? (await Place.open())
  const session = await at.create(options)
  return { place: at, session, node: at.node(), [Symbol.asyncDispose]: () => at[Symbol.asyncDispose]() }
}

/** A root parked on two children; the first has a child of its own, the third is detached. All but the root are queued or claimed. */
export async function tree(options: PlaceOptions = {}) {
  const scene = await started({}, await Place.open(options))
  const { place, node } = scene
  const root = await node.claim()
  const spawns = [
    place.child(root.worker, 1, 'first'),
    place.child(root.worker, 2, 'second'),
    place.child(root.worker, 3, 'free', { detached: true }),
  ]
  await root.park('signals', { spawns, pendingCalls: [1, 2] })
  const first = await node.claim()
  await first.record({ inputsConsumed: 1, spawns: [place.child(first.worker, 1, 'grandchild')], pendingCalls: [1] })
  return { ...scene, root, first }
}

export const states = async (place: Place) =>
  Object.fromEntries(
    Object.entries(await place.dump()).flatMap(([key, view]) => {
      const label = /^w:<(.*)>$/.exec(key)?.[1]
      return label ? [[label, (view as { status: string }).status]] : []
    }),
  )
