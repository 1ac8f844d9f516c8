/** Children that are given to the slot whose turn spawned them, with the commit of that turn. */
import { describe, expect, test } from 'vitest'
import { defaultName } from '../../../src/core/definition/worker-name.ts'
import type { Assignment, SpawnOrder } from '../../../src/core/ports/ports.ts'
import { childAssignment } from '../../../src/core/worker/child-assignment.ts'
import { running } from '../support/calls/call-scenes.ts'
import { assigned as assignmentOf, type HandTurn } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'

/** A parent that parks with children, of which the first ones are offered a slot. */
async function parked(
  place: Place,
  { offered = 2, spawns: given }: { offered?: number; spawns?: readonly SpawnOrder[] } = {},
) {
  const { session, node, turn } = await running(place)
  const spawns = given ?? [1, 2, 3].map((call) => place.child(turn.worker, call, `c${call}`))
  const offer = { slot: '0+', nonce: place.nonce(), takes: spawns.map((_, index) => index < offered) }
  const pendingCalls = spawns.map(({ call }) => call)
  const request = turn.request({
    inputsConsumed: 1,
    spawns,
    ...(offered > 0 && { offer }),
    pendingCalls,
    end: { wait: `results:${pendingCalls.length}`, next: 'stay' },
  })
  return { session, node, turn, spawns, nonce: offer.nonce, request }
}

async function lineOf(place: Place): Promise<string[]> {
  return place.redis.zrange(place.keys.run('default'), '0', '-1')
}

test('siblings of which some are taken, some have permissions, and one call is missing are each what was asked for', async () => {
  await using place = await Place.open()
  const { node, turn } = await running(place)
  const permissions = 'tools a b\nkinds echo'
  const asked = [
    { call: 1, takes: true },
    { call: 2, takes: false },
    { call: 4, takes: false },
    { call: 5, takes: true },
    { call: 6, takes: true, permissions },
    { call: 7, takes: true, permissions },
  ]
  const spawns = asked.map(({ call, permissions: own }) =>
    place.child(turn.worker, call, `c${call}`, { name: defaultName('echo', call), ...(own && { permissions: own }) }),
  )
  const offer = { slot: '0+', nonce: place.nonce(), takes: asked.map(({ takes }) => takes) }
  const pendingCalls = asked.map(({ call }) => call)
  const end = { wait: 'results:6', next: 'stay' } as const
  await node.turns.commit(turn.request({ inputsConsumed: 1, spawns, offer, pendingCalls, end }))
  const records = await Promise.all(spawns.map(({ id }) => place.record(id)))
  const named = records[4]?.permissions
  expect(named).toBeTruthy()
  expect(records).toMatchObject(
    asked.map(({ call, takes, permissions: own }) => ({
      call: String(call),
      status: takes ? 'running' : 'queued',
      ...(own && { permissions: named }),
    })),
  )
  expect(records.map((record) => record.permissions !== undefined)).toEqual([false, false, false, false, true, true])
})

describe('a child that was offered a slot', () => {
  test('a child that was offered a slot runs from the start: it has a lease and a claim of that slot, and never stands in the run queue', async () => {
    await using place = await Place.open()
    const { node, request, spawns, nonce } = await parked(place)
    const changed = await place.changed(() => node.turns.commit(request))
    expect(changed).toMatchObject({
      'w:<c1>': { status: 'running' },
      'w:<c2>': { status: 'running' },
      'w:<c3>': { status: 'queued' },
      leases: expect.arrayContaining(['<c1> now+60s', '<c2> now+60s']),
      'run:default': ['<c3> now'],
    })
    expect(await place.redis.hget(place.keys.claims(node.id), '0+')).toBe(nonce)
    expect(await Promise.all(spawns.map(({ id }) => place.redis.hget(place.workerKeys(id).record, 'token')))).toEqual([
      `1:${nonce}`,
      `1:${nonce}`,
      null,
    ])
  })

  test('a child that was offered a slot gets the assignment that a claim would give it', async () => {
    await using place = await Place.open()
    await using other = await Place.open()
    const { node, turn, request, spawns, nonce } = await parked(place, { offered: 3 })
    const answer = await node.turns.commit(request)
    if (answer.kind !== 'ok') throw new Error(answer.kind)
    expect(answer.assigned).toEqual(spawns.map(({ id }) => id))
    const own = spawns.map((spawn) =>
      childAssignment(turn.assignment, spawn, nonce, {
        spending: answer.spending,
        approval: answer.approval,
        trustedUntil: 0,
      }),
    )
    const scene = await parked(other, { offered: 0 })
    await scene.node.turns.commit({ ...scene.request, end: { wait: 'results:3', next: null } })
    const claimed: Assignment[] = []
    for (const slot of ['1', '2', '3']) claimed.push((await scene.node.claim({ slot })).assignment)
    const alike = (assignments: readonly Assignment[], { words }: { words: (text: string) => string }) =>
      JSON.parse(
        words(
          JSON.stringify(
            assignments.map((assignment) => ({ ...assignment, token: '', trustedUntil: 0, queuedAt: null })),
          ),
        ),
      )
    expect(alike(own, { words: (text) => place.words(text) })).toEqual(
      alike(claimed, { words: (text) => other.words(text) }),
    )
  })

  test.each([
    { what: 'permissions', more: { permissions: 'tools a b\nkinds echo' }, limits: {} },
    { what: 'a name of its own, detached', more: { name: 'reader', detached: true }, limits: {} },
    { what: 'limits of its session', more: {}, limits: { depth: 3, mailbox: 7 } },
  ])(
    'a child that was offered a slot gets the assignment that a claim would give it, with $what',
    async ({ more, limits }) => {
      const assignments: Assignment[] = []
      for (const isInline of [true, false]) {
        await using place = await Place.open()
        await place.create({ limits })
        const node = place.node()
        const turn = await node.claim()
        const spawn = place.child(turn.worker, 1, 'c1', more)
        const offer = { slot: '0+', nonce: place.nonce(), takes: [true] }
        const wish = { inputsConsumed: 1, spawns: [spawn], pendingCalls: more.detached ? [] : [1] }
        const end = { wait: 'signals', next: isInline ? 'stay' : null } as const
        const answer = await turn.record({ ...wish, end, ...(isInline ? { offer } : {}) })
        const assignment = isInline
          ? childAssignment(turn.assignment, spawn, offer.nonce, {
              spending: answer.spending,
              approval: answer.approval,
              trustedUntil: 0,
            })
          : assignmentOf(await node.ask({ slot: '1' }))
        const text = JSON.stringify({ ...assignment, token: '', trustedUntil: 0, queuedAt: null })
        assignments.push(JSON.parse(place.words(text)))
      }
      expect(assignments[0]).toEqual(assignments[1])
    },
  )

  test('a child that was spawned before is not assigned again', async () => {
    await using place = await Place.open()
    const { node, turn, request, spawns } = await parked(place)
    await turn.record({ spawns: spawns.slice(0, 1), pendingCalls: [1] })
    const answer = await node.turns.commit({ ...request, sequence: 2, version: turn.version })
    expect(answer).toMatchObject({ kind: 'ok', assigned: [spawns[1]?.id] })
    expect(await lineOf(place)).toEqual([spawns[0]?.id, spawns[2]?.id])
  })

  test('a child to which its parent has sent more stands in the run queue', async () => {
    await using place = await Place.open()
    const { node, request, spawns } = await parked(place)
    const sends = [{ workerId: spawns[0]?.id ?? '', mail: 'i\t-\t1' }]
    expect(await node.turns.commit({ ...request, sends })).toMatchObject({ kind: 'ok', assigned: [spawns[1]?.id] })
    expect(await lineOf(place)).toEqual([spawns[0]?.id, spawns[2]?.id])
  })

  test('a child that was offered a slot commits under its token, and nobody else does', async () => {
    await using place = await Place.open()
    const { node, turn, request, spawns, nonce } = await parked(place)
    await node.turns.commit(request)
    const commit = (token: string) =>
      node.turns.commit({
        ...turn.request({ inputsConsumed: 1, entries: ['{}'] }),
        workerId: spawns[0]?.id ?? '',
        token,
        sequence: 1,
        version: 0,
      })
    expect(await commit('1:x')).toMatchObject({ kind: 'fenced' })
    expect(await commit(`1:${nonce}`)).toMatchObject({ kind: 'ok', version: 1 })
  })

  test('an inline child whose node dies is started again like any other', async () => {
    await using place = await Place.open()
    const { node, request, spawns } = await parked(place, { offered: 3 })
    await node.turns.commit(request)
    for (const { id } of spawns) await place.expireLease(id)
    const other = place.node({ id: 'node-b' })
    await other.sweep({ free: 0 })
    const again: HandTurn[] = []
    for (const slot of ['0', '1', '2']) again.push(await other.claim({ slot }))
    expect(again.map(({ worker }) => worker).toSorted()).toEqual(spawns.map(({ id }) => id).toSorted())
    expect(again.map(({ assignment }) => [assignment.epoch, assignment.starts, assignment.mail.inbox.length])).toEqual(
      [1, 2, 3].map(() => [2, 2, 1]),
    )
  })

  test('a child that was offered a slot is answered again when the answer was lost, unless its lease has ended', async () => {
    await using place = await Place.open()
    const { node, request, spawns } = await parked(place)
    const first = await node.turns.commit(request)
    const again = await node.turns.commit(request)
    expect(again).toMatchObject({ kind: 'ok', assigned: (first as { assigned?: unknown }).assigned })
    await place.expireLease(spawns[0]?.id ?? '')
    await place.node({ id: 'node-b' }).sweep({ free: 0 })
    expect(await node.turns.commit(request)).toMatchObject({ kind: 'ok', assigned: [spawns[1]?.id] })
  })
})

test('a step that is refused gives no child to a slot', async () => {
  await using place = await Place.open()
  const { turn } = await running(place)
  const spawns = Array.from({ length: 21 }, (_, index) => place.child(turn.worker, index + 1, `c${index}`))
  const offer = { slot: '0+', nonce: place.nonce(), takes: spawns.map(() => true) }
  const pendingCalls = spawns.map(({ call }) => call)
  const wish = { inputsConsumed: 1, spawns, offer, pendingCalls, end: { wait: 'results:21', next: 'stay' } } as const
  expect(await place.changed(async () => expect(await turn.commit(wish)).toMatchObject({ kind: 'refused' }))).toEqual(
    {},
  )
})

test('a step that gives children to slots writes nothing if leases are damaged', async () => {
  await using place = await Place.open()
  const { node, request } = await parked(place)
  await place.redis.set(place.keys.leases, 'x')
  const changed = await place.changed(async () => {
    await expect(node.turns.commit(request)).rejects.toThrow(/leases is a string and should be a zset/)
  })
  expect(changed).toEqual({})
})
