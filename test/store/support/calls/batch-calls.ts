/** Commits of several turns that go together, ready to be made; each sends one script. */
import type { CommitRequest } from '../../../../src/core/ports/ports.ts'
import type { CommitWish, HandNode, HandTurn } from '../hand-node.ts'
import type { Place } from '../place.ts'
import { type Call, completed, resultOf, running } from './call-scenes.ts'

/** A parent that waits for all of its children, which run. */
export async function siblings(place: Place, labels: readonly string[] = ['a', 'b', 'c']) {
  const { session, node, turn } = await running(place, 'job')
  const spawns = labels.map((label, index) => place.child(turn.worker, index + 1, label))
  await turn.park(`results:${labels.length}`, { spawns, pendingCalls: spawns.map(({ call }) => call) })
  const children: HandTurn[] = []
  for (const index of labels.keys()) children.push(await node.claim({ slot: String(index + 1) }))
  await place.redis.del(place.keys.wakeups('default'))
  return { session, node, parent: turn, children }
}

/** The end of a child's only run, with its result for the parent. */
export function endOf(child: HandTurn, more: CommitWish = {}): CommitRequest {
  return child.request({ ...completed, result: resultOf(child), end: { wait: 'any', next: null }, ...more })
}

export function together(node: HandNode, requests: readonly CommitRequest[]) {
  return Promise.all(requests.map((request) => node.turns.commit(request)))
}

export const batchCalls: readonly Call[] = [
  {
    name: 'commits of children that end, and claim what there is',
    prepare: async (place) => {
      const { node, children } = await siblings(place, ['a', 'b', 'c', 'd'])
      // The last child goes on, so the parent does not wake: it is certain who came to the queue first.
      for (const label of ['two', 'three']) await place.create({ label })
      const requests = children.slice(0, 3).map((child, index) => {
        const next = node.next({ slot: String(index + 1), wakeup: `mine${index}`, keepWakeup: true })
        return endOf(child, { end: { wait: 'any', next }, wakeup: `mine${index}` })
      })
      return () => together(node, requests)
    },
  },
  {
    name: 'commits of which one ends, one goes on with children, and one is refused',
    prepare: async (place) => {
      const { node, children } = await siblings(place)
      const [a, b, c] = children as [HandTurn, HandTurn, HandTurn]
      const spawns = [place.child(b.worker, 1, 'b1'), place.child(b.worker, 2, 'b2')]
      const tooMany = Array.from({ length: 21 }, (_, index) => place.child(c.worker, index + 1, `c${index}`))
      const requests = [
        endOf(a),
        b.request({
          entries: ['{"b":1}'],
          inputsConsumed: 1,
          spawns,
          pendingCalls: [1, 2],
          stateJson: '{"n":1}',
          event: '[["x"]]',
        }),
        c.request({ spawns: tooMany, pendingCalls: tooMany.map(({ call }) => call) }),
      ]
      return () => together(node, requests)
    },
  },
  {
    name: 'commit of a parent whose slot takes two of its children',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const spawns = [1, 2, 3].map((call) => place.child(turn.worker, call, `c${call}`))
      const offer = { slot: '0+', nonce: place.nonce(), takes: [true, true, false] }
      const request = turn.request({
        inputsConsumed: 1,
        spawns,
        offer,
        pendingCalls: [1, 2, 3],
        end: { wait: 'signals', next: 'stay' },
      })
      return () => node.turns.commit(request)
    },
  },
]
