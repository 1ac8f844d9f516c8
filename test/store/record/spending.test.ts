/** What the agents of a session have used, counted for all of them; and limit, which sets anew what they may. */
import { describe, expect, test } from 'vitest'
import { rootIdOf } from '../../../src/core/ids.ts'
import { defaultSpending, encodeAllowed } from '../../../src/core/policy.ts'
import * as checks from '../support/limit/spending-checks.ts'
import { agent, parentWithChildren, spentOn, used } from '../support/limit/spending-checks.ts'
import { Place } from '../support/place.ts'

describe('the spending of a session', () => {
  test.each(
    Object.entries(checks).filter(([name]) => !['used', 'spentOn', 'agent', 'parentWithChildren'].includes(name)),
  )('%s', async (_, check) => {
    await using place = await Place.open()
    await expect((check as (place: Place) => Promise<unknown>)(place)).resolves.toBeUndefined()
  })

  test('the spending of a session is in the record of a lone agent, and nowhere else', async () => {
    await using place = await Place.open()
    const { id, turn } = await agent(place)
    const answer = await turn.record({ entries: ['{}'], stateJson: used(6) })
    expect(answer.spending).toEqual({ spent: null, allowed: defaultSpending })
    expect(Object.keys((await place.session(id)) ?? {})).not.toContain('spent')
  })

  test('the spending of a session is counted from nothing if the root is no agent', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    const root = await node.claim()
    await root.park('results:1', {
      spawns: [place.child(root.worker, 1, 'a')],
      pendingCalls: [1],
      stateJson: '{"a":1}',
    })
    const child = await node.claim()
    const { spending } = await child.record({ entries: ['{}'], stateJson: used(3) })
    expect(spending.spent).toEqual(spentOn(3))
  })

  test('a repeated claim or commit is answered with the same spending and caps', async () => {
    await using place = await Place.open()
    const { id, turn } = await agent(place)
    await turn.record({
      entries: ['{}'],
      stateJson: used(6),
      spawns: [place.child(turn.worker, 1, 'a')],
      pendingCalls: [1],
    })
    await place.sessions.limit(id, { tokens: 99 }, '[]')
    const spending = { spent: spentOn(6), allowed: { ...defaultSpending, tokens: 99 } }
    const node = place.node({ id: 'node-b' })
    const next = node.next()
    for (let times = 0; times < 2; times++)
      expect(await node.turns.claim(next)).toMatchObject({ assignment: { spending } })
    const request = turn.request({ entries: ['{}'], stateJson: used(6), pendingCalls: [1] })
    for (let times = 0; times < 2; times++) expect(await turn.node.turns.commit(request)).toMatchObject({ spending })
  })

  test('the spending of a session is not written again by a commit that used nothing', async () => {
    await using place = await Place.open()
    const { children } = await parentWithChildren(place)
    const [first] = children
    await first.record({ entries: ['{}'], stateJson: used(2) })
    const changed = await place.changed(() => first.record({ entries: ['{}'], stateJson: used(2) }))
    expect(Object.keys(changed).filter((key) => key.startsWith('s:'))).toEqual([])
  })

  test('the spending of a session has the default bounds if somebody overwrote its limits', async () => {
    await using place = await Place.open()
    const { id, turn } = await agent(place)
    await place.redis.hset(place.workerKeys(rootIdOf(id)).record, 'caps', 'any number')
    const { spending } = await turn.record({ entries: ['{}'], stateJson: used(6) })
    expect(spending).toEqual({ spent: null, allowed: defaultSpending })
  })

  test('a spending that cannot be read is named before anything is written', async () => {
    await using place = await Place.open()
    const { id, children } = await parentWithChildren(place)
    await place.redis.hset(place.workerKeys(rootIdOf(id)).record, 'spent', 'much')
    const before = await place.dump()
    await expect(children[0].record({ entries: ['{}'], stateJson: used(2) })).rejects.toThrow(
      /field spent of .* should be two numbers/,
    )
    expect(await place.dump()).toEqual(before)
  })
})

describe('limit', () => {
  test('a limit is kept with the session, and comes in an event and with the next assignment', async () => {
    await using place = await Place.open()
    const { id } = await place.create({ limits: { modelCalls: 3 } })
    const raise = () => place.sessions.limit(id, { modelCalls: 9 }, '[["session.limited",{"modelCalls":9}]]', 'x')
    expect(await place.changed(raise)).toEqual({
      'idem:x': 'ok | for 600s',
      's:<one>': { caps: encodeAllowed({ ...defaultSpending, modelCalls: 9 }) },
      events: [['session.limited <one.root> {"modelCalls":9}']],
    })
    expect(await place.changed(raise)).toEqual({})
    expect((await place.node().claim()).assignment.spending.allowed).toEqual({ ...defaultSpending, modelCalls: 9 })
  })

  test('a limit set for a session that is not there creates none', async () => {
    await using place = await Place.open()
    const id = '01a20647-0bc7-76a8-b61e-22d54c060000'
    expect(await place.sessions.limit(id, { tokens: 1 }, '[]')).toEqual({ kind: 'not_found' })
    expect(await place.dump()).toEqual({})
  })
})
