/** One call of each script that a node calls beside its turns, in each of its outcomes, ready to be made. */
import { releaseScript } from '../../../../src/store/script/scripts.ts'
import { cancelledAgent } from '../turn/agent-checks.ts'
import { cold, pack, rested } from '../upkeep/pack-checks.ts'
import { type Call, later, running } from './call-scenes.ts'

export const upkeepCalls: readonly Call[] = [
  {
    name: 'renew',
    forgetsWakeups: true,
    prepare: async (place) => {
      const { node, turn } = await running(place)
      await place.create({ label: 'two' })
      await place.redis.del(place.keys.wakeups('default'))
      await place.redis.zadd(place.keys.wakeups('default'), (await place.now()) + 20_000, 'mine')
      return () =>
        node.turns.renew([{ workerId: turn.worker, token: turn.assignment.token, wakeup: 'mine', becomesBusy: true }])
    },
  },
  {
    name: 'sweep that heals',
    forgetsWakeups: true,
    counts: true,
    prepare: async (place) => {
      const { node, turn } = await running(place)
      await place.expireLease(turn.worker)
      await place.redis.hdel(place.keys.meta, 'sweptAt')
      return () => node.sweep({ free: 2, soonAfter: true })
    },
  },
  {
    name: 'sweep that says goodbye',
    prepare: async (place) => {
      const { node } = await running(place)
      return () => node.sweep({ leaving: true, free: 0, soonAfter: true })
    },
  },
  {
    name: 'rest',
    counts: true,
    prepare: async (place) => {
      const { upkeep } = place.node()
      await upkeep.announce(1, [])
      return () => upkeep.rest()
    },
  },
  {
    name: 'fire',
    forgetsWakeups: true,
    counts: true,
    prepare: async (place) => {
      const { node, turn } = await running(place)
      await turn.park('signals', { timers: [{ id: 't1', ms: 0, valueJson: '1' }, later], signalsOpen: 2 })
      return () => node.upkeep.fire()
    },
  },
  {
    name: 'finish',
    prepare: async (place) => {
      const { session, node, turn } = await running(place)
      await turn.park('signals', {
        spawns: [place.child(turn.worker, 1, 'c1')],
        pendingCalls: [1],
        timers: [later],
        signalsOpen: 1,
      })
      await place.sessions.cancel(session.id, 'enough')
      return () => node.upkeep.finishCancelled()
    },
  },
  {
    name: 'finish of an agent with open calls',
    prepare: async (place) => {
      const { node } = await cancelledAgent(place)
      return () => node.upkeep.finishCancelled()
    },
  },
  {
    name: 'announcement of a node',
    prepare: async (place) => {
      const kinds = [{ kind: 'echo', pool: 'gpu', description: '' }]
      return () => place.node().upkeep.announce(2, kinds)
    },
  },
  {
    name: 'release of what a dying node holds',
    counts: true,
    prepare: async (place) => {
      const { turn } = await running(place)
      const { leases, nodes, events } = place.keys
      const { workerId, token } = turn.assignment
      const args = {
        node: turn.node.id,
        wakeupMs: 1_000,
        seed: 'r',
        ends: true,
        event: 'worker.interrupted',
        turns: [{ worker: workerId, token, isCounted: false, isIsolated: false }],
        author: undefined,
        words: 'it ended by an error',
      }
      const deadlineMs = place.policy.leaseMs
      return () => place.caller.call(releaseScript, { leases, nodes, events }, args, { deadlineMs })
    },
  },
  {
    name: 'look at kinds that no node hosts',
    counts: true,
    prepare: async (place) => {
      const { upkeep } = place.node()
      await place.node({ id: 'gone' }).upkeep.announce(1, [{ kind: 'old', pool: 'gpu', description: '' }])
      await place.redis.hdel(place.keys.nodes, 'gone')
      return () => upkeep.forgetKinds()
    },
  },
  {
    name: 'walk over histories that have rested',
    prepare: async (place) => {
      await rested(place)
      return () => cold(place, 'node-a')
    },
  },
  {
    name: 'pack',
    prepare: async (place) => {
      const one = await rested(place)
      return () => pack(place, one, { from: 0, packed: 0, entries: 4 })
    },
  },
  {
    name: 'prune',
    counts: true,
    prepare: async (place) => {
      const { turn } = await running(place, 'job')
      await turn.complete()
      return () => place.sessions.prune(0)
    },
  },
]
