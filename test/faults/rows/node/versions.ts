/** F42: nodes of two versions on the same work, where the later one writes what the other does not know. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Session } from '../../../../src/client/session/session.ts'
import { decodeTally } from '../../../../src/core/history/run/agent-tally.ts'
import { type TreeInput, treeResult } from '../../../programs/node/fault-kinds.ts'
import { agentFaults } from '../../../support/fault/agent-audit.ts'
import { HistoryWatch } from '../../../support/fault/follower/history-watch.ts'
import type { Harness, NodeProcess, NodeSettings } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { delegationResult } from '../../../support/provider/delegation-script.ts'
import { FakeProvider } from '../../../support/provider/fake-provider.ts'
import { takeSnapshot, type WorkerSnapshot } from '../../../support/snapshot.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { type Row, type Stage, times, trial } from '../../row.ts'

const newer = { preload: { program: new URL('../../../programs/preload/newer-version.ts', import.meta.url) } }
const agentProgram = new URL('../../../programs/node/agent-node.ts', import.meta.url)
const tree: TreeInput = { children: 4, steps: 4, stepMs: 150 }
/** A machine that is busy with other tests must be able to keep them. */
const policy = { leaseMs: 3_000, renewEveryMs: 300, leaseMarginMs: 200 }

export const versionRow: Row = {
  id: 'F42',
  promise:
    'a node reads on in histories of a later version and tears nothing; a namespace of a later schema it refuses',
  done: 'a node of each version, killed in turn under load: unknown entries, fields, blocks and words; then another schema',
  atOnce: 3,
  trials: ({ isLong }) => [
    ...times(isLong ? 10 : 1, 'agents', (stage) => agents(stage, isLong ? 6 : 2)),
    ...times(isLong ? 10 : 1, 'handlers', (stage) => handlers(stage, isLong ? 6 : 2)),
    trial('a later schema', laterSchema),
  ],
}

async function agents(stage: Stage, kills: number): Promise<undefined> {
  await using provider = await FakeProvider.start()
  await using harness = await stage.open()
  await using watch = new HistoryWatch(harness.redis, harness.tag)
  const pair = new Pair(stage, harness, { program: agentProgram, providerUrl: provider.url, concurrency: 20 })
  await pair.work(kills, async (n) => {
    const session = await harness.client.sessions.create({ kind: 'root', input: { n, plan: '' } })
    watch.add(session)
    return { session, value: { text: delegationResult(n) } }
  })
  await pair.expectMixed()
  const told = pair.started.some(({ name, output }) => name === 'older' && output.includes('passed over'))
  assert.ok(told, 'no older node read what it does not know, and said so')
  await watch.look()
  const stalled = new Set(pair.started.filter(({ output }) => /lease/i.test(output)).map(({ pid }) => pid))
  const evidence = { kills: pair.kills, stalled, journal: provider.journal(), ledger: harness.ledger.lines() }
  const faults = [...provider.errors, ...watch.faults, ...agentFaults({ ...evidence, histories: watch.histories })]
  assert.deepEqual(faults, [])
  return undefined
}

async function handlers(stage: Stage, kills: number): Promise<undefined> {
  await using harness = await stage.open()
  const pair = new Pair(stage, harness, {})
  await pair.work(kills, async () => {
    const session = await harness.client.sessions.create({ kind: 'tree', input: tree })
    return { session, value: treeResult(tree) }
  })
  await pair.expectMixed()
  return undefined
}

const isAgent = ({ data = '' }: WorkerSnapshot['record']) => data.startsWith('a ')
const isUnknown = ({ type }: { readonly type: string }) => type === 'observed'

/** Tells whether an older node has gone on after an entry that it does not know. */
function wasReadOn({ history }: WorkerSnapshot): boolean {
  const unknown = history.findIndex(isUnknown)
  return unknown >= 0 && history.slice(unknown).some(({ v }) => v === 1)
}

interface Work {
  readonly session: Session
  /** The result with which it must end. */
  readonly value: unknown
}

/** A node of each version. One is killed, and comes back when the other has taken over. */
class Pair {
  readonly started: NodeProcess[] = []
  /** When each died, by its process. */
  readonly kills = new Map<number, number>()
  readonly #stage: Stage
  readonly #harness: Harness
  readonly #settings: NodeSettings

  constructor(stage: Stage, harness: Harness, settings: NodeSettings) {
    this.#stage = stage
    this.#harness = harness
    this.#settings = { ...settings, policy }
  }

  async work(kills: number, create: (number: number) => Promise<Work>): Promise<void> {
    const { random } = this.#stage
    const ends: Promise<void>[] = []
    let number = 0
    const submit = async () => {
      for (let count = 0; count < 5; count++) ends.push(this.#end(await create(number++)))
    }
    const newer = await this.#start('newer')
    await submit()
    const begun = async () => (await this.#harness.redis.keys(`${this.#harness.tag}:w:*:log`)).length >= 5
    await waitUntil('the newer one is at work', begun)
    await this.#kill(newer)
    // The older node has to read what there is now, alone: the newer one might be faster with all of it.
    const older = await this.#start('older')
    const hasReadOn = async () => {
      const { workers } = await takeSnapshot(this.#harness.redis, this.#harness.namespace)
      return [...workers.values()].some(wasReadOn)
    }
    await waitUntil('the older one goes on behind what it does not know', hasReadOn)
    const running = { older, newer: await this.#start('newer') }
    for (let kill = 1; kill < kills; kill++) {
      await submit()
      await pause(200 + 500 * random())
      const which = kill % 2 === 0 ? 'newer' : 'older'
      await this.#kill(running[which])
      await pause(policy.leaseMs * (0.2 + random()))
      running[which] = await this.#start(which)
    }
    await Promise.all(ends)
  }

  async #kill(node: NodeProcess): Promise<void> {
    this.kills.set(node.pid, Date.now())
    await node.kill()
  }

  async #start(version: 'older' | 'newer'): Promise<NodeProcess> {
    const node = await this.#harness.start(version, { ...this.#settings, ...(version === 'newer' ? newer : {}) })
    this.started.push(node)
    return node
  }

  #end({ session, value }: Work): Promise<void> {
    const end = awaitResult(session).then(async (result) => {
      const failures = (await session.report()).workers.flatMap(({ id, kind, lastFailure }) =>
        lastFailure ? [`${kind} ${id}: ${lastFailure.message}`] : [],
      )
      assert.deepEqual({ result, failures }, { result: { status: 'completed', run: 1, value }, failures: [] })
    })
    // Whoever waits for all of the ends gets this error.
    end.catch(() => {})
    return end
  }

  /** Nothing is torn, and both versions have written into the same histories. */
  async expectMixed(): Promise<void> {
    const { workers } = await expectInvariants(this.#harness.redis, this.#harness.namespace)
    const mixed = [...workers.values()].filter(({ history }) => new Set(history.map(({ v }) => v)).size > 1)
    assert.ok(mixed.some(wasReadOn), 'no older node went on behind what it does not know')
    for (const { id, record, history } of workers.values()) {
      const replies = history.filter(({ type }) => type === 'assistant').length
      // Each version goes on with the counts of the other one.
      if (isAgent(record))
        assert.equal(decodeTally(record.data ?? '')?.modelCalls, replies, `what worker ${id} has used`)
    }
    this.#stage.say(`${mixed.length} of ${workers.size} workers were run by both versions`)
  }
}

/** Neither a node nor a client may touch it. */
async function laterSchema(stage: Stage): Promise<void> {
  await using harness = await stage.open()
  const node = await harness.start('older')
  const session = await harness.client.sessions.create({ kind: 'sleeper', input: null })
  await session.root.report()
  await node.stop()
  await harness.redis.hset(`${harness.tag}:meta`, 'schema', 99)
  const before = await dump(harness.redis, harness.tag)
  await assert.rejects(harness.start('older'), /was written by a newer troupe \(schema 99\): update this one/)
  assert.deepEqual(await dump(harness.redis, harness.tag), before, 'a node that was refused has written something')
}

/** But of BullMQ's keys that go by themselves. */
async function dump(redis: Redis, tag: string): Promise<Map<string, string | undefined>> {
  const found = (await redis.keys(`${tag}:*`)).sort()
  const keys = found.filter((key) => !key.endsWith(':stalled-check'))
  return new Map(
    await Promise.all(keys.map(async (key) => [key, (await redis.dumpBuffer(key))?.toString('hex')] as const)),
  )
}
