/** finish, for agents that no node runs: at rest each call of their histories has its result. */
import { describe, expect, test } from 'vitest'
import { decodeEntry } from '../../../src/core/history/entry.ts'
import type { ScriptCaller } from '../../../src/store/script/script.ts'
import { RedisUpkeepStore } from '../../../src/store/upkeep-store.ts'
import { answered, asked, outcomes, rest, said, tally } from '../support/agent-turn.ts'
import type { CommitWish } from '../support/hand-node.ts'
import { Place, type PlaceOptions } from '../support/place.ts'
import { aCancelledAgentRestsWithResults, anAgentThatMovedOnIsLeft } from '../support/turn/agent-checks.ts'

async function started(options: PlaceOptions = {}) {
  const place = await Place.open(options)
  const session = await place.create()
  const node = place.node()
  const turn = await node.claim()
  const cancel = () => place.sessions.cancel(session.id, 'enough')
  return { place, session, node, turn, cancel, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

/** Finishes cancels; how many entries of histories it reads for that, and how many scripts it calls. */
async function costOfFinishing(place: Place) {
  const seen = { entries: 0, scripts: 0 }
  const redis = new Proxy(place.redis, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (name !== 'lrange') return typeof value === 'function' ? value.bind(target) : value
      return async (key: string, from: number, to: number) => {
        const page = await target.lrange(key, from, to)
        seen.entries += page.length
        return page
      }
    },
  })
  const caller = {
    call: (...args: Parameters<ScriptCaller['call']>) => {
      seen.scripts++
      return place.caller.call(...args)
    },
  } as unknown as ScriptCaller
  const { keys, policy } = place
  await new RedisUpkeepStore({
    redis,
    caller,
    keys,
    partition: 0,
    nodeId: 'node-c',
    nodeFacts: {},
    policy,
  }).finishCancelled()
  return seen
}

describe('an agent that is cancelled at rest', () => {
  test('an agent cancelled between its tools gets a result for each open call, before the end of its run', async () => {
    await using scene = await started()
    await expect(aCancelledAgentRestsWithResults(scene.place)).resolves.toBeUndefined()
  })

  test.each<[string, CommitWish]>([
    ['waiting for its children', { end: { wait: 'results:2', next: null }, pendingCalls: [1, 2] }],
    ['queued', { end: { wait: 'again', next: null } }],
    [
      'waiting for the next try of a tool',
      {
        runState: 'TransientFailure',
        attempt: 1,
        retrying: 'tool:1',
        end: { wait: 'retry', retryMs: 600_000, next: null },
      },
    ],
    ['waiting for an approval', { runState: 'AwaitingToolApproval' }],
    // Results that a node had not recorded yet when it died: its record says that it asks the model again.
    ['at its next request', { runState: 'AwaitingLLMResponse', end: { wait: 'again', next: null } }],
  ])('%s', async (_, wish) => {
    await using scene = await started()
    const { place, turn, node, cancel, session } = scene
    const spawns = (wish.pendingCalls ?? []).map((call) => place.child(turn.worker, call, `c${call}`))
    await rest(turn, [said('go'), asked('a', 'b')], { ...wish, spawns })
    await cancel()
    await node.upkeep.finishCancelled()
    expect(await outcomes(place, turn.worker)).toEqual(['a cancelled', 'b cancelled', 'cancelled'])
    const dump = await place.dump()
    expect(dump).toMatchObject({
      'w:<one.root>': { status: 'terminal', open: '0', runState: 'Idle', version: '2', run: '2' },
      's:<one>': { state: 'cancelled', 'result:1': 'cancelled 4' },
    })
    for (const key of ['run:default', 'timers', 'cancelling', 's:<one>:cancelled']) expect(dump).not.toHaveProperty(key)
    expect(await place.session(session.id)).toMatchObject({ state: 'cancelled' })
  })

  test('a cancelled agent whose node died gets its results from the sweep that finishes the cancel', async () => {
    await using scene = await started()
    const { place, turn, node, cancel } = scene
    await turn.record({
      entries: [said('go'), asked('a')],
      inputsConsumed: 1,
      runState: 'ExecutingTools',
      stateJson: 'a 1',
    })
    await cancel()
    await node.upkeep.finishCancelled()
    expect(await place.record(turn.worker)).toMatchObject({ status: 'running' })
    await place.expireLease(turn.worker)
    await node.sweep({ free: 0 })
    await node.upkeep.finishCancelled()
    expect(await outcomes(place, turn.worker)).toEqual(['a cancelled', 'cancelled'])
  })

  test('a cancelled agent with all calls answered, or between two runs, gets no results', async () => {
    await using scene = await started()
    const { place, turn, node, cancel } = scene
    await rest(turn, [said('go'), asked('a'), answered('a')])
    const other = await place.create({ label: 'two', mode: 'conversation' })
    const idle = await node.claim()
    await rest(idle, [said('go'), '{"type":"completed"}'], { open: false, outcome: 'completed', runState: 'Idle' })
    await cancel()
    await place.sessions.cancel(other.id, 'enough')
    await node.upkeep.finishCancelled()
    expect(await outcomes(place, turn.worker)).toEqual(['a ok', 'cancelled'])
    expect(await outcomes(place, idle.worker)).toEqual([])
    for (const id of [turn.worker, idle.worker]) expect(await place.record(id)).toMatchObject({ status: 'terminal' })
  })

  test('an agent cancelled at rest gets entries that name its run, and epochs that never fall (I5)', async () => {
    await using scene = await started()
    const { place, turn, node, cancel } = scene
    const late = JSON.stringify({ type: 'toolStarted', v: 1, at: 1, run: 1, epoch: 4, toolCallId: 'a', toolName: 'x' })
    await rest(turn, [said('go'), asked('a'), late])
    await cancel()
    await node.upkeep.finishCancelled()
    const log = await place.redis.lrange(place.workerKeys(turn.worker).log, 0, -1)
    expect(decodeEntry(log[3] ?? '')).toMatchObject({ type: 'toolResult', run: 1, epoch: 4, status: 'unknown' })
  })

  test('a cancelled agent whose history cannot be read is ended without results', async () => {
    await using scene = await started()
    const { place, turn, node, cancel, session } = scene
    await rest(turn, ['{', '{"type":"assistant"}', 'null'])
    await cancel()
    await node.upkeep.finishCancelled()
    expect(await outcomes(place, turn.worker)).toEqual(['cancelled'])
    expect(await place.session(session.id)).toMatchObject({ state: 'cancelled' })
  })

  test('a cancelled agent that has moved on while its history was read is left to the next pass', async () => {
    await using scene = await started()
    await expect(anAgentThatMovedOnIsLeft(scene.place)).resolves.toBeUndefined()
  })

  test('a cancelled agent that another node has claimed in between is left to that node', async () => {
    await using scene = await started()
    const { place, turn, node, cancel, session } = scene
    await rest(turn, [said('go'), asked('a')], { end: { wait: 'again', next: null } })
    await cancel()
    const other = place.node({ id: 'node-b' })
    place.wire.afterNext(async () => void (await other.claim()))
    await node.upkeep.finishCancelled()
    expect(await place.record(turn.worker)).toMatchObject({ status: 'running', holder: expect.stringMatching(/./) })
    expect(await place.session(session.id)).toMatchObject({ state: 'cancelling' })
    expect(await outcomes(place, turn.worker)).toEqual([])
  })
})

describe('the cost of a cancel', () => {
  test('a cancel reads only the end of a long history', async () => {
    await using scene = await started()
    const { place, turn, cancel } = scene
    const results = Array.from({ length: 20 }, (_, index) => `c${index}`)
    const old = Array.from({ length: 10_000 }, (_, index) => said(`${index}`))
    await rest(turn, [...old, asked('a', ...results), ...results.map(answered)])
    await cancel()
    const seen = await costOfFinishing(place)
    expect((await outcomes(place, turn.worker)).slice(-2)).toEqual(['a cancelled', 'cancelled'])
    expect(seen.entries).toBeLessThan(60)
  })

  test('handlers, and agents between two runs, cost a cancel no second call', async () => {
    await using scene = await started()
    const { node, turn, cancel, place } = scene
    const spawns = [place.child(turn.worker, 1, 'child')]
    await turn.park('signals', { stateJson: '{"a ":1}', spawns, pendingCalls: [1] })
    const child = await node.claim()
    const end = { open: false, outcome: 'completed', runState: 'Idle' } as const
    await rest(child, [said('go'), asked('a'), answered('a'), '{"type":"completed"}'], end)
    await cancel()
    const seen = await costOfFinishing(place)
    expect(seen).toEqual({ entries: 0, scripts: 1 })
    expect(await place.record(child.worker)).toMatchObject({ status: 'terminal', data: tally })
  })

  test('a turn that ends between the two calls of a batch does not delay the cancel', async () => {
    await using scene = await started()
    const { place, turn, node, cancel, session } = scene
    const spawns = [place.child(turn.worker, 1, 'child')]
    await rest(turn, [said('go'), asked('a')], { spawns, pendingCalls: [1] })
    const child = await node.claim()
    await cancel()
    place.wire.afterNext(async () => {
      const end = { wait: 'any', next: null }
      await child.record({ entries: ['{"type":"cancelled"}'], open: false, outcome: 'cancelled', end })
    })
    await node.upkeep.finishCancelled()
    expect(await outcomes(place, turn.worker)).toEqual(['a cancelled', 'cancelled'])
    expect(await place.session(session.id)).toMatchObject({ state: 'cancelled' })
  })

  test('a large session is finished in batches, each sent twice at most, and the children of its root once more', async () => {
    await using scene = await started({ policy: { sweepBatch: 7 } })
    const { place, turn, node, cancel, session } = scene
    const calls = Array.from({ length: 20 }, (_, index) => index + 1)
    const spawns = calls.map((call) => place.child(turn.worker, call, `c${call}`))
    await rest(turn, [said('go'), asked('a')], { spawns, pendingCalls: calls, end: { wait: 'results:20', next: null } })
    for (const _ of calls) {
      const child = await node.claim()
      await rest(child, [said('go'), asked('x', 'y')], { end: { wait: 'any', next: null } })
    }
    await cancel()
    const seen = await costOfFinishing(place)
    expect(seen.scripts).toBeLessThanOrEqual(8)
    expect(await outcomes(place, turn.worker)).toEqual(['a cancelled', 'cancelled'])
    for (const { id } of spawns) expect(await outcomes(place, id)).toEqual(['x cancelled', 'y cancelled', 'cancelled'])
    expect(await place.session(session.id)).toMatchObject({ state: 'cancelled' })
  })
})
