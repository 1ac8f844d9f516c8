/** finish: what a cancel stopped and no node runs is ended in batches. */
import { describe, expect, test } from 'vitest'
import { TransientError } from '../../../src/core/errors.ts'
import type { ScriptCaller } from '../../../src/store/script/script.ts'
import { RedisUpkeepStore } from '../../../src/store/upkeep-store.ts'
import { commandsNaming } from '../../support/redis/watched-commands.ts'
import { completion } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'
import { cancelledEnd, started, states, tree } from '../support/turn/cancel-scenes.ts'

/** Commands about workers that finish sends, where a run has ended with one open child after so many others have ended. */
async function costBehind(idle: number): Promise<number> {
  await using place = await Place.open()
  const limits = { children: 1_000, workers: 1_000 }
  const { root } = await place.create({ mode: 'conversation', limits })
  const node = place.node()
  const turn = await node.claim()
  const spawns = Array.from({ length: idle + 1 }, (_, index) => place.child(root, index + 1, `c${index + 1}`))
  await turn.record({ inputsConsumed: 1, spawns, pendingCalls: [idle + 1] })
  const resting = place.redis.pipeline()
  for (const { id } of spawns.slice(0, -1)) {
    resting.hset(place.workerKeys(id).record, 'status', 'idle', 'run', '2')
    resting.zrem(place.keys.run('default'), id)
  }
  await resting.exec()
  const open = spawns.at(-1)?.id ?? ''
  expect((await node.claim({ slot: '1' })).worker).toBe(open)
  await turn.complete({ inputsConsumed: 0, pendingCount: 1, openChildren: [open] })
  const looked = await commandsNaming(place.redis, `${place.keys.tag}:`, () => node.upkeep.finishCancelled())
  expect(await place.redis.smembers(place.keys.cancelling)).toHaveLength(1)
  return looked.length
}

test('a finish of one open child does not look at more when its session had more workers', async () => {
  expect(await costBehind(150)).toBe(await costBehind(3))
})

describe('finish', () => {
  test('a finish counts as one more commit without a token: a node that held the worker before can record nothing more', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    const turn = await node.claim()
    const recorded = turn.request({ entries: ['{}'], inputsConsumed: 1, open: true })
    expect(await node.turns.commit(recorded)).toMatchObject({ kind: 'ok', version: 1 })
    await place.expireLease(turn.worker)
    await node.sweep({ free: 0 })
    await place.sessions.cancel(session.id, 'enough')
    const { committed } = await place.record(turn.worker)
    expect(await node.upkeep.finishCancelled()).toEqual({ finished: 1, damaged: [], wakeups: [] })
    expect(await place.record(turn.worker)).toMatchObject({ version: '2', committed, run: '2' })
    expect(await node.turns.commit({ ...recorded, sequence: 2, version: 1 })).toMatchObject({ kind: 'fenced' })
    expect(await node.turns.commit(recorded)).toMatchObject({ kind: 'ok', version: 2 })
  })

  test('a finish of a worker that never committed is its first commit', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    await place.sessions.cancel(session.id, 'enough')
    await node.upkeep.finishCancelled()
    expect(await place.record(session.root)).toMatchObject({
      version: '1',
      epoch: '0',
      starts: '0',
      status: 'terminal',
    })
  })

  test('a finish tells how many cancels are over: not that of a session whose worker still runs', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    const turn = await node.claim()
    await place.sessions.cancel(session.id, 'enough')
    expect(await node.upkeep.finishCancelled()).toEqual({ finished: 0, damaged: [], wakeups: [] })
    await turn.record(cancelledEnd)
    expect(await node.upkeep.finishCancelled()).toEqual({ finished: 1, damaged: [], wakeups: [] })
    expect(await node.upkeep.finishCancelled()).toEqual({ finished: 0, damaged: [], wakeups: [] })
  })

  test('a finish blames no session for a Redis that does not answer', async () => {
    await using scene = await started()
    const { place, session } = scene
    await place.sessions.cancel(session.id, 'enough')
    const { redis, keys, policy } = place
    const away = new TransientError('no answer', { code: 'store_unavailable' })
    const caller = { call: () => Promise.reject(away) } as unknown as ScriptCaller
    const node = { partition: 0, nodeId: 'none', nodeFacts: {} }
    const upkeep = new RedisUpkeepStore({ redis, caller, keys, policy, ...node })
    await expect(upkeep.finishCancelled()).rejects.toBe(away)
  })

  test('a finish ends idle, queued and parked workers, takes them out of run queue and timers, and ends the session', async () => {
    await using scene = await tree()
    const { place, session, node, first } = scene
    const timers = [{ id: 't1', ms: 600_000, valueJson: '1' }]
    await first.record({ timers, signalsOpen: 1, pendingCalls: [1], end: { wait: 'signals', next: null } })
    await place.sessions.cancel(session.id, 'enough')
    await node.upkeep.finishCancelled()
    expect(await states(place)).toEqual({
      'one.root': 'terminal',
      first: 'terminal',
      second: 'terminal',
      grandchild: 'terminal',
      free: 'terminal',
    })
    const dump = await place.dump()
    for (const key of ['run:default', 'timers', 'w:<first>:timers', 'cancelling', 's:<one>:cancelled'])
      expect(dump).not.toHaveProperty(key)
    expect(dump).toMatchObject({
      's:<one>': { state: 'cancelled', finished: 'now', 'result:1': 'cancelled 1' },
      'w:<one.root>:log': ['{"type":"received"}', expect.stringContaining('"type":"cancelled"')],
      'w:<grandchild>:log': [expect.stringContaining('"type":"cancelled"')],
      'w:<grandchild>:mail:inbox': ['i\t<first>\t"for grandchild"'],
    })
    const last = (dump.events as string[][]).slice(-6)
    expect(last.filter(([line]) => line?.startsWith('worker.cancelled'))).toHaveLength(5)
    expect(last.at(-1)).toEqual(['session.cancelled <one.root>'])
  })

  test('versions and histories grow by one for each run that a finish ends (I4), and not for an idle worker', async () => {
    await using scene = await started({ mode: 'conversation' })
    const { place, session, node } = scene
    await (await node.claim()).complete()
    await place.sessions.cancel(session.id, 'enough')
    const changed = await place.changed(() => node.upkeep.finishCancelled())
    expect(changed['w:<one.root>']).toEqual({ status: 'terminal' })
    expect(changed).not.toHaveProperty('w:<one.root>:log')
  })

  test('a finish ends a run that waits for its next attempt, with a result', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    const turn = await node.claim()
    await turn.record({
      open: false,
      attempt: 1,
      runState: 'TransientFailure',
      end: { wait: 'retry', retryMs: 600_000, next: null },
    })
    await place.sessions.cancel(session.id, 'enough')
    await node.upkeep.finishCancelled()
    const dump = await place.dump()
    expect(dump).toMatchObject({
      'w:<one.root>': { status: 'terminal', attempt: '0', version: '2' },
      's:<one>': { state: 'cancelled', 'result:1': 'cancelled 0' },
    })
    expect(dump).not.toHaveProperty('timers')
  })

  test('a finish waits for a running worker, and leaves it to its own end', async () => {
    await using scene = await tree()
    const { place, session, node, first } = scene
    await place.sessions.cancel(session.id, 'enough')
    await node.upkeep.finishCancelled()
    expect(await states(place)).toMatchObject({ first: 'running', second: 'terminal', 'one.root': 'terminal' })
    expect(await place.dump()).toMatchObject({
      cancelling: ['<one>'],
      's:<one>': { state: 'cancelling' },
      's:<one>:cancelled': ['<one.root>:*'],
    })
    await first.record({ ...cancelledEnd, pendingCount: 1 })
    await node.upkeep.finishCancelled()
    expect(await place.session(session.id)).toMatchObject({ state: 'cancelled' })
  })

  test('a finish gets the turn of a dead node from the sweep, queued, and ends it', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    const turn = await node.claim()
    await place.sessions.cancel(session.id, 'enough')
    await place.expireLease(turn.worker)
    await node.sweep({ free: 0 })
    await node.upkeep.finishCancelled()
    expect(await place.session(session.id)).toMatchObject({ state: 'cancelled', 'result:1': 'cancelled 0' })
  })

  test('a repeated finish has no effect', async () => {
    await using scene = await tree()
    const { place, session, node } = scene
    await place.sessions.cancel(session.id, 'enough')
    await node.upkeep.finishCancelled()
    const before = await place.dump()
    await place.redis.sadd(place.keys.cancelling, session.id)
    await node.upkeep.finishCancelled()
    expect(await place.dump()).toEqual(before)
  })

  test('a finish waits for running turns, in whichever batch they were', async () => {
    await using scene = await tree({ policy: { sweepBatch: 2 } })
    const { place, session, node } = scene
    await place.sessions.cancel(session.id, 'enough')
    expect(await node.upkeep.finishCancelled()).toEqual({ finished: 0, damaged: [], wakeups: [] })
    expect(await states(place)).toMatchObject({ first: 'running', grandchild: 'terminal' })
  })

  test('a finish ends a large session in batches', async () => {
    await using scene = await started(
      { limits: { workers: 100, children: 50 } },
      await Place.open({ policy: { sweepBatch: 7 } }),
    )
    const { place, session, node } = scene
    const root = await node.claim()
    const calls = Array.from({ length: 33 }, (_, index) => index + 1)
    await root.park('signals', {
      spawns: calls.map((call) => place.child(root.worker, call, `c${call}`)),
      pendingCalls: calls,
    })
    await place.sessions.cancel(session.id, 'enough')
    await node.upkeep.finishCancelled()
    expect(new Set(Object.values(await states(place)))).toEqual(new Set(['terminal']))
    expect(await place.session(session.id)).toMatchObject({ state: 'cancelled' })
  })

  test('a finish forgets a session that is gone', async () => {
    await using scene = await started()
    const { place, node } = scene
    await place.redis.sadd(place.keys.cancelling, '01890a5d-ac96-774b-bcce-b302099a8000')
    await node.upkeep.finishCancelled()
    expect(await place.dump()).not.toHaveProperty('cancelling')
  })

  test('a half-done finish keeps the cancels that come in between', async () => {
    await using scene = await started({ mode: 'conversation' }, await Place.open({ policy: { sweepBatch: 2 } }))
    const { place, session, node } = scene
    const root = await node.claim()
    const calls = [1, 2, 3, 4]
    const children = calls.map((call) => place.child(root.worker, call, `c${call}`, { detached: call < 3 }))
    await root.record({ inputsConsumed: 1, spawns: children, pendingCalls: [3, 4] })
    await root.record({ ...completion, pendingCount: 2 })
    // A pass over what that run left begins, and the session is cancelled between its batches.
    place.wire.afterNext(async () => void (await place.sessions.cancel(session.id, 'enough')))
    await node.upkeep.finishCancelled()
    await node.upkeep.finishCancelled()
    expect(await states(place)).toEqual({
      'one.root': 'terminal',
      c1: 'terminal',
      c2: 'terminal',
      c3: 'terminal',
      c4: 'terminal',
    })
    expect(await place.session(session.id)).toMatchObject({ state: 'cancelled' })
  })
})
