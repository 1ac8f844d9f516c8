/**
 * No order of asks, ends, cancels, deaths and calls that are lost or late lets more guests in than their gates allow, or leaves something there for ever; and
 * a protocol from which a rule was taken is caught (GUEST-1, GUEST-2).
 */
import { expect, test } from 'vitest'
import { type Mutant, mutants } from './guest-rules.ts'
import { guestScenes } from './guest-scenes.ts'
import { exploreGuests } from './guest-search.ts'

const statesMost = 60_000
const isStuck = /^somebody waits for ever/

/** The scene in which it comes to light, and what is then wrong. */
const caught: Readonly<Record<Mutant, readonly [scene: string, violation: RegExp]>> = {
  'a guest is named with its version': ['a guest that comes again', /not counted/],
  'a guest asks before it begins': ['two guests', /not counted/],
  'the record says first that a run is over': ['two guests', /not counted/],
  'a guest that may still come keeps its place': ['two guests', /not counted/],
  'a guest that asks again takes no other place': ['a rate', /began twice/],
  'a guest that asks again keeps its turn': ['two guests', /has lost its turn/],
  'a guest that asked and did not come frees its place': ['two guests', isStuck],
  'a guest is told that it may begin': ['two guests', isStuck],
  'a guest that is over leaves its place': ['two guests', /something is left/],
  'a guest that is over leaves the queue of its gate': ['two guests', /something is left/],
  'a guest that may begin is in progress': ['two guests', /its record does not say so/],
  'a guest in progress counts, even if its place was lost': ['a lost past', /not counted/],
  'a guest that was not counted is asked again whether it is over': ['two guests', isStuck],
  'a guest is reported until the first partition knows that it is over': ['two guests', isStuck],
  'a guest is told of from time to time': ['a lost past', isStuck],
  'no more runs are in progress than a gate allows': ['two guests', /in progress at once/],
  'no more runs begin within a time than a gate allows': ['a rate', /began within the time/],
  'nobody overtakes those that wait at a gate': ['two guests', /overtakes/],
  'a gate is of one key': ['two keys', /not counted|its gates are open/],
  'who passes one gate waits at the other': ['a rate beside a limit', isStuck],
}

test.each(guestScenes)('every order is fine: $name', (scene) => {
  const { violation, isWhole, states } = exploreGuests(scene, { statesMost })
  expect(violation).toBeNull()
  expect(isWhole).toBe(true)
  expect(states).toBeGreaterThan(500)
})

test.each(mutants)('the search catches guests without: %s', (without) => {
  const [name, words] = caught[without]
  const scene = guestScenes.find((one) => one.name === name)
  if (scene === undefined) throw new Error(`There is no scene ${name}.`)
  expect(exploreGuests(scene, { statesMost, without }).violation?.lines[0]).toMatch(words)
})
