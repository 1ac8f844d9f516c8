/**
 * One call of each script, in each of its outcomes, ready to be made: what tests that send everything twice, or lose every answer,
 * go through.
 */

import { AuditStore } from '../../../../src/store/audit/audit-store.ts'
import { outboxKeys } from '../../../../src/store/keys.ts'
import { checkRights } from '../../../../src/store/set-up/rights.ts'
import { checkRedis } from '../../../../src/store/set-up/set-up.ts'
import { runFailure } from '../hand-node.ts'
import { give } from '../limit/allowance-checks.ts'
import { parentWithChildren, used } from '../limit/spending-checks.ts'
import { resting } from '../person/amend-checks.ts'
import { approvalEvent } from '../person/approval-checks.ts'
import { ask } from '../person/ask-checks.ts'
import { withChildren } from '../person/pause-checks.ts'
import type { Place } from '../place.ts'
import { atOnce, enter, within } from '../queue/gate-checks.ts'
import { askAsGuest, mayBegin, waitAsGuest } from '../queue/guest-checks.ts'
import { blobsOf, text } from '../session/blob-checks.ts'
import { failed } from '../session/retry-checks.ts'
import { endpointsOf, record } from '../upkeep/notify-checks.ts'
import { deliver, sendOut, takeOut } from '../upkeep/outbox-checks.ts'
import { batchCalls } from './batch-calls.ts'
import { type Call, later, running } from './call-scenes.ts'
import { commitCalls } from './commit-calls.ts'
import { forkCalls } from './fork-calls.ts'
import { upkeepCalls } from './upkeep-calls.ts'

export const calls: readonly Call[] = [
  { name: 'creation of a session', prepare: async (place) => createOnce(place) },
  {
    name: 'an endpoint that is registered',
    prepare: async (place) => () => endpointsOf(place).write('one', null, record, 5),
  },
  {
    name: 'an endpoint that is told from now on',
    prepare: async (place) => () => endpointsOf(place).listen('one', true),
  },
  { name: 'what a token gives', prepare: async (place) => () => give(place, 'one') },
  {
    name: 'creation of several sessions',
    prepare: async (place) => {
      await place.redis.set(place.keys.slots('default'), 4)
      return () =>
        place.createMany([{ label: 'a' }, { label: 'b', key: 'key b' }, { label: 'c', pool: 'gpu', kind: 'paint' }])
    },
  },
  { name: 'creation of a session under a given key', prepare: async (place) => createOnce(place, 'key') },
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
    name: 'post that steers a run',
    prepare: async (place) => {
      const { session, turn } = await running(place)
      await turn.record({ inputsConsumed: 1 })
      return () => place.post(session.root, 'hello', undefined, 'interrupt')
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
    name: 'claim that is assigned',
    prepare: async (place) => {
      await place.create({ label: 'a' })
      await place.create({ label: 'b' })
      const node = place.node()
      const next = node.next({ wakeup: 'mine', keepWakeup: true })
      return () => node.turns.claim(next)
    },
  },
  {
    name: 'claim of a worker whose last run failed',
    prepare: async (place) => {
      const { session, node, turn } = await running(place)
      await turn.complete({ outcome: 'failed', runState: 'Failed', failure: runFailure })
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
      const next = node.next({ slot: '1', wakeup: 'other' })
      return () => node.turns.claim(next)
    },
  },
  {
    name: 'run that begins at a gate',
    prepare: async (place) => {
      const { turn } = await running(place)
      return () => enter(turn, atOnce(1))
    },
  },
  {
    name: 'run that waits at a gate',
    prepare: async (place) => {
      const { turn, node } = await running(place)
      await enter(turn, atOnce(1))
      await place.create({ label: 'two' })
      const next = await node.claim({ slot: '1' })
      return () => enter(next, atOnce(1))
    },
  },
  {
    name: 'run of another partition that begins at a gate',
    prepare: async (place) => () => askAsGuest(place, 1, within(5)),
  },
  {
    name: 'run of another partition that waits at a gate',
    prepare: async (place) => {
      await askAsGuest(place, 1, atOnce(1))
      return () => askAsGuest(place, 2, atOnce(1))
    },
  },
  {
    name: 'run that may begin, as another partition says',
    forgetsWakeups: true,
    prepare: async (place) => {
      const { turn } = await running(place)
      await waitAsGuest(place, turn, atOnce(1))
      return () => mayBegin(place, turn, atOnce(1))
    },
  },
  ...commitCalls,
  ...batchCalls,
  ...forkCalls,
  ...upkeepCalls,
  {
    name: 'cancel of a worker',
    prepare: async (place) => {
      const { session } = await running(place)
      return () => place.sessions.cancelWorker(session.root, 'run', 'enough', {}, 'key')
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
    name: 'pause',
    prepare: async (place) => {
      const { session } = await running(place)
      return () => place.sessions.pauses.pause(session.id, { at: 1 }, false, 'pause')
    },
  },
  {
    name: 'resume',
    forgetsWakeups: true,
    counts: true,
    prepare: async (place) => {
      const { session, node } = await withChildren(place)
      await place.sessions.pauses.pause(session.id, { at: 1 }, false, 'pause')
      await node.ask()
      return () => place.sessions.pauses.resume(session.id, '[["session.resumed",{}]]', 'resume')
    },
  },
  {
    name: 'pause of all sessions',
    prepare: async (place) => () => place.sessions.pauses.pauseAll({ at: 1 }, 'pause'),
  },
  {
    name: 'redrive',
    prepare: async (place) => {
      const { root, letter } = await letterOnce(place)
      return () => place.sessions.redrive(root, letter, '[]')
    },
  },
  {
    name: 'dismiss',
    prepare: async (place) => {
      const { root, letter } = await letterOnce(place)
      return () => place.sessions.dismiss(root, letter)
    },
  },
  {
    name: 'look',
    prepare: async (place) => {
      const { session, turn } = await running(place)
      await turn.park('signals', { timers: [later], signalsOpen: 1 })
      const audit = new AuditStore(place.redis, place.caller, place.keys, 0, 20_000)
      return () => audit.look(session.id, [session.root], ['default'])
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
    name: 'retry',
    prepare: async (place) => {
      const { fail, retry } = await failed(place)
      await fail()
      return () => retry()
    },
  },
  {
    name: 'answer to an ask',
    prepare: async (place) => {
      const { answer } = await ask(place, 600_000)
      return () => answer('yes')
    },
  },
  {
    name: 'answer that comes too late',
    prepare: async (place) => {
      const { answer } = await ask(place)
      await answer('yes')
      return () => answer('no')
    },
  },
  {
    name: 'approval',
    prepare: async (place) => {
      const { session } = await running(place)
      return () => place.sessions.setApproval(session.id, { policy: 'auto' }, approvalEvent, 'approval')
    },
  },
  {
    name: 'limit',
    prepare: async (place) => {
      const { session } = await running(place)
      return () => place.sessions.limit(session.id, { tokens: 5 }, '[["session.limited",{"tokens":5}]]', 'limit')
    },
  },
  {
    name: 'commit of an agent with a parent and siblings',
    prepare: async (place) => {
      const { children } = await parentWithChildren(place)
      const [child] = children
      return () => child.record({ entries: ['{}'], stateJson: used(2) })
    },
  },
  {
    name: 'a blob that is kept',
    prepare: async (place) => {
      const { session } = await running(place)
      const blobs = blobsOf(place)
      return () => blobs.keep(session.id, text('twice'))
    },
  },
  {
    name: 'amendment of a history',
    prepare: async (place) => {
      const { amend } = await resting(place)
      return () => amend()
    },
  },
  {
    name: 'amendment of a history that moved on',
    prepare: async (place) => {
      const { amend } = await resting(place)
      return () => amend({ version: 7 })
    },
  },
  {
    name: 'rights of a user who has them',
    prepare: async (place) => {
      await checkRedis(place.redis, place.namespace, 1)
      return () => checkRights(place.wire.face, place.namespace, 5_000)
    },
  },
  {
    name: 'commit that sends to another partition',
    prepare: async (place) => {
      const { turn } = await running(place)
      return () => sendOut(turn, 2)
    },
  },
  {
    name: 'delivery of mails of another partition',
    forgetsWakeups: true,
    prepare: async (place) => {
      const { session, turn } = await running(place)
      await turn.complete()
      return () => deliver(place, [[1, session.root]])
    },
  },
  {
    name: 'mails that were delivered',
    counts: true,
    prepare: async (place) => {
      const { session, turn } = await running(place)
      await sendOut(turn)
      const [line = ''] = await place.redis.lrange(outboxKeys(place.keys.tag).out('5'), 0, 0)
      const number = Number(line.split('\t')[0])
      return () => takeOut(place, number, [{ number, about: session.id }])
    },
  },
]

async function createOnce(place: Place, key?: string): Promise<() => Promise<unknown>> {
  await place.redis.set(place.keys.slots('default'), 4)
  return () => place.create(key === undefined ? {} : { key })
}

async function letterOnce(place: Place): Promise<{ root: string; letter: string }> {
  const { session, turn } = await running(place)
  await turn.complete({ outcome: 'failed', dead: '{}' })
  const [letter] = await place.letters.newestLetters(1)
  return { root: session.root, letter: place.label(letter?.id ?? '', 'letter') }
}
