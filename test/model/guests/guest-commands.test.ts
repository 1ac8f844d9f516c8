/** The scripts do on a real Redis what the model of guests does: after each happening all answers, gates, lists and records agree. */
import { expect, test } from 'vitest'
import { randomOf } from '../../store/support/queue/gate-lives.ts'
import { isLong } from '../../support/fault/fault-settings.ts'
import { type Action, act, actionsOf, isOver } from './guest-actions.ts'
import type { Mutant } from './guest-rules.ts'
import { factsOf, GuestStage } from './guest-stage.ts'
import { type Call, newWorld, type Scene, type World } from './guest-world.ts'

const guest = (key: string, runs: number) => ({ isGuest: true, key, runs })
const scene: Scene = {
  name: 'everything',
  limits: { runs: 1, rate: 2 },
  workers: [guest('a', 2), guest('a', 2), guest('b', 1), { isGuest: false, key: 'a', runs: 2 }],
  faults: { twice: 5, cancels: 1 },
  heals: true,
  callsMost: 4,
}

/** What moves on comes more often than what is lost. */
function choose(world: World, random: (below: number) => number): Action {
  const all = actionsOf(world, scene.callsMost)
  const usual = all.filter((one) => !['lose', 'die', 'cancel'].includes(one.kind) && !('twice' in one))
  const among = usual.length > 0 && random(5) > 0 ? usual : all
  return among[random(among.length)] as Action
}

/** What the answer of a fire is in the model: the call that it adds. */
function answerOf(action: Action, before: World, after: World, answer: string): string {
  if (action.kind === 'tellGuest') return 'begins'
  if (action.kind !== 'tellHost') return answer || '-'
  return after.calls.length > before.calls.length ? (after.calls.at(-1) as Call).says : 'later'
}

async function walk(seed: number, without?: Mutant): Promise<void> {
  await using stage = await GuestStage.open(scene)
  const random = randomOf(seed)
  const trace: string[] = []
  let world = newWorld(scene)
  for (let step = 0; step < 250 && !isOver(world); step++) {
    let action = choose(world, random)
    if (action.kind === 'claim') {
      const claimed = await stage.claim(action.worker)
      if (claimed === null) continue
      action = { kind: claimed.isToEnd ? 'end' : 'claim', worker: claimed.id }
    }
    trace.push(Object.values(action).join(' '))
    const before = structuredClone(world)
    const done = act(world, action, without)
    world = done.world
    const answer = action.kind === 'claim' ? '-' : await stage.do(action, before)
    const steps = trace.join(', ')
    expect({ trace: steps, answer, ...(await stage.facts()) }).toEqual({
      trace: steps,
      answer: answerOf(action, before, world, done.answer),
      ...factsOf(world),
    })
  }
  expect(trace.length).toBeGreaterThan(30)
}

test.each(isLong ? Array.from({ length: 200 }, (_, seed) => seed + 1) : [1, 2, 3, 4])(
  'scripts and model of guests agree on every answer and on all that is stored (seed %i)',
  async (seed) => {
    await expect(walk(seed)).resolves.toBeUndefined()
  },
)

test('a model of guests that differs from the scripts is noticed', async () => {
  const without = 'a guest that may still come keeps its place'
  const tries = await Promise.allSettled([1, 2, 3, 4].map((seed) => walk(seed, without)))
  const reasons = tries.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))
  expect(reasons.join('; ')).toContain('AssertionError')
})
