/** Runs that begin only when a gate of their kind opens: over all nodes, one after the other. (Mutants of the guards: mutants.test.ts.) */
import { expect, test } from 'vitest'
import { gateKeys } from '../../../src/store/keys.ts'
import { Place } from '../support/place.ts'
import * as checks from '../support/queue/gate-checks.ts'
import { partitionsOf } from '../support/queue/guest-checks.ts'
import { resultOf } from '../support/turn/checks.ts'

test.each([
  ['a run whose node died holds its place, and frees it when another node has ended it', checks.aPlaceOutlivesANode],
  ['a run of one key holds up no run of another', checks.aRunOfAKeyHoldsUpNoOther],
  ['a gate opens in time after the clock was set back', checks.aGateOpensAfterTheClockWasSetBack],
  ['a run that was cancelled while it waited for a timer frees its place', checks.aRunThatWasCancelledFreesItsPlace],
])('%s', async (_, check) => {
  await using place = await Place.open()
  await expect(check(place)).resolves.toBeUndefined()
})

test('a commit of a worker without gates touches no key of gates', async () => {
  await using place = await Place.open()
  await place.create()
  const turn = await place.node().claim()
  const changed = await place.changed(() => turn.complete())
  expect(Object.keys(changed).filter((key) => key.includes('gate'))).toEqual([])
})

test('overwritten times of beginnings hold nobody at a gate', async () => {
  await using place = await Place.open()
  await place.create({ label: 'a' })
  const node = place.node({ slots: 2 })
  const gate = checks.within(1)
  await checks.enter(await node.claim(), gate)
  await place.redis.lset(gateKeys(place.keys.tag, 'echo:rate:all').begun, 0, 'some day')
  await place.create({ label: 'b' })
  expect(await checks.enter(await node.claim({ slot: '1' }), gate)).toEqual({ kind: 'in' })
})

test('in another partition than the gate, too, later runs of a child and what they spawn wait like any others', async () => {
  await using home = await Place.open()
  const { other, claim } = partitionsOf(home)
  const gate = checks.atOnce(1)
  const parent = await claim('a')
  const { node, worker } = parent
  await checks.enter(parent, gate)
  await parent.record({ inputsConsumed: 1, spawns: [other.child(worker, 1, 'child')], pendingCalls: [1] })
  const child = await node.claim({ slot: 'b' })
  expect(await checks.enter(child, gate)).toEqual({ kind: 'never' })
  await child.complete({ result: resultOf(child) })
  await other.post(child.worker, 'again')
  const again = await node.claim({ slot: 'b' })
  const spawns = [other.child(child.worker, 1, 'below', { run: 2 })]
  await again.record({ inputsConsumed: 1, spawns, pendingCalls: [1] })
  expect(await checks.enter(await node.claim({ slot: 'c' }), gate)).toMatchObject({ kind: 'waits' })
  await other.post(child.worker, 'more')
  await again.complete({ inputsConsumed: 0, pendingCount: 1 })
  expect(await checks.enter(await node.claim({ slot: 'd' }), gate)).toMatchObject({ kind: 'waits' })
})

test('who waits in another partition than the gate is shown how many wait in front of it', async () => {
  await using home = await Place.open()
  const { other, turnAt } = partitionsOf(home)
  const gate = checks.atOnce(1, 'acme')
  await turnAt('a', gate)
  const waiting = [await turnAt('b', gate), await turnAt('c', gate)]
  const rows = await other.inspect.workers(waiting.map(({ turn }) => turn.worker))
  const facts = { sort: 'runs', kind: 'echo', most: 1, taken: 1 }
  expect(rows.map((row) => row.gate)).toMatchObject([
    { ...facts, ahead: 0 },
    { ...facts, ahead: 1 },
  ])
})
