/** cancel and finish: from the instant of the cancel nothing below it starts, and what no node runs is ended in batches. */
import { describe, expect, test } from 'vitest'
import { TransientError } from '../../src/core/errors.ts'
import type { ScriptCaller } from '../../src/store/script.ts'
import { RedisUpkeepStore } from '../../src/store/upkeep-store.ts'
import { completion, type HandTurn } from './support/hand-node.ts'
import { type CreateOptions, Place, type PlaceOptions } from './support/place.ts'

const cancelledEnd = {
  entries: ['{"type":"cancelled"}'],
  runState: 'Idle',
  open: false,
  outcome: 'cancelled',
  event: '[["worker.cancelled"]]',
  end: { wait: 'any', next: null },
} as const

async function started(options: CreateOptions = {}, place?: Place) {
  const at = place ?? (await Place.open())
  const session = await at.create(options)
  return { place: at, session, node: at.node(), [Symbol.asyncDispose]: () => at[Symbol.asyncDispose]() }
}

/** A root parked on two children; the first has a child of its own, the third is detached. All but the root are queued or claimed. */
async function tree(options: PlaceOptions = {}) {
  const scene = await started({}, await Place.open(options))
  const { place, node } = scene
  const root = await node.claim()
  const spawns = [
    place.child(root.worker, 1, 'first'),
    place.child(root.worker, 2, 'second'),
    place.child(root.worker, 3, 'free', { detached: true }),
  ]
  await root.park('control', { spawns, awaits: [1, 2] })
  const first = await node.claim()
  await first.record({ userUsed: 1, spawns: [place.child(first.worker, 1, 'grandchild')], awaits: [1] })
  return { ...scene, root, first }
}

const states = async (place: Place) =>
  Object.fromEntries(
    Object.entries(await place.dump()).flatMap(([key, view]) => {
      const label = /^w:<(.*)>$/.exec(key)?.[1]
      return label ? [[label, (view as { place: string }).place]] : []
    }),
  )

describe('cancel', () => {
  test('marks the session and its root for good, and tells the nodes', async () => {
    await using scene = await started()
    const { place, session } = scene
    const changed = await place.changed(async () =>
      expect(await place.sessions.cancel(session.id, 'no "longer"\n needed')).toEqual({ kind: 'ok' }),
    )
    expect(changed).toEqual({
      's:<one>': { state: 'cancelling', marks: '1', cancel: '"no \\"longer\\"\\n needed"' },
      's:<one>:cancelled': ['<one.root>:*'],
      cancelling: ['<one>'],
      events: [['session.cancelRequested <one.root> {"reason":"no \\"longer\\"\\n needed"}']],
    })
  })

  test('of a session that is being cancelled is ok and writes nothing; the first reason stands', async () => {
    await using scene = await started()
    const { place, session } = scene
    await place.sessions.cancel(session.id, 'first')
    const changed = await place.changed(async () =>
      expect(await place.sessions.cancel(session.id, 'second')).toEqual({ kind: 'ok' }),
    )
    expect(changed).toEqual({})
  })

  test('of a session that has finished by itself is told so', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    await (await node.claim()).complete()
    const changed = await place.changed(async () =>
      expect(await place.sessions.cancel(session.id, 'late')).toEqual({ kind: 'finished', state: 'completed' }),
    )
    expect(changed).toEqual({})
  })

  test('of a session that has ended cancels the detached worker that it left, and changes nothing else of it', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    const root = await node.claim()
    await root.complete({ spawns: [place.child(root.worker, 1, 'free', { detached: true })] })
    const free = await node.claim()
    await free.park('control', { timers: [{ id: 't1', ms: 600_000, valueJson: '1' }], timersOpen: 1 })
    const ended = await place.session(session.id)
    const cancelling = () => place.sessions.cancel(session.id, 'late')
    expect(await cancelling()).toEqual({ kind: 'finished', state: 'completed' })
    expect(await place.changed(cancelling)).toEqual({})
    await node.upkeep.finishCancelled()
    expect(await states(place)).toEqual({ 'one.root': 'idle', free: 'terminal' })
    expect(await place.dump()).not.toHaveProperty('timers')
    expect(await place.dump()).not.toHaveProperty('cancelling')
    expect(await place.session(session.id)).toEqual({ ...ended, marks: '1' })
  })

  test('of a session that is not known is told so', async () => {
    await using scene = await started()
    expect(await scene.place.sessions.cancel('01890a5d-ac96-774b-bcce-b302099a8057', 'x')).toEqual({
      kind: 'not_found',
    })
  })

  test('of one session touches no other', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    await place.create({ label: 'two' })
    await place.sessions.cancel(session.id, 'enough')
    await node.claim()
    const other = await node.claim()
    expect(other.grant).toMatchObject({ name: 'two', mark: 'run' })
    expect(await other.commit({ entries: ['{}'] })).toMatchObject({ kind: 'ok' })
  })
})

describe('from that instant (I12)', () => {
  test('running turns of any depth, detached ones too, may commit nothing but their cancelling end', async () => {
    await using scene = await tree()
    const { place, session, node, first } = scene
    const claims = [await node.claim(), await node.claim(), await node.claim()]
    await place.sessions.cancel(session.id, 'enough')
    for (const turn of [first, ...claims]) {
      expect(await turn.commit({ entries: ['{}'] })).toEqual({ kind: 'cancelled' })
      expect(
        await node.turns.renew([{ workerId: turn.worker, token: turn.grant.token, bell: '', becomesBusy: false }]),
      ).toMatchObject({
        verdicts: ['cancelled'],
      })
    }
    expect(claims.map((turn) => turn.grant.name).sort()).toEqual(['free', 'grandchild', 'second'])
  })

  test('queued workers are granted for their cancelling end only', async () => {
    await using scene = await tree()
    const { place, session, node } = scene
    await place.sessions.cancel(session.id, 'enough')
    for (let number = 0; number < 3; number++) expect((await node.claim()).grant.mark).toBe('cancelled')
  })

  test('nobody spawns', async () => {
    await using scene = await tree()
    const { place, session, first } = scene
    await place.sessions.cancel(session.id, 'enough')
    const child = place.child(first.worker, 2, 'late')
    expect(await first.commit({ spawns: [child], awaits: [1, 2] })).toEqual({ kind: 'cancelled' })
    expect(await place.dump()).not.toHaveProperty('w:<late>')
  })
})

describe('the cancelling end of a turn', () => {
  test('makes its worker terminal for good, its mail kept for reading', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    const turn = await node.claim()
    await place.post(turn.worker, 'second')
    await place.sessions.cancel(session.id, 'enough')
    const changed = await place.changed(() => turn.record(cancelledEnd))
    expect(changed).toMatchObject({
      'w:<one.root>': { place: 'terminal', holder: '', run: '2' },
      'w:<one.root>:log': ['{"type":"cancelled"}'],
      's:<one>': { 'result:1': 'cancelled 0' },
      leases: null,
    })
    expect(changed).not.toHaveProperty('w:<one.root>:mail:user')
    expect(changed).not.toHaveProperty('run:default')
    await node.upkeep.finishCancelled()
    expect(await place.dump()).toMatchObject({
      'w:<one.root>': { place: 'terminal' },
      'w:<one.root>:mail:user': ['i\t-\t"first"', 'i\t-\t"second"'],
      's:<one>': { state: 'cancelled', finished: 'now' },
    })
  })

  test('after the end of the run of its parent makes a child terminal, and the next run of the parent goes on', async () => {
    await using scene = await tree()
    const { place, node, root, first } = scene
    await place.redis.hset(place.workerKeys(root.worker).record, 'mode', 'conversation')
    await place.redis.zadd(place.keys.run('default'), 1, root.worker)
    await place.redis.hset(place.workerKeys(root.worker).record, 'place', 'queued')
    await place.post(root.worker, 'next')
    const ending = await node.claim()
    await ending.complete({ userUsed: 0, awaiting: 2 })
    expect(await first.commit({ entries: ['{}'] })).toEqual({ kind: 'cancelled' })
    await first.record({ ...cancelledEnd, awaiting: 1 })
    await node.upkeep.finishCancelled()
    expect(await states(place)).toEqual({
      'one.root': 'queued',
      first: 'terminal',
      second: 'terminal',
      grandchild: 'terminal',
      free: 'queued',
    })
    expect(await place.dump()).not.toHaveProperty('s:<one>:cancelled')
    expect(await place.dump()).not.toHaveProperty('cancelling')
    expect((await node.claim()).grant).toMatchObject({ name: 'free', mark: 'run' })
    expect((await node.claim()).grant).toMatchObject({ workerId: root.worker, run: 2, mark: 'run' })
  })
})

describe('finish', () => {
  test('counts as one commit more, of nobody: whoever held the worker before has recorded what it had, and no more', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    const turn = await node.claim()
    const recorded = turn.request({ entries: ['{}'], userUsed: 1, open: true })
    expect(await node.turns.commit(recorded)).toMatchObject({ kind: 'ok', version: 1 })
    await place.expireLease(turn.worker)
    await node.sweep({ free: 0 })
    await place.sessions.cancel(session.id, 'enough')
    const { committed } = await place.record(turn.worker)
    expect(await node.upkeep.finishCancelled()).toEqual({ finished: 1, damaged: [] })
    expect(await place.record(turn.worker)).toMatchObject({ version: '2', committed, run: '2' })
    expect(await node.turns.commit({ ...recorded, sequence: 2, version: 1 })).toMatchObject({ kind: 'fenced' })
    expect(await node.turns.commit(recorded)).toMatchObject({ kind: 'ok', version: 2 })
  })

  test('of a worker that never committed is its first commit', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    await place.sessions.cancel(session.id, 'enough')
    await node.upkeep.finishCancelled()
    expect(await place.record(session.root)).toMatchObject({ version: '1', epoch: '0', starts: '0', place: 'terminal' })
  })

  test('tells how many cancels are over: not that of a session whose worker still runs', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    const turn = await node.claim()
    await place.sessions.cancel(session.id, 'enough')
    expect(await node.upkeep.finishCancelled()).toEqual({ finished: 0, damaged: [] })
    await turn.record(cancelledEnd)
    expect(await node.upkeep.finishCancelled()).toEqual({ finished: 1, damaged: [] })
    expect(await node.upkeep.finishCancelled()).toEqual({ finished: 0, damaged: [] })
  })

  test('blames no session for a Redis that does not answer', async () => {
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

  test('ends what is idle, queued or parked, takes it out of line and off its timers, and ends the session', async () => {
    await using scene = await tree()
    const { place, session, node, first } = scene
    const timers = [{ id: 't1', ms: 600_000, valueJson: '1' }]
    await first.record({ timers, timersOpen: 1, awaits: [1], end: { wait: 'control', next: null } })
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
      'w:<grandchild>:mail:user': ['i\t<first>\t"for grandchild"'],
    })
    const last = (dump.events as string[][]).slice(-6)
    expect(last.filter(([line]) => line?.startsWith('worker.cancelled'))).toHaveLength(5)
    expect(last.at(-1)).toEqual(['session.cancelled <one.root>'])
  })

  test('versions and histories grow by one for each run that it ends (I4), and not for an idle worker', async () => {
    await using scene = await started({ mode: 'conversation' })
    const { place, session, node } = scene
    await (await node.claim()).complete()
    await place.sessions.cancel(session.id, 'enough')
    const changed = await place.changed(() => node.upkeep.finishCancelled())
    expect(changed['w:<one.root>']).toEqual({ place: 'terminal' })
    expect(changed).not.toHaveProperty('w:<one.root>:log')
  })

  test('ends a run that waits for its next try, with a result', async () => {
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
      'w:<one.root>': { place: 'terminal', attempt: '0', version: '2' },
      's:<one>': { state: 'cancelled', 'result:1': 'cancelled 0' },
    })
    expect(dump).not.toHaveProperty('timers')
  })

  test('waits for a running worker, and leaves it to its own end', async () => {
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
    await first.record({ ...cancelledEnd, awaiting: 1 })
    await node.upkeep.finishCancelled()
    expect(await place.session(session.id)).toMatchObject({ state: 'cancelled' })
  })

  test("gets a dead node's turn from the sweep, queued, and ends it", async () => {
    await using scene = await started()
    const { place, session, node } = scene
    const turn = await node.claim()
    await place.sessions.cancel(session.id, 'enough')
    await place.expireLease(turn.worker)
    await node.sweep({ free: 0 })
    await node.upkeep.finishCancelled()
    expect(await place.session(session.id)).toMatchObject({ state: 'cancelled', 'result:1': 'cancelled 0' })
  })

  test('is repeated without effect', async () => {
    await using scene = await tree()
    const { place, session, node } = scene
    await place.sessions.cancel(session.id, 'enough')
    await node.upkeep.finishCancelled()
    const before = await place.dump()
    await place.redis.sadd(place.keys.cancelling, session.id)
    await node.upkeep.finishCancelled()
    expect(await place.dump()).toEqual(before)
  })

  test('waits for what runs, in whichever batch that was', async () => {
    await using scene = await tree({ policy: { sweepBatch: 2 } })
    const { place, session, node } = scene
    await place.sessions.cancel(session.id, 'enough')
    expect(await node.upkeep.finishCancelled()).toEqual({ finished: 0, damaged: [] })
    expect(await states(place)).toMatchObject({ first: 'running', grandchild: 'terminal' })
  })

  test('ends a large session in batches', async () => {
    await using scene = await started(
      { limits: { workers: 100, children: 50 } },
      await Place.open({ policy: { sweepBatch: 7 } }),
    )
    const { place, session, node } = scene
    const root = await node.claim()
    const calls = Array.from({ length: 33 }, (_, index) => index + 1)
    await root.park('control', {
      spawns: calls.map((call) => place.child(root.worker, call, `c${call}`)),
      awaits: calls,
    })
    await place.sessions.cancel(session.id, 'enough')
    await node.upkeep.finishCancelled()
    expect(new Set(Object.values(await states(place)))).toEqual(new Set(['terminal']))
    expect(await place.session(session.id)).toMatchObject({ state: 'cancelled' })
  })

  test('forgets a session that is gone', async () => {
    await using scene = await started()
    const { place, node } = scene
    await place.redis.sadd(place.keys.cancelling, '01890a5d-ac96-774b-bcce-b302099a8057')
    await node.upkeep.finishCancelled()
    expect(await place.dump()).not.toHaveProperty('cancelling')
  })

  test('that is half way through keeps what is cancelled meanwhile', async () => {
    await using scene = await started({ mode: 'conversation' }, await Place.open({ policy: { sweepBatch: 2 } }))
    const { place, session, node } = scene
    const root = await node.claim()
    const calls = [1, 2, 3, 4]
    const children = calls.map((call) => place.child(root.worker, call, `c${call}`, { detached: call < 3 }))
    await root.record({ userUsed: 1, spawns: children, awaits: [3, 4] })
    await root.record({ ...completion, awaiting: 2 })
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

describe('after all', () => {
  test('a session that was cancelled while many of its turns ran ends with nothing left of it anywhere', async () => {
    await using scene = await tree()
    const { place, session, node, first } = scene
    const others: HandTurn[] = [await node.claim(), await node.claim(), await node.claim()]
    await place.sessions.cancel(session.id, 'enough')
    for (const turn of [first, ...others]) {
      await turn.record({ ...cancelledEnd, awaiting: turn === first ? 1 : 0 })
      await node.upkeep.finishCancelled()
    }
    const dump = await place.dump()
    for (const key of ['run:default', 'leases', 'timers', 'cancelling', 's:<one>:cancelled'])
      expect(dump).not.toHaveProperty(key)
    expect(new Set(Object.values(await states(place)))).toEqual(new Set(['terminal']))
  })
})
