/** Runs that begin only when a gate of their kind opens: over all nodes, one after the other. (Mutants of the guards: mutants.test.ts.) */
import { expect, test } from 'vitest'
import * as checks from './support/gate-checks.ts'
import { Place } from './support/place.ts'

test.each([
  ['a run whose node died holds its place, and frees it when another node has ended it', checks.aPlaceOutlivesANode],
  ['a run of one key holds up no run of another', checks.aRunOfAKeyHoldsUpNoOther],
  ['a run that was cancelled while it waited for a timer frees its place', checks.aRunThatWasCancelledFreesItsPlace],
])('%s', async (_, check) => {
  await using place = await Place.open()
  await expect(check(place)).resolves.toBeUndefined()
})

test('a commit of a worker without gates touches no key of them', async () => {
  await using place = await Place.open()
  await place.create()
  const turn = await place.node().claim()
  const changed = await place.changed(() => turn.complete())
  expect(Object.keys(changed).filter((key) => key.includes('gate'))).toEqual([])
})
