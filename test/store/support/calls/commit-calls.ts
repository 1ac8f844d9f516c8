/** One call of commit in each of its outcomes, ready to be made. */
import { encodeInput } from '../../../../src/core/worker/message/message.ts'
import { type Call, completed, later, resultOf, running } from './call-scenes.ts'

export const commitCalls: readonly Call[] = [
  {
    name: 'commit of a step',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const request = turn.request({
        entries: ['{"a":1}'],
        inputsConsumed: 1,
        stateJson: '{"n":1}',
        event: '[["run.started"]]',
      })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit that takes what steers its run, behind an input that waits',
    prepare: async (place) => {
      const { session, node, turn } = await running(place)
      const spawn = place.child(turn.worker, 1, 'c1')
      await turn.record({ inputsConsumed: 1, spawns: [spawn], pendingCalls: [1] })
      await place.post(session.root, 'queued')
      await place.post(session.root, 'steer', undefined, 'steer')
      await place.post(session.root, 'interrupt', undefined, 'interrupt')
      const request = turn.request({
        steersTaken: [2],
        cancels: [spawn.id],
        pendingCalls: [1],
        configured: '{"tools":[]}',
      })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit with children, messages and timers',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const other = await place.create({ label: 'two', mode: 'conversation' })
      await (await node.claim({ slot: '1' })).complete()
      await place.redis.del(place.keys.wakeups('default'))
      const request = turn.request({
        entries: ['{"a":1}'],
        inputsConsumed: 1,
        spawns: [place.child(turn.worker, 1, 'c1'), place.child(turn.worker, 2, 'c2')],
        pendingCalls: [1, 2],
        sends: [{ workerId: other.root, mail: encodeInput(turn.worker, '1') }],
        timers: [later],
        signalsOpen: 1,
      })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit that parks and leaves, with wake-ups for its children',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const spawns = [1, 2, 3].map((call) => place.child(turn.worker, call, `c${call}`))
      const request = turn.request({
        inputsConsumed: 1,
        spawns,
        pendingCalls: [1, 2, 3],
        end: { wait: 'signals', next: null },
      })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit that ends its run and claims the next worker',
    prepare: async (place) => {
      const { node, turn } = await running(place, 'job')
      await place.create({ label: 'two' })
      await place.create({ label: 'three' })
      const next = node.next({ wakeup: 'mine', keepWakeup: true })
      const request = turn.request({ ...completed, end: { wait: 'any', next } })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit that ends its run and claims its own worker again',
    prepare: async (place) => {
      const { session, node, turn } = await running(place)
      await place.post(session.root, 'second')
      const request = turn.request({ ...completed, end: { wait: 'any', next: node.next() } })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit that ends its turn and finds nothing',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const request = turn.request({ ...completed, end: { wait: 'any', next: node.next({ wakeup: 'mine' }) } })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit of a retry',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const request = turn.request({
        open: false,
        attempt: 1,
        runState: 'TransientFailure',
        end: { wait: 'retry', retryMs: 60_000, next: null },
      })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit of a dead letter',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const request = turn.request({
        ...completed,
        outcome: 'failed',
        dead: '{"starts":5}',
        end: { wait: 'any', next: null },
      })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit of a child whose parent waits',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const spawn = place.child(turn.worker, 1, 'c1')
      await turn.park(`result:${spawn.id}`, { spawns: [spawn], pendingCalls: [1] })
      const child = await node.claim()
      await place.redis.del(place.keys.wakeups('default'))
      const request = child.request({ ...completed, result: resultOf(child), end: { wait: 'any', next: node.next() } })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit that is refused',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const sends = [{ workerId: '01890a5d-ac96-774b-bcce-b302099a8000', mail: encodeInput(null, '1') }]
      const request = turn.request({ entries: ['{}'], sends })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit with a child that has permissions',
    prepare: async (place) => {
      const { root } = await place.create({ permissions: 'tools a b' })
      const node = place.node()
      const turn = await node.claim()
      const request = turn.request({
        spawns: [place.child(root, 1, 'c1', { permissions: 'tools a' })],
        pendingCalls: [1],
      })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit with a child whose permissions are too wide',
    prepare: async (place) => {
      const { root } = await place.create({ permissions: 'tools a' })
      const node = place.node()
      const turn = await node.claim()
      const request = turn.request({
        spawns: [place.child(root, 1, 'c1', { permissions: 'tools a b' })],
        pendingCalls: [1],
      })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit with children of which some wait to start',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const spawns = [1, 2, 3].map((call) => place.child(turn.worker, call, `c${call}`))
      const request = turn.request({
        inputsConsumed: 1,
        spawns,
        pendingCalls: [1, 2, 3],
        childrenAtOnce: 1,
        end: { wait: 'results:3', next: null },
      })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit of a child whose end starts the next one',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const spawns = [1, 2, 3].map((call) => place.child(turn.worker, call, `c${call}`))
      await turn.park('results:3', { spawns, pendingCalls: [1, 2, 3], childrenAtOnce: 1 })
      const child = await node.claim({ slot: '1' })
      const request = child.request({ ...completed, result: resultOf(child), end: { wait: 'any', next: null } })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit that is fenced',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      await place.expireLease(turn.worker)
      await node.sweep({ free: 0 })
      const request = turn.request({ entries: ['{}'], end: { wait: 'any', next: node.next() } })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit in conflict',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const request = turn.request({ version: 9 })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit of a cancelled run',
    prepare: async (place) => {
      const { session, node, turn } = await running(place)
      await place.sessions.cancel(session.id, 'enough')
      const request = turn.request({ entries: ['{}'] })
      return () => node.turns.commit(request)
    },
  },
]
