/**
 * One call of each script, in each of its outcomes, ready to be made: what tests that send everything twice, or lose every answer,
 * go through.
 */
import { encodeInput, encodeResult } from '../../../src/core/message.ts'
import { cancelledAgent } from './agent-checks.ts'
import type { HandTurn } from './hand-node.ts'
import type { Place } from './place.ts'

export interface Call {
  /** Script and outcome. */
  readonly name: string
  /** Sets the stage and gives the call. */
  readonly prepare: (place: Place) => Promise<() => Promise<unknown>>
  /** The bells of a lost answer are not given again: they go stale, and a sweep puts new ones. */
  readonly forgetsBells?: true
  /** The answer counts what this very call did. */
  readonly counts?: true
}

const resultOf = (child: HandTurn) =>
  encodeResult({ id: child.worker, name: child.grant.name, kind: 'echo' }, child.grant.call ?? 0, {
    status: 'completed',
    valueJson: '1',
  })

async function running(place: Place, mode: 'job' | 'conversation' = 'conversation') {
  const session = await place.create({ mode })
  const node = place.node({ slots: 4 })
  await node.sweep({ free: 0 })
  const turn = await node.claim({ bell: 'mine', keepBell: true })
  await place.redis.del(place.keys.bells('default'))
  return { session, node, turn }
}

const later = { id: 't2', ms: 600_000, valueJson: '2' }

export const calls: readonly Call[] = [
  { name: 'spawn', prepare: async (place) => spawnOnce(place) },
  { name: 'spawn under a given key', prepare: async (place) => spawnOnce(place, 'key') },
  {
    name: 'post to an idle worker',
    prepare: async (place) => {
      const { session, turn } = await running(place)
      await turn.complete()
      return () => place.post(session.root, 'hello')
    },
  },
  {
    name: 'post to a running worker',
    prepare: async (place) => {
      const { session } = await running(place)
      return () => place.post(session.root, 'hello')
    },
  },
  {
    name: 'post that is refused',
    prepare: async (place) => {
      const { root } = await place.create({ limits: { mailbox: 1 } })
      return () => place.post(root, 'hello')
    },
  },
  {
    name: 'claim that is granted',
    prepare: async (place) => {
      await place.create({ label: 'a' })
      await place.create({ label: 'b' })
      const node = place.node()
      const next = node.next({ bell: 'mine', keepBell: true })
      return () => node.turns.claim(next)
    },
  },
  {
    name: 'claim of a worker whose last run failed',
    prepare: async (place) => {
      const { session, node, turn } = await running(place)
      const failure = {
        code: 'run_failed',
        message: 'x',
        origin: 'handler',
        at: 1,
        attempt: 1,
        retryable: false,
      } as const
      await turn.complete({ outcome: 'failed', runState: 'Failed', failure })
      await place.post(session.root, 'again')
      const next = node.next()
      return () => node.turns.claim(next)
    },
  },
  {
    name: 'claim of a suspect',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      await place.expireLease(turn.worker)
      await node.sweep({ free: 0 })
      const other = await node.claim()
      await place.expireLease(other.worker)
      await node.sweep({ free: 0 })
      const next = node.next()
      return () => node.turns.claim(next)
    },
  },
  {
    name: 'claim of a cancelled worker',
    prepare: async (place) => {
      const { id } = await place.create()
      await place.sessions.cancel(id, 'enough')
      const node = place.node()
      const next = node.next()
      return () => node.turns.claim(next)
    },
  },
  {
    name: 'claim that finds nothing',
    prepare: async (place) => {
      const { node } = await running(place)
      const next = node.next({ slot: '1', bell: 'other' })
      return () => node.turns.claim(next)
    },
  },
  {
    name: 'leave',
    forgetsBells: true,
    prepare: async (place) => {
      const { node } = await running(place)
      await place.create({ label: 'two' })
      return () => node.turns.leave('default', 'mine')
    },
  },
  {
    name: 'commit of a step',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const request = turn.request({
        entries: ['{"a":1}'],
        userUsed: 1,
        stateJson: '{"n":1}',
        event: '[["run.started"]]',
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
      await place.redis.del(place.keys.bells('default'))
      const request = turn.request({
        entries: ['{"a":1}'],
        userUsed: 1,
        spawns: [place.child(turn.worker, 1, 'c1'), place.child(turn.worker, 2, 'c2')],
        awaits: [1, 2],
        sends: [{ workerId: other.root, mail: encodeInput(turn.worker, '1') }],
        timers: [later],
        timersOpen: 1,
      })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit that parks and leaves, with bells for its children',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const spawns = [1, 2, 3].map((call) => place.child(turn.worker, call, `c${call}`))
      const request = turn.request({ userUsed: 1, spawns, awaits: [1, 2, 3], end: { wait: 'control', next: null } })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit that ends its run and claims the next worker',
    prepare: async (place) => {
      const { node, turn } = await running(place, 'job')
      await place.create({ label: 'two' })
      await place.create({ label: 'three' })
      const next = node.next({ bell: 'mine', keepBell: true })
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
      const request = turn.request({ ...completed, end: { wait: 'any', next: node.next({ bell: 'mine' }) } })
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
      await turn.park(`result:${spawn.id}`, { spawns: [spawn], awaits: [1] })
      const child = await node.claim()
      await place.redis.del(place.keys.bells('default'))
      const request = child.request({ ...completed, result: resultOf(child), end: { wait: 'any', next: node.next() } })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit that is refused',
    prepare: async (place) => {
      const { node, turn } = await running(place)
      const sends = [{ workerId: '01890a5d-ac96-774b-bcce-b302099a8057', mail: encodeInput(null, '1') }]
      const request = turn.request({ entries: ['{}'], sends })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit with a child under a grant',
    prepare: async (place) => {
      const { root } = await place.create({ grant: 'tools a b' })
      const node = place.node()
      const turn = await node.claim()
      const request = turn.request({ spawns: [place.child(root, 1, 'c1', { grant: 'tools a' })], awaits: [1] })
      return () => node.turns.commit(request)
    },
  },
  {
    name: 'commit with a child under too wide a grant',
    prepare: async (place) => {
      const { root } = await place.create({ grant: 'tools a' })
      const node = place.node()
      const turn = await node.claim()
      const request = turn.request({ spawns: [place.child(root, 1, 'c1', { grant: 'tools a b' })], awaits: [1] })
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
  {
    name: 'renew',
    forgetsBells: true,
    prepare: async (place) => {
      const { node, turn } = await running(place)
      await place.create({ label: 'two' })
      await place.redis.del(place.keys.bells('default'))
      await place.redis.zadd(place.keys.bells('default'), (await place.now()) + 20_000, 'mine')
      return () =>
        node.turns.renew([{ workerId: turn.worker, token: turn.grant.token, bell: 'mine', becomesBusy: true }])
    },
  },
  {
    name: 'sweep that heals',
    forgetsBells: true,
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
    name: 'fire',
    forgetsBells: true,
    counts: true,
    prepare: async (place) => {
      const { node, turn } = await running(place)
      await turn.park('control', { timers: [{ id: 't1', ms: 0, valueJson: '1' }, later], timersOpen: 2 })
      return () => node.upkeep.fire()
    },
  },
  {
    name: 'cancel',
    prepare: async (place) => {
      const { session } = await running(place)
      return () => place.sessions.cancel(session.id, 'enough')
    },
  },
  {
    name: 'finish',
    prepare: async (place) => {
      const { session, node, turn } = await running(place)
      await turn.park('control', {
        spawns: [place.child(turn.worker, 1, 'c1')],
        awaits: [1],
        timers: [later],
        timersOpen: 1,
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
    name: 'close',
    prepare: async (place) => {
      const { session, turn } = await running(place)
      await turn.complete()
      return () => place.sessions.close(session.id)
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

const completed = {
  entries: ['{"type":"received"}', '{"type":"completed"}'],
  userUsed: 1,
  runState: 'Idle',
  open: false,
  outcome: 'completed',
} as const

async function spawnOnce(place: Place, key?: string): Promise<() => Promise<unknown>> {
  await place.redis.set(place.keys.slots('default'), 4)
  return () => place.create(key === undefined ? {} : { key })
}
