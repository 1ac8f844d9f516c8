/**
 * No call order, crash, re-send or lost wake-up within the bound breaks an invariant, and a reducer from which a guard was taken is
 * caught within the same bound. `npm run model` searches further.
 */
import { describe, expect, test } from 'vitest'
import { explore, type Scene } from './explore.ts'
import { type Mutant, mutants } from './rules/shared-rules.ts'
import { mixedScene, scenes } from './scenes.ts'

const statesMost: Readonly<Record<string, number>> = {
  'no fault': 8_000,
  poison: 6_000,
  'long turns': 3_000,
  asks: 3_000,
  'fail-over of a cancel': 23_000,
}
/** A run waits at a gate only when another is in progress. */
const boundOfGates = 4_500
const bound = ({ name }: Scene) => statesMost[name] ?? (name === 're-sends at gates' ? boundOfGates : 2_200)

function sceneNamed(name: string): Scene {
  const scene = scenes.find((one) => one.name === name)
  if (scene === undefined) throw new Error(`There is no scene ${name}.`)
  return scene
}

/** The scene whose faults bring the harm to light, and what is then violated. */
const caught: Readonly<Record<Mutant, readonly [scene: string, violation: RegExp]>> = {
  'token check': ['lost leases', /^I5/],
  'token cleared with the lease': ['lost leases', /^I7/],
  'version check': ['fail-over', /^I4/],
  'commit id': ['re-sends', /^K11/],
  'end-of-turn check of inputs': ['no fault', /^rest: m2 is never consumed/],
  'end-of-turn check of results': ['poison', /^rest: root is parked for ever/],
  'run-queue entry': ['no fault', /^I7/],
  'wake-up rule': ['no fault', /^I17/],
  'wake-up rule: long turns': ['long turns', /^I17/],
  'wake-up rule: a turn that leaves': ['wakeups', /^I17/],
  'stale wake-ups': ['wakeups', /^rest: root is queued for ever/],
  'starts before work': ['poison', /^I14/],
  'dedupe of posts': ['re-sends', /^K11 post/],
  'same assignment': ['re-sends', /^K11 claim/],
  'older claims': ['re-sends', /^K11 claim/],
  'path check of cancel': ['cancels', /^I12 root\/1\.1/],
  'cancel check of claims': ['cancels', /^I12/],
  'children of an ended run': ['cancels', /^I12/],
  'results of an old run': ['cancels', /^I8/],
  'finish spares running turns': ['cancels', /^I7/],
  'end of a cancel that was lost': ['fail-over of a cancel', /^rest: the session never ends/],
  'end-of-turn check of signals': ['asks', /^rest: root is parked for ever/],
  'an ask is answered once': ['asks', /^I2 ask a1 was answered/],
  'an answer that is sent again': ['re-sends of answers', /^K11 answer/],
  'an ended ask leaves the inbox': ['asks', /^I9 ask a1 is answered, and in the set of its inbox/],
  'an ended run withdraws its asks': ['asks', /^I9 root has 1 signals of a run that is over/],
  'lengths of lanes in what a fork sees': ['a fork in parts', /^cut root looks as before/],
  'asks of a cancelled run': ['asks that are cancelled', /^I12 root was answered after/],
  'no more runs than a gate allows': ['gates', /^I18 runs of .* are in progress at once/],
  'a run that ends frees its place': ['gates', /^I18 root is "out" and has 1 places/],
  'who waits at a gate holds no lease': ['gates', /^I7 /],
  'token check of enter': ['gates of lost leases', /^I5 /],
  'cancel check of enter': ['gates of cancelled runs', /^I12 /],
  'nobody overtakes at a gate': ['gates', /^I18 .* overtook/],
  'a run begins once': ['re-sends at gates', /^K11 enter/],
  'a run that waits is told so again': ['re-sends at gates', /^K11 enter/],
  'a run that has ended does not begin again': ['re-sends at gates', /^(K11|I18)/],
}

describe('the search', () => {
  test.each([...scenes, mixedScene])('finds no violation: $name', (scene) => {
    const found = explore(scene, { statesMost: bound(scene) })
    expect(found.violation).toBeNull()
    expect(found.states).toBeGreaterThan(2_000)
    // Scenes with a bound of their own are small enough to be searched to the last state, and so to every way they end.
    expect(found.isWhole).toBe(statesMost[scene.name] !== undefined)
  })

  test.each(mutants)('catches the reducer without: %s', (without) => {
    const [name, violation] = caught[without]
    const scene = sceneNamed(name)
    const found = explore(scene, { statesMost: bound(scene), without })
    expect(found.violation?.lines[0]).toMatch(violation)
    expect(found.violation?.trace.length).toBeGreaterThan(0)
  })
})
