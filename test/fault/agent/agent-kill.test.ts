/**
 * Agents whose nodes are killed: a root delegates to mids, these to leaves, with tools of each effect class on the way. Whatever dies
 * when, each session ends with the right result, no recorded reply is asked for again, and no `once` tool takes effect twice.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Session } from '../../../src/client/session/session.ts'
import type { EffectNote } from '../../programs/node/agent-kinds.ts'
import { agentFaults } from '../../support/fault/agent-audit.ts'
import { isLong, withSeed } from '../../support/fault/fault-settings.ts'
import { HistoryWatch } from '../../support/fault/follower/history-watch.ts'
import { Harness, type NodeProcess } from '../../support/fault/harness.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { delegationResult } from '../../support/provider/delegation-script.ts'
import { FakeProvider } from '../../support/provider/fake-provider.ts'
import { awaitResult } from '../../support/time/await-session.ts'

const program = new URL('../../programs/node/agent-node.ts', import.meta.url)
const workersOfSession = 7
/** The times are long enough for a busy machine, so that a worker whose nodes die again and again is not taken for one that kills them. */
const patient = { leaseMs: 1_500, renewEveryMs: 300, leaseMarginMs: 200, poisonAfterIsolatedStarts: 50 }

/** A provider, nodes that are replaced when they die, and everything that is seen meanwhile. */
class Stage implements AsyncDisposable {
  readonly harness: Harness
  readonly provider: FakeProvider
  readonly watch: HistoryWatch
  /** When each node died, by its process. */
  readonly kills = new Map<number, number>()
  readonly nodes: NodeProcess[] = []
  readonly #started: NodeProcess[] = []
  readonly #keepers: Promise<void>[] = []
  #isOver = false

  private constructor(harness: Harness, provider: FakeProvider) {
    this.harness = harness
    this.provider = provider
    this.watch = new HistoryWatch(harness.redis, harness.tag)
  }

  static async open(nodes: number): Promise<Stage> {
    const stage = new Stage(await Harness.open(), await FakeProvider.start())
    await Promise.all(Array.from({ length: nodes }, (_, place) => stage.#startAt(place)))
    for (let place = 0; place < nodes; place++) stage.#keepers.push(stage.#keep(place))
    return stage
  }

  async #startAt(place: number): Promise<void> {
    const settings = { program, providerUrl: this.provider.url, concurrency: 20, policy: patient }
    // It may be killed before it has said that it is ready, by work that it took already.
    for (let node: NodeProcess | undefined; !node && !this.#isOver; ) {
      node = await this.harness.start(`node-${place}`, settings).catch((error: Error) => {
        if (!error.message.includes('ended with SIGKILL')) throw error
        return undefined
      })
      if (!node) continue
      this.nodes[place] = node
      this.#started.push(node)
    }
  }

  async #keep(place: number): Promise<void> {
    while (!this.#isOver) {
      await this.nodes[place]?.gone
      if (this.#isOver) return
      this.#noteDeath(this.nodes[place])
      await this.#startAt(place)
    }
  }

  #noteDeath(node: NodeProcess | undefined): void {
    if (node) this.kills.set(node.pid, Date.now())
  }

  async create(kind: string, input: unknown): Promise<Session> {
    const session = await this.harness.client.sessions.create({ kind, input })
    this.watch.add(session)
    return session
  }

  /** Ends the watching, then says which rules were broken. */
  async faults(): Promise<string[]> {
    await this.watch.look()
    const kills = new Map(this.kills)
    for (const { what, pid, at } of this.harness.ledger.lines()) if (what === 'killed') kills.set(pid, at)
    for (const [pid, at] of this.provider.kills) kills.set(pid, at)
    // On a busy machine a node may lose its leases without dying; it says so.
    const stalled = new Set(this.#started.filter(({ output }) => /lease/i.test(output)).map(({ pid }) => pid))
    const evidence = { kills, stalled, journal: this.provider.journal(), ledger: this.harness.ledger.lines() }
    return [
      ...this.provider.errors,
      ...this.watch.faults,
      ...agentFaults({ ...evidence, histories: this.watch.histories }),
    ]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await this.watch[Symbol.asyncDispose]()
    await Promise.all(this.nodes.map((node) => node.kill()))
    await Promise.all(this.#keepers)
    await this.harness[Symbol.asyncDispose]()
    await this.provider[Symbol.asyncDispose]()
  }
}

async function expectResults(stage: Stage, sessions: readonly Session[], values: readonly number[], ms: number) {
  const results = await Promise.all(
    sessions.map((session) =>
      awaitResult(session, { msMax: ms }).catch(async (error: unknown) => ({ error, report: await session.report() })),
    ),
  )
  for (const [index, result] of results.entries()) {
    const expected = { status: 'completed', run: 1, value: { text: delegationResult(values[index] as number) } }
    if (JSON.stringify(result) === JSON.stringify(expected)) continue
    const { workers } = await (sessions[index] as Session).report()
    // The parent gets the failure of a child, and goes on: the result alone does not say which child it was.
    expect({ result, failed: workers.filter(({ lastFailure }) => lastFailure) }).toEqual({
      result: expected,
      failed: [],
    })
  }
  await expectInvariants(stage.harness.redis, stage.harness.namespace)
  expect(await stage.faults()).toEqual([])
  expect(stage.watch.histories.size).toBe(sessions.length * workersOfSession)
}

test('agents end right, and nothing is repeated, while nodes are killed at random moments', { timeout: 600_000 }, () =>
  withSeed(async (random) => {
    await using stage = await Stage.open(2)
    const endsAt = Date.now() + (isLong ? 60_000 : 3_000)
    const over = new AbortController()
    const killing = (async () => {
      // A machine that has much to do takes long to start a node again: three have to die while sessions run.
      while (Date.now() < endsAt || stage.kills.size <= 2) {
        await pause(150 + 900 * random())
        await stage.nodes[Math.floor(random() * 2)]?.kill()
      }
      over.abort()
    })()
    const values: number[] = []
    const sessions: Session[] = []
    for (let n = 0; n < (isLong ? 150 : 8) || !over.signal.aborted; n++) {
      values.push(n)
      sessions.push(await stage.create('root', { n, plan: '' }))
      await pause(300 * random())
    }
    await killing
    await expectResults(stage, sessions, values, 300_000)
    expect(stage.kills.size).toBeGreaterThan(2)
  }),
)

const moments = [
  ...['root', 'leaf'].flatMap((kind) =>
    ['stamp', 'mail', 'put', 'add'].flatMap((tool) => ['before', 'after'].map((when) => `${kind}/${tool}/${when}`)),
  ),
  ...['root/0', 'root/1', 'root/2', 'root/3', 'mid/1', 'mid/2', 'leaf/0', 'leaf/2'].flatMap((step) =>
    ['asked', 'half', 'told+0', 'told+3', 'told+8', 'told+20'].map((when) => `${step}/${when}`),
  ),
]

test('agents end right, and nothing is repeated, when nodes are killed at chosen moments', { timeout: 900_000 }, () =>
  withSeed(async (random) => {
    await using stage = await Stage.open(2)
    const plans = moments.map((plan) => ({ plan, order: random() })).sort((a, b) => a.order - b.order)
    const chosen = isLong ? plans : plans.slice(0, 6)
    // A few at a time: each kill hits the others as well.
    const values: number[] = []
    const sessions: Session[] = []
    const waiting = [...chosen.entries()]
    await Promise.all(
      [1, 2, 3].map(async () => {
        for (let next = waiting.shift(); next; next = waiting.shift()) {
          const [n, { plan }] = next
          values.push(n)
          const session = await stage.create('root', { n, plan })
          sessions.push(session)
          await awaitResult(session, { msMax: 180_000 }).catch(() => {})
        }
      }),
    )
    await expectResults(
      stage,
      sessions,
      sessions.map((_, index) => values[index] as number),
      300_000,
    )
    expect(stage.kills.size).toBeGreaterThanOrEqual(chosen.length / 2)
  }),
)

test(
  'a session cancelled at any moment ends in order, even if processes die at the same time',
  { timeout: 600_000 },
  () =>
    withSeed(async (random) => {
      await using stage = await Stage.open(2)
      const ended = Array.from({ length: isLong ? 60 : 10 }, async (_, n) => {
        await pause(1_000 * random())
        const session = await stage.create('root', {
          n,
          plan: n % 2 === 0 ? (moments[n % moments.length] as string) : '',
        })
        await pause(2_500 * random())
        await session.cancel('enough')
        return (await awaitResult(session, { msMax: 180_000 })).status
      })
      await pause(1_000)
      await stage.nodes[0]?.kill()
      const statuses = new Set(await Promise.all(ended))
      expect([...statuses].filter((status) => status === 'failed')).toEqual([])
      expect(statuses).toContain('cancelled')
      await expectInvariants(stage.harness.redis, stage.harness.namespace)
      // The provider has received by now what a node had sent before it learned of the cancel.
      await stage.provider.heeded()
      const before = stage.provider.journal().length
      expect(await stage.faults()).toEqual([])
      // Nobody says anything after the end.
      await pause(1_000)
      expect(stage.provider.journal()).toHaveLength(before)
    }),
)

const unknown = { status: 'failed', failure: { code: 'tool_outcome_unknown' } }
const says = (words: RegExp) => ({ status: 'completed', value: { text: expect.stringMatching(words) } })

/** Each may be hit by the deaths of the others as well: what is counted are sets of numbers. */
const outcomes = [
  { kind: 'single-fail', when: 'before', result: unknown, begun: [0, 1], effects: [0], isAsked: false },
  { kind: 'single-fail', when: 'after', result: unknown, begun: [0, 1], effects: [0, 1], isAsked: false },
  { kind: 'single-tell', when: 'before', result: says(/unknown/), begun: [0, 1], effects: [0], isAsked: false },
  { kind: 'single-tell', when: 'after', result: says(/unknown/), begun: [0, 1], effects: [0, 1], isAsked: false },
  { kind: 'single-asked', when: 'before', result: says(/done/), begun: [1, 2, 3, 4], effects: [1], isAsked: true },
  { kind: 'single-asked', when: 'after', result: says(/done/), begun: [1, 2, 3], effects: [1], isAsked: true },
  { kind: 'single-deaf', when: 'before', result: unknown, begun: [0, 1], effects: [0], isAsked: true },
  { kind: 'single-deaf', when: 'after', result: unknown, begun: [0, 1], effects: [0, 1], isAsked: true },
]

test.concurrent('a once tool of unknown outcome does not run again: the run fails, the model learns it, or reconcile decides', {
  timeout: 600_000,
}, async ({ expect }) => {
  await using stage = await Stage.open(2)
  const { ledger } = stage.harness
  const ended = outcomes.map(async (expected) => {
    const { kind, when } = expected
    const session = await stage.create(kind, { n: 0, plan: `${kind}/once/${when}` })
    const result = await awaitResult(session, { msMax: 180_000 })
    const of = (what: string) => ledger.lines(what).filter(({ worker }) => worker === session.rootId)
    const key = `${session.rootId}/`
    const asked = ledger.lines('reconciled').filter(({ note }) => (note as EffectNote).key.startsWith(key))
    return { expected, result, begun: of('called'), effects: of('effect').length, asked }
  })
  for (const { expected, result, begun, effects, asked } of await Promise.all(ended)) {
    const { kind, when } = expected
    expect({ kind, when, result }).toMatchObject({ kind, when, result: expected.result })
    expect({ kind, when, count: expected.begun }).toMatchObject({ count: expect.arrayContaining([begun.length]) })
    expect({ kind, when, count: expected.effects }).toMatchObject({ count: expect.arrayContaining([effects]) })
    expect({ kind, when, isAsked: asked.length > 0 }).toEqual({ kind, when, isAsked: expected.isAsked })
    // It is asked under the key that the call was run with.
    const keys = new Set([...begun, ...asked].map(({ note }) => (note as EffectNote).key))
    expect({ kind, when, keys: keys.size <= 1 }).toEqual({ kind, when, keys: true })
  }
  expect(await stage.faults()).toEqual([])
})

test.concurrent.for([
  ['an outcome that is unknown', 'double-fail', 'double-fail/once/before', 'tool_outcome_unknown'],
  ['a tool that failed for good', 'broken', '', 'run_failed'],
] as [string, string, string, string][])(
  '%s fails the run, even if the node dies before its other calls have ended',
  async ([_what, kind, plan, code], { expect }) => {
    await using stage = await Stage.open(1)
    const session = await stage.create(kind, { n: 0, plan })
    expect(await awaitResult(session)).toMatchObject({
      status: 'failed',
      failure: { code },
    })
    expect(await stage.faults()).toEqual([])
  },
)
