/** Cancelling one worker, or one run of it: its subtree ends, its parent gets one result, and everything beside it goes on. */
import { describe, expect, test } from 'vitest'
import { TerminalError } from '../../../src/core/errors.ts'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import { toFailure } from '../../../src/core/worker/run/failure.ts'
import { completion } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'
import { pair, resultsOf, talk } from '../support/turn/cancel-checks.ts'
import { cancelledEnd, states, tree } from '../support/turn/cancel-scenes.ts'

describe('a cancel of one worker', () => {
  test('a cancel of one worker is final, tells the nodes and says who and why; a second one writes nothing', async () => {
    await using scene = await tree()
    const { place, first } = scene
    const cancel = () => place.sessions.cancelWorker(first.worker, 'worker', 'enough', { by: 'ada' }, 'key')
    const changed = await place.changed(async () => expect(await cancel()).toEqual({ kind: 'ok' }))
    expect(changed).toEqual({
      's:<one>': { cancelCount: '1', endFrom: '0' },
      's:<one>:cancelled': ['<first>:*'],
      's:<one>:reasons': { '<first>:*': 'enough' },
      cancelling: ['<one>'],
      'idem:key': 'ok | for 600s',
      events: [['worker.cancelRequested <first> {"what":"worker","reason":"enough","by":"ada"}']],
    })
    expect(await place.changed(cancel)).toEqual({})
  })

  test('a cancel of one worker ends it and all below it, leaves its siblings, and gives its parent one result', async () => {
    await using scene = await tree()
    const { place, node, root, first } = scene
    await place.sessions.cancelWorker(first.worker, 'worker', 'enough')
    expect(await first.commit({ spawns: [place.child(first.worker, 2, 'late')], pendingCalls: [1, 2] })).toEqual({
      kind: 'cancelled',
    })
    await first.record({ ...cancelledEnd, pendingCount: 1, result: `r\t${first.worker}\t1\tcancelled\t{}` })
    await node.upkeep.finishCancelled()
    expect(await states(place)).toEqual({
      'one.root': 'parked',
      first: 'terminal',
      grandchild: 'terminal',
      second: 'queued',
      free: 'queued',
    })
    expect(await place.redis.llen(`${place.workerKeys(root.worker).record}:mail:results`)).toBe(1)
    for (const key of ['cancelling', 's:<one>:cancelled', 's:<one>:reasons'])
      expect(await place.dump()).not.toHaveProperty(key)
    const names = [(await node.claim()).assignment, (await node.claim()).assignment]
    expect(names.map(({ name, purpose }) => `${name} ${purpose}`).sort()).toEqual(['free run', 'second run'])
  })

  test('a cancel of one worker leaves the last failure of the worker as it was', async () => {
    await using place = await Place.open()
    const session = await place.create({ mode: 'conversation' })
    const node = place.node()
    const failed = await node.claim()
    await failed.complete({ outcome: 'failed', failure: toFailure(new TerminalError('no'), 'handler', 1, 0) })
    const before = (await place.record(session.root)).failed
    await place.sessions.cancelWorker(session.root, 'run', 'enough')
    await node.upkeep.finishCancelled()
    expect((await place.record(session.root)).failed).toBe(before)
    expect(await place.sessions.cancelWorker(session.root, 'run', 'again')).toEqual({ kind: 'rests' })
  })

  test('a cancel of an unknown worker is refused as not found, and one of a worker that was cancelled before as terminal', async () => {
    await using place = await Place.open()
    const { node, second } = await pair(place)
    expect(await place.sessions.cancelWorker(rootIdOf(newId(0)), 'worker', 'x')).toEqual({ kind: 'not_found' })
    await place.sessions.cancelWorker(second, 'worker', 'x')
    await node.upkeep.finishCancelled()
    await node.upkeep.finishCancelled()
    for (const what of ['worker', 'run'] as const)
      expect(await place.sessions.cancelWorker(second, what, 'x')).toEqual({ kind: 'terminal' })
  })

  test('a cancel of a root is the cancel of its session', async () => {
    await using place = await Place.open()
    const { session, root } = await pair(place)
    expect(await place.sessions.cancelWorker(root.worker, 'worker', 'all')).toEqual({ kind: 'ok' })
    expect(await place.session(session.id)).toMatchObject({ state: 'cancelling', cancel: '"all"' })
  })
})

describe('a cancel of one run', () => {
  test('a cancel of one run ends the children that it waits for, and spares the detached one', async () => {
    await using scene = await tree()
    const { place, node, root, first } = scene
    await place.redis.hset(place.workerKeys(root.worker).record, 'mode', 'conversation')
    await place.post(root.worker, 'next')
    expect(await place.sessions.cancelWorker(root.worker, 'run', 'enough')).toEqual({ kind: 'ok' })
    expect(await first.commit({ entries: ['{}'] })).toEqual({ kind: 'cancelled' })
    await node.upkeep.finishCancelled()
    expect(await first.commit({ ...completion, outcome: 'completed', result: 'r\tx' })).toEqual({ kind: 'cancelled' })
    await first.record({ ...cancelledEnd, pendingCount: 1, result: `r\t${first.worker}\t1\tcancelled\t{}` })
    await node.upkeep.finishCancelled()
    expect(await states(place)).toEqual({
      'one.root': 'queued',
      first: 'terminal',
      second: 'terminal',
      grandchild: 'terminal',
      free: 'queued',
    })
    expect(await place.dump()).not.toHaveProperty('cancelling')
    expect(await resultsOf(place, root.worker)).toEqual([])
    const next = [await node.claim(), await node.claim()].find(({ worker }) => worker === root.worker)
    expect(next?.assignment).toMatchObject({ run: 2, purpose: 'run' })
  })

  test('a cancel of the run of a child gives its parent a cancelled result, and the child takes the next message', async () => {
    await using place = await Place.open()
    const { node, root, first } = await pair(place)
    await first.park('signals', { timers: [{ id: 't1', ms: 600_000, valueJson: '1' }], signalsOpen: 1 })
    await place.post(first.worker, 'more')
    await place.sessions.cancelWorker(first.worker, 'run', 'enough')
    await node.upkeep.finishCancelled()
    expect(await resultsOf(place, root.worker)).toMatchObject([{ from: first.worker, status: 'cancelled' }])
    const turns = [await node.claim(), await node.claim(), await node.claim()]
    expect(turns.map(({ assignment }) => `${assignment.name} ${assignment.run}`).sort()).toEqual([
      'first 2',
      'one 1',
      'second 1',
    ])
  })

  test('a cancel of the run during which a conversation was closed ends the conversation once nothing waits', async () => {
    await using place = await Place.open()
    const { session, node, turn } = await talk(place)
    await place.sessions.cancelWorker(turn.worker, 'run', 'enough')
    await place.sessions.close(session.id)
    await turn.record(cancelledEnd)
    const next = await node.claim()
    expect(await place.session(session.id)).toMatchObject({ state: 'active' })
    await place.sessions.cancelWorker(next.worker, 'run', 'enough')
    await next.record(cancelledEnd)
    expect(await place.session(session.id)).toMatchObject({ state: 'cancelled' })
    expect(await place.redis.hget(place.workerKeys(next.worker).record, 'ended')).toMatch(/^cancelled \d+ 2 \d+$/)
  })

  test('a cancel of one run leaves no element that a later run could meet', async () => {
    await using place = await Place.open()
    const { node, turn } = await talk(place)
    await place.sessions.cancelWorker(turn.worker, 'run', 'enough')
    await turn.record(cancelledEnd)
    const next = await node.claim()
    expect(await next.commit({ entries: ['{}'], inputsConsumed: 1 })).toMatchObject({ kind: 'ok' })
    await node.upkeep.finishCancelled()
    expect(await place.dump()).not.toHaveProperty('s:<one>:cancelled')
  })
})
