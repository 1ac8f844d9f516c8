/** The scripts do on a real Redis what the reducer says: after each command every visible fact agrees. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Place } from '../store/support/place.ts'
import { isLong } from '../support/fault/fault-settings.ts'
import { act, actionsOf } from './actions.ts'
import type { Mutant, Rules } from './rules/shared-rules.ts'
import { Stage } from './stage.ts'
import { modelFacts, storedFacts } from './visible-facts.ts'
import { type Action, newWorld, type World } from './world.ts'

const whole: Rules = { suspectAfter: 1, poisonAfter: 1 }

/** What may go wrong is left to chance; Redis itself is not turned back here. */
const faults = {
  crashes: 3,
  lostAnswers: 4,
  lateCalls: 4,
  expiries: 4,
  lostJobs: 2,
  doubledJobs: 2,
  staleWakeups: 2,
  renews: 3,
  leaves: 3,
  abandons: 1,
  cancels: 1,
  failOvers: 0,
}

interface Model {
  readonly rules: Rules
  world: World
  seed: number
}

interface Real {
  readonly stage: Stage
  readonly scheduler: fc.Scheduler
}

/** Acts in the model; gives what makes the same happen on the stage, and compares the answers. */
function prepare(model: Model, action: Action, { stage }: Real): () => Promise<void> {
  const { world, violations, executed } = act(model.world, action, model.seed, model.rules)
  // A reducer without a guard breaks rules anyway: only its difference from the scripts counts here.
  if (model.rules.without === undefined && violations.length > 0) throw new Error(violations.join('; '))
  model.world = world
  model.seed += 10
  if (action.kind === 'expire') return () => stage.expire(action.worker)
  if (action.kind === 'stale') return () => stage.makeStale(action.wakeup)
  if (executed === null) return async () => {}
  const { call, answer } = executed
  if (action.kind === 'arrive') return () => stage.sendLate(call)
  return async () => expect({ call, answer: await stage.send(call, answer) }).toEqual({ call, answer })
}

async function expectAgreement({ world }: Model, { stage }: Real): Promise<void> {
  expect(await storedFacts(stage, Object.keys(world.store.assignments))).toEqual(modelFacts(world.store))
}

/** Sorts of actions, wide enough that one of each sort is possible in nearly every world. */
const sorts = {
  forward: ['take', 'claim', 'enter', 'commit', 'sendAgain', 'finish'],
  submit: ['submit'],
  upkeep: ['sweep', 'expire', 'stale', 'fire'],
  mishap: ['arrive', 'renew', 'crash', 'loseJob', 'doubleJob'],
  cancel: ['cancel'],
} as const satisfies Record<string, readonly Action['kind'][]>

/** Does the possible action of this sort that the number chooses. */
class Does implements fc.AsyncCommand<Model, Real> {
  readonly #sort: keyof typeof sorts
  readonly #pick: number

  constructor(sort: keyof typeof sorts, pick: number) {
    this.#sort = sort
    this.#pick = pick
  }

  #choices({ world }: Model): Action[] {
    const kinds: readonly string[] = sorts[this.#sort]
    return actionsOf(world).filter(({ kind }) => kinds.includes(kind))
  }

  check(model: Readonly<Model>): boolean {
    return this.#choices(model).length > 0
  }

  async run(model: Model, real: Real): Promise<void> {
    const choices = this.#choices(model)
    await prepare(model, choices[this.#pick % choices.length] as Action, real)()
    await expectAgreement(model, real)
  }

  toString(): string {
    return `${this.#sort} ${this.#pick}`
  }
}

/** Two senders send at the same time; whose call comes first is the scheduler's choice. */
class Race implements fc.AsyncCommand<Model, Real> {
  readonly #pick: number

  constructor(pick: number) {
    this.#pick = pick
  }

  #pairs({ world }: Model): [Action, Action][] {
    const sends = actionsOf(world).filter(
      ({ kind }) => kind === 'submit' || kind === 'claim' || kind === 'enter' || kind === 'commit',
    )
    return sends.flatMap((one, place) =>
      sends
        .slice(place + 1)
        // Workers that come to a gate in the same millisecond have no order there.
        .flatMap((two): [Action, Action][] =>
          senderOf(one) === senderOf(two) || (one.kind === 'enter' && two.kind === 'enter') ? [] : [[one, two]],
        ),
    )
  }

  check(model: Readonly<Model>): boolean {
    return this.#pairs(model).length > 0
  }

  async run(model: Model, real: Real): Promise<void> {
    const pairs = this.#pairs(model)
    const pair = pairs[this.#pick % pairs.length] as [Action, Action]
    const sends = pair.map(async (action) => {
      await real.scheduler.schedule(Promise.resolve(), `send ${action.kind}`)
      const possible = actionsOf(model.world).some((other) => JSON.stringify(other) === JSON.stringify(action))
      // The first of the two may have used up the fault that the second needs.
      if (possible) await prepare(model, action, real)()
    })
    await real.scheduler.waitIdle()
    await Promise.all(sends)
    await expectAgreement(model, real)
  }

  toString(): string {
    return `race ${this.#pick}`
  }
}

function senderOf(action: Action): string {
  return 'client' in action ? `client ${action.client}` : 'slot' in action ? `slot ${action.slot}` : ''
}

/** How often each sort comes: most of the time the session moves on. */
const weights: readonly [keyof typeof sorts, number][] = [
  ['forward', 24],
  ['submit', 6],
  ['upkeep', 8],
  ['mishap', 4],
  ['cancel', 1],
]

const commands = [
  ...weights.flatMap(([sort, weight]) =>
    Array.from({ length: weight }, () => fc.nat(60).map((pick): fc.AsyncCommand<Model, Real> => new Does(sort, pick))),
  ),
  ...[1, 2, 3].map(() => fc.nat(60).map((pick): fc.AsyncCommand<Model, Real> => new Race(pick))),
]

function agreement(rules: Rules) {
  return fc.asyncProperty(
    fc.commands(commands, { maxCommands: 30, size: 'max' }),
    fc.scheduler(),
    fc.constantFrom('job', 'conversation'),
    fc.constantFrom('spawns', 'asks', 'gates'),
    async (plan, scheduler, mode, program) => {
      await using stage = await Stage.open(whole)
      const model: Model = { rules, world: newWorld(faults, mode, program), seed: 1 }
      const real: Real = { stage, scheduler }
      await prepare(model, { kind: 'submit', client: 0, fate: 'fine' }, real)()
      await fc.asyncModelRun(() => ({ model, real }), plan)
    },
  )
}

test('stores and reducer agree on every answer and every visible fact', {
  timeout: isLong ? 1_800_000 : 400_000,
}, async () => {
  await expect(fc.assert(agreement(whole), { numRuns: isLong ? 2_000 : 60 })).resolves.toBeUndefined()
})

test('of two calls that are under way at the same time each is sent again as itself', async () => {
  await using place = await Place.open()
  const { root } = await place.create()
  const texts = ['one', 'two']
  const both = await Promise.all(texts.map((text) => place.wire.watch(() => place.post(root, text))))
  const said = both.map(({ sent }) =>
    texts.filter((text) => sent?.flat.some((word) => `${word}`.endsWith(`"${text}"`))),
  )
  expect(said).toEqual([['one'], ['two']])
})

const seenAtOnce: readonly Mutant[] = [
  'run-queue entry',
  'wake-up rule',
  'starts before work',
  'token cleared with the lease',
  'cancel check of claims',
  'an ended ask leaves the inbox',
  'an ended run withdraws its asks',
  'a run that ends frees its place',
]

test.each(seenAtOnce)('a reducer that differs from the scripts is noticed: without %s', async (without) => {
  const found = await fc.check(agreement({ ...whole, without }), { numRuns: 300, seed: 7, endOnFailure: true })
  expect(found.failed).toBe(true)
  expect(String(found.errorInstance)).toContain('AssertionError')
})
