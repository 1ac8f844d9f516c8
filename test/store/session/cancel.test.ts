/** cancel and finish: from the instant of the cancel nothing below it starts, and what no node runs is ended in batches. */
import { describe, expect, test } from 'vitest'
import type { HandTurn } from '../support/hand-node.ts'
import { cancelledEnd, started, states, tree } from '../support/turn/cancel-scenes.ts'

describe('cancel', () => {
  test('a cancel closes the session and its root for good, and tells the nodes', async () => {
    await using scene = await started()
    const { place, session } = scene
    const changed = await place.changed(async () =>
      expect(await place.sessions.cancel(session.id, 'no "longer"\n needed')).toEqual({ kind: 'ok' }),
    )
    expect(changed).toEqual({
      's:<one>': { state: 'cancelling', cancelCount: '1', endFrom: '0', cancel: '"no \\"longer\\"\\n needed"' },
      's:<one>:cancelled': ['<one.root>:*'],
      cancelling: ['<one>'],
      events: [['session.cancelRequested <one.root> {"reason":"no \\"longer\\"\\n needed"}']],
    })
  })

  test('a cancel of a session that is being cancelled is ok and writes nothing; the first reason stands', async () => {
    await using scene = await started()
    const { place, session } = scene
    await place.sessions.cancel(session.id, 'first')
    const changed = await place.changed(async () =>
      expect(await place.sessions.cancel(session.id, 'second')).toEqual({ kind: 'ok' }),
    )
    expect(changed).toEqual({})
  })

  test('a cancel of a session that has finished by itself is refused as that', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    await (await node.claim()).complete()
    const changed = await place.changed(async () =>
      expect(await place.sessions.cancel(session.id, 'late')).toEqual({ kind: 'finished', state: 'completed' }),
    )
    expect(changed).toEqual({})
  })

  test('a cancel of an ended session cancels the detached worker that it left, and changes nothing else of it', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    const root = await node.claim()
    await root.complete({ spawns: [place.child(root.worker, 1, 'free', { detached: true })] })
    const free = await node.claim()
    await free.park('signals', { timers: [{ id: 't1', ms: 600_000, valueJson: '1' }], signalsOpen: 1 })
    const ended = await place.session(session.id)
    const cancelling = () => place.sessions.cancel(session.id, 'late')
    expect(await cancelling()).toEqual({ kind: 'finished', state: 'completed' })
    expect(await place.changed(cancelling)).toEqual({})
    await node.upkeep.finishCancelled()
    expect(await states(place)).toEqual({ 'one.root': 'idle', free: 'terminal' })
    expect(await place.dump()).not.toHaveProperty('timers')
    expect(await place.dump()).not.toHaveProperty('cancelling')
    expect(await place.session(session.id)).toEqual({ ...ended, cancelCount: '1' })
  })

  test('a cancel of an unknown session is refused as not found', async () => {
    await using scene = await started()
    expect(await scene.place.sessions.cancel('01890a5d-ac96-774b-bcce-b302099a8000', 'x')).toEqual({
      kind: 'not_found',
    })
  })

  test('a cancel of one session touches no other', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    await place.create({ label: 'two' })
    await place.sessions.cancel(session.id, 'enough')
    await node.claim()
    const other = await node.claim()
    expect(other.assignment).toMatchObject({ name: 'two', purpose: 'run' })
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
        await node.turns.renew([
          { workerId: turn.worker, token: turn.assignment.token, wakeup: '', becomesBusy: false },
        ]),
      ).toMatchObject({
        verdicts: ['cancelled'],
      })
    }
    expect(claims.map((turn) => turn.assignment.name).sort()).toEqual(['free', 'grandchild', 'second'])
  })

  test('queued workers are assigned for their cancelling end only', async () => {
    await using scene = await tree()
    const { place, session, node } = scene
    await place.sessions.cancel(session.id, 'enough')
    for (let number = 0; number < 3; number++) expect((await node.claim()).assignment.purpose).toBe('cancelled')
  })

  test('nobody spawns', async () => {
    await using scene = await tree()
    const { place, session, first } = scene
    await place.sessions.cancel(session.id, 'enough')
    const child = place.child(first.worker, 2, 'late')
    expect(await first.commit({ spawns: [child], pendingCalls: [1, 2] })).toEqual({ kind: 'cancelled' })
    expect(await place.dump()).not.toHaveProperty('w:<late>')
  })
})

describe('the cancelling end of a turn', () => {
  test('the cancelling end of a turn makes its worker terminal for good, its mail kept for reading', async () => {
    await using scene = await started()
    const { place, session, node } = scene
    const turn = await node.claim()
    await place.post(turn.worker, 'second')
    await place.sessions.cancel(session.id, 'enough')
    const changed = await place.changed(() => turn.record(cancelledEnd))
    expect(changed).toMatchObject({
      'w:<one.root>': { status: 'terminal', holder: '', run: '2' },
      'w:<one.root>:log': ['{"type":"cancelled"}'],
      's:<one>': { 'result:1': 'cancelled 0' },
      leases: null,
    })
    expect(changed).not.toHaveProperty('w:<one.root>:mail:inbox')
    expect(changed).not.toHaveProperty('run:default')
    await node.upkeep.finishCancelled()
    expect(await place.dump()).toMatchObject({
      'w:<one.root>': { status: 'terminal' },
      'w:<one.root>:mail:inbox': ['i\t-\t"first"', 'i\t-\t"second"'],
      's:<one>': { state: 'cancelled', finished: 'now' },
    })
  })

  test("a cancelling end of a turn after the end of the parent's run makes a child terminal, and the parent's next run goes on", async () => {
    await using scene = await tree()
    const { place, node, root, first } = scene
    await place.redis.hset(place.workerKeys(root.worker).record, 'mode', 'conversation')
    await place.redis.zadd(place.keys.run('default'), 1, root.worker)
    await place.redis.hset(place.workerKeys(root.worker).record, 'status', 'queued')
    await place.post(root.worker, 'next')
    const ending = await node.claim()
    await ending.complete({ inputsConsumed: 0, pendingCount: 2 })
    expect(await first.commit({ entries: ['{}'] })).toEqual({ kind: 'cancelled' })
    await first.record({ ...cancelledEnd, pendingCount: 1 })
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
    expect((await node.claim()).assignment).toMatchObject({ name: 'free', purpose: 'run' })
    expect((await node.claim()).assignment).toMatchObject({ workerId: root.worker, run: 2, purpose: 'run' })
  })
})

describe('after all', () => {
  test('a session that was cancelled while many of its turns ran leaves nothing anywhere', async () => {
    await using scene = await tree()
    const { place, session, node, first } = scene
    const others: HandTurn[] = [await node.claim(), await node.claim(), await node.claim()]
    await place.sessions.cancel(session.id, 'enough')
    for (const turn of [first, ...others]) {
      await turn.record({ ...cancelledEnd, pendingCount: turn === first ? 1 : 0 })
      await node.upkeep.finishCancelled()
    }
    const dump = await place.dump()
    for (const key of ['run:default', 'leases', 'timers', 'cancelling', 's:<one>:cancelled'])
      expect(dump).not.toHaveProperty(key)
    expect(new Set(Object.values(await states(place)))).toEqual(new Set(['terminal']))
  })
})
