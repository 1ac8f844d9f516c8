/** pause and resume: no worker of a paused session is claimed; its workers keep their places, and return to them. */
import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { auditLines } from '../../support/fault/oracle.ts'
import { pauseNote, resumedEvent, withChildren } from '../support/person/pause-checks.ts'
import { Place } from '../support/place.ts'
import { states } from '../support/turn/cancel-scenes.ts'

describe('a pause', () => {
  test('a pause marks the session and tells the nodes; a second one writes nothing else, and the first reason stands', async () => {
    await using place = await Place.open()
    const session = await place.create()
    const changed = await place.changed(() => place.sessions.pauses.pause(session.id, pauseNote, false, 'x'))
    expect(changed).toEqual({
      'idem:x': 'ok | for 600s',
      's:<one>': expect.objectContaining({ paused: JSON.stringify(pauseNote) }),
      events: [['session.paused <one.root> {"why":"look first","by":"ada"}']],
    })
    const second = () => place.sessions.pauses.pause(session.id, { ...pauseNote, by: 'bob' }, false, 'y')
    expect(await place.changed(second)).toEqual({ 'idem:y': 'ok | for 600s' })
  })

  test('a pause does not touch other sessions, even those behind it in the run queue', async () => {
    await using place = await Place.open()
    const { session, node } = await withChildren(place)
    await place.create({ label: 'two' })
    await place.sessions.pauses.pause(session.id, pauseNote)
    expect((await node.claim()).assignment).toMatchObject({ name: 'two', purpose: 'run' })
    expect(await node.ask({ slot: '1' })).toMatchObject({ kind: 'empty' })
    expect(await place.redis.zcard(place.sessionKeys(session.id).held)).toBe(3)
  })

  test('a pause keeps everything that comes while it lasts: messages, timers and results wait, and a worker that they wake is held too', async () => {
    await using place = await Place.open()
    const session = await place.create({ mode: 'conversation' })
    const node = place.node()
    await (await node.claim()).complete()
    await place.sessions.pauses.pause(session.id, pauseNote)
    await place.post(session.root, 'second')
    await place.post(session.root, 'third')
    expect(await node.ask()).toMatchObject({ kind: 'empty' })
    await place.sessions.pauses.resume(session.id, resumedEvent)
    const { assignment } = await node.claim()
    expect(assignment.mail.inbox.map(({ message }) => message.value)).toEqual(['second', 'third'])
  })

  test('a resume lets go of all workers, also of more than one script may', async () => {
    await using place = await Place.open()
    const session = await place.create()
    await place.sessions.pauses.pause(session.id, pauseNote)
    const { held } = place.sessionKeys(session.id)
    const gone = Array.from({ length: 401 }, (_, number) => [number, newId(0)]).flat()
    await place.redis.zadd(held, ...gone)
    await place.sessions.pauses.resume(session.id, resumedEvent)
    expect(await place.redis.zcard(held)).toBe(0)
  })

  test('a pause of a session whose worker lost its node holds the worker that a sweep heals', async () => {
    await using place = await Place.open()
    const { session, node, root } = await withChildren(place)
    await place.sessions.pauses.pause(session.id, pauseNote)
    await place.expireLease(root.worker)
    await node.sweep({ free: 0 })
    expect(await node.ask()).toMatchObject({ kind: 'empty' })
    expect(await place.sessions.pauses.pause(session.id, pauseNote)).toEqual({ kind: 'ok', turns: 0 })
    await place.sessions.pauses.resume(session.id, resumedEvent)
    expect(new Set(Object.values(await states(place)))).toEqual(new Set(['queued']))
    expect(await place.redis.zcard(place.keys.run('default'))).toBe(4)
  })

  test('a pause holds a worker again if its run was cancelled, with the mail that is left', async () => {
    await using place = await Place.open()
    const session = await place.create({ mode: 'conversation' })
    const node = place.node()
    await place.post(session.root, 'second')
    await place.sessions.pauses.pause(session.id, pauseNote)
    await node.ask()
    const { held } = place.sessionKeys(session.id)
    expect(await place.redis.zrange(held, '0', '-1')).toEqual([session.root])
    await place.sessions.cancelWorker(session.root, 'run', 'enough')
    await node.upkeep.finishCancelled()
    expect(await place.record(session.root)).toMatchObject({ status: 'queued', run: '2' })
    expect(await place.redis.exists(held)).toBe(0)
    expect(await node.ask()).toMatchObject({ kind: 'empty' })
    expect(await place.redis.zrange(held, '0', '-1')).toEqual([session.root])
    await place.sessions.pauses.resume(session.id, resumedEvent)
    const { assignment } = await node.claim()
    expect(assignment.mail.inbox.map(({ message }) => message.value)).toEqual(['second'])
    expect(await place.redis.exists(held)).toBe(0)
  })

  test('a pause keeps the other held workers when one of them is cancelled, and the parent of that one gets one result', async () => {
    await using place = await Place.open()
    const { session, node, root, spawns } = await withChildren(place)
    await root.park('any', { inputsConsumed: 0, pendingCalls: [1, 2, 3], end: { wait: 'results:3', next: null } })
    await place.sessions.pauses.pause(session.id, pauseNote)
    await node.ask()
    const ids = spawns.map(({ id }) => id)
    await place.sessions.cancelWorker(String(ids[0]), 'worker', 'enough')
    await node.upkeep.finishCancelled()
    expect(await place.redis.zrange(place.sessionKeys(session.id).held, '0', '-1')).toEqual(ids.slice(1))
    expect(await place.redis.llen(`${place.workerKeys(root.worker).record}:mail:results`)).toBe(1)
    await place.sessions.pauses.resume(session.id, resumedEvent)
    expect([(await node.claim()).worker, (await node.claim()).worker]).toEqual(ids.slice(1))
    expect(await node.ask()).toMatchObject({ kind: 'empty' })
  })

  test('a pause brings no finding of the audit, before or after the resume', async () => {
    await using place = await Place.open()
    const { session, node, root } = await withChildren(place)
    await root.park('any', { inputsConsumed: 0, pendingCalls: [1, 2, 3], end: { wait: 'results:3', next: null } })
    await place.sessions.pauses.pause(session.id, pauseNote)
    await node.ask()
    const lines = async () => (await auditLines(place.redis, place.namespace)).filter((line) => line.startsWith('I7'))
    expect(await lines()).toEqual([])
    // Without the mark nobody would put them back.
    await place.redis.hdel(place.workerKeys(session.root).record, 'paused')
    expect(await lines()).toHaveLength(3)
  })

  test('a pause is gone after its resume, and a second resume writes nothing else', async () => {
    await using place = await Place.open()
    const { session } = await withChildren(place)
    const before = await place.session(session.id)
    await place.sessions.pauses.pause(session.id, pauseNote)
    await place.sessions.pauses.resume(session.id, resumedEvent)
    expect(await place.session(session.id)).toEqual(before)
    const second = () => place.sessions.pauses.resume(session.id, resumedEvent, 'y')
    expect(await place.changed(second)).toEqual({ 'idem:y': 'ok | for 600s' })
  })
})
