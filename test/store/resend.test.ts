/**
 * Every script may be sent again, at once or much later, also out of order: nothing is done twice, and the second answer is the
 * first one, but for counts and wake-ups of what goes on with the rest (docs/protocol.md, "Scripts").
 */
import { describe, expect, inject, test } from 'vitest'
import { decodeAssignment } from '../../src/store/record/assignment.ts'
import type { Reply } from '../../src/store/script/script.ts'
import * as scripts from '../../src/store/script/scripts.ts'
import { loadScripts } from '../support/redis/load-scripts.ts'
import type { Call } from './support/calls/call-scenes.ts'
import { calls } from './support/calls/calls.ts'
import { changes } from './support/dump.ts'
import { HandTurn } from './support/hand-node.ts'
import { LossyProxy } from './support/lossy-proxy.ts'
import { Place } from './support/place.ts'
import { cancelledAgent } from './support/turn/agent-checks.ts'
import type { Sent } from './support/wire.ts'

/** A raw answer as its caller understands it. */
function understood(reply: Reply, call: Call): unknown {
  const words = reply.map((item) => {
    if (item === 'again') return 'ok'
    if (!Array.isArray(item)) return item
    if (item[0] === 'assigned') return decodeAssignment(item, 0)
    // A script that answers several turns, or sessions, gives a list.
    if (item[0] === 'ok' || item[0] === 'again') return understood(item, call)
    // A slot without an assignment leaves, whatever the answer says.
    return item[0] === 'empty' ? null : item
  })
  if (reply[0] === 'assigned') return decodeAssignment(reply, 0)
  if (call.counts) return words.filter((item) => !isCount(item) && !isWakeups(item))
  return call.forgetsWakeups ? words.filter((item) => !isWakeups(item)) : words
}

function isCount(item: unknown): boolean {
  return typeof item === 'number' || (typeof item === 'string' && /^\d+$/.test(item))
}

function isWakeups(item: unknown): boolean {
  if (Array.isArray(item)) return item.every(isWakeups)
  return item === '' || (typeof item === 'string' && /(^| )[pws][\w.]{12,}-/.test(item))
}

describe('sent twice', () => {
  test.each(calls)('$name', async (call) => {
    await using place = await Place.open()
    const make = await call.prepare(place)
    await make()
    const { last } = place.wire
    const before = await place.dump()
    const second = await place.wire.again(last)
    expect(understood(second, call)).toEqual(understood(last.reply, call))
    expect(changes(before, await place.dump())).toEqual({})
  })

  test.each(calls)('a script that is sent twice, and three times at once, has its effect once: $name', async (call) => {
    await using place = await Place.open()
    const make = await call.prepare(place)
    await make()
    const { last } = place.wire
    const before = await place.dump()
    await Promise.all([place.wire.again(last), place.wire.again(last), place.wire.again(last)])
    expect(changes(before, await place.dump())).toEqual({})
  })

  describe.skipIf(!inject('hasFunctions')).each([
    { first: 'as a function', hasFunctions: true, next: 'digest' },
    { first: 'by its digest, as Redis 6.2 is asked', hasFunctions: false, next: 'function' },
  ] as const)('$first, then the other way', ({ hasFunctions, next }) => {
    test.each(calls)('$name', async (call) => {
      await using place = await Place.open({ hasFunctions })
      await loadScripts(place.redis)
      const make = await call.prepare(place)
      await make()
      const { last } = place.wire
      const before = await place.dump()
      expect(understood(await place.wire.again(last, next), call)).toEqual(understood(last.reply, call))
      expect(changes(before, await place.dump())).toEqual({})
    })
  })

  test('the repeated calls of these tests go through every script', async () => {
    const seen = new Set<string>()
    for (const call of calls) {
      await using place = await Place.open()
      await (await call.prepare(place))()
      seen.add(place.wire.last.sha)
    }
    const all = Object.values(scripts).map(({ file, sha }) => ({ file, seen: seen.has(sha) }))
    expect(all.filter((script) => !script.seen)).toEqual([])
  })
})

describe('whose answer is lost is sent again by the connection itself', () => {
  test.each(calls)('$name', async (call) => {
    await using proxy = await LossyProxy.start(inject('redisUrl'))
    await using direct = await Place.open()
    await using place = await Place.open({ wireUrl: proxy.url })
    await loadScripts(place.redis)
    await (await call.prepare(direct))()
    const expected = await direct.dump()
    const make = await call.prepare(place)
    await place.wire.redis.ping()
    proxy.loseNextAnswer()
    await make()
    expect(proxy.lost).toBe(1)
    expect(await place.dump()).toEqual(expected)
  })
})

describe('an old duplicate that arrives much later', () => {
  test('claim: sent again after its turn has ended, it takes no other worker', async () => {
    await using place = await Place.open()
    await place.create({ label: 'one' })
    const node = place.node()
    const turn = await node.claim()
    const claim = place.wire.last
    await turn.complete()
    await place.create({ label: 'two' })
    const changed = await place.changed(() => place.wire.again(claim))
    expect(changed).toEqual({})
  })

  test('claim: sent again after a later claim of its slot, it takes no worker and spoils no assignment', async () => {
    await using place = await Place.open()
    for (const label of ['one', 'two', 'three']) await place.create({ label })
    const node = place.node()
    const turn = await node.claim()
    const claim = place.wire.last
    await turn.complete()
    const next = node.next()
    const second = await node.turns.claim(next)
    const changed = await place.changed(() => place.wire.again(claim))
    expect(changed).toEqual({})
    expect(await node.turns.claim(next)).toMatchObject({ ...second, assignment: { token: expect.any(String) } })
  })

  test('claim: sent again after its lease was taken away, it leaves the worker to the node that runs it', async () => {
    await using place = await Place.open()
    await place.create()
    const [a, b] = [place.node(), place.node({ id: 'node-b' })]
    const turn = await a.claim()
    const claim = place.wire.last
    await place.expireLease(turn.worker)
    await b.sweep({ free: 0 })
    const other = await b.claim()
    const changed = await place.changed(() => place.wire.again(claim))
    expect(changed).toEqual({})
    expect(await other.commit({ entries: ['{}'] })).toMatchObject({ kind: 'ok' })
  })

  test('commit: any commit of a turn, sent again in any order, after the turn or after others, changes nothing', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ mode: 'conversation' })
    const node = place.node()
    const turn = await node.claim()
    const sent: Sent[] = []
    await turn.record({
      entries: ['{"a":1}'],
      inputsConsumed: 1,
      spawns: [place.child(root, 1, 'c1')],
      pendingCalls: [1],
    })
    sent.push(place.wire.last)
    await turn.record({
      entries: ['{"b":1}'],
      pendingCalls: [1],
      timers: [{ id: 't1', ms: 600_000, valueJson: '1' }],
      signalsOpen: 1,
    })
    sent.push(place.wire.last)
    await turn.complete({ inputsConsumed: 0, pendingCount: 1, end: { wait: 'any', next: node.next({ slot: '1' }) } })
    sent.push(place.wire.last)
    const late = async () => {
      for (const one of sent.toReversed()) await place.wire.again(one)
      for (const one of sent) await place.wire.again(one)
    }
    expect(await place.changed(late)).toEqual({})
    await place.post(root, 'next')
    expect(await place.changed(late)).toEqual({})
    const next = await node.claim()
    await next.record({ entries: ['{"c":1}'], inputsConsumed: 1 })
    expect(await place.changed(late)).toEqual({})
    await next.complete({ inputsConsumed: 0 })
    expect(await place.changed(late)).toEqual({})
  })

  test('post: sent again after the worker has consumed it or has finished, it posts nothing', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    await place.post(root, 'hello')
    const post = place.wire.last
    const turn = await place.node().claim()
    await turn.complete({ inputsConsumed: 2 })
    const changed = await place.changed(async () =>
      expect(await place.wire.again(post)).toEqual(['again', ...post.reply.slice(1)]),
    )
    expect(changed).toEqual({})
  })

  test('spawn: sent again after the session has finished, it creates nothing', async () => {
    await using place = await Place.open()
    await place.create()
    const spawn = place.wire.last
    await (await place.node().claim()).complete()
    const changed = await place.changed(() => place.wire.again(spawn))
    expect(changed).toEqual({})
  })

  test('renew: sent again after the turn has ended or another node has the worker, it changes nothing', async () => {
    await using place = await Place.open()
    const { root } = await place.create({ mode: 'conversation' })
    const [a, b] = [place.node(), place.node({ id: 'node-b' })]
    const turn = await a.claim({ wakeup: 'mine', keepWakeup: true })
    await a.turns.renew([{ workerId: root, token: turn.assignment.token, wakeup: 'mine', becomesBusy: true }])
    const renew = place.wire.last
    await turn.complete({ wasBusy: true })
    expect(await place.changed(() => place.wire.again(renew))).toEqual({})
    await place.post(root, 'next')
    await b.claim()
    expect(await place.changed(() => place.wire.again(renew))).toEqual({})
  })

  test('finish: the last batch, sent again after something else was cancelled, changes nothing', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 2 } })
    const { id, root } = await place.create({ mode: 'conversation' })
    const node = place.node()
    const turn = await node.claim()
    const spawns = [1, 2, 3].map((call) => place.child(root, call, `c${call}`))
    await turn.record({ inputsConsumed: 1, spawns, pendingCalls: [1, 2, 3] })
    await turn.complete({ inputsConsumed: 0, pendingCount: 3 })
    await node.upkeep.finishCancelled()
    const last = place.wire.last
    await place.sessions.cancel(id, 'enough')
    // The script goes on with what was cancelled since, and finishes nothing of it.
    await place.wire.again(last)
    expect(await place.session(id)).toMatchObject({ state: 'cancelling', endFrom: '2' })
    await node.upkeep.finishCancelled()
    expect(await place.session(id)).toMatchObject({ state: 'cancelled' })
  })

  test('finish: the call that named an agent, sent again after the agent was ended, changes nothing', async () => {
    await using place = await Place.open()
    const { node } = await cancelledAgent(place)
    const named: Sent[] = []
    place.wire.afterNext(async () => {
      named.push(place.wire.last)
      const before = await place.dump()
      expect(await place.wire.again()).toEqual(place.wire.last.reply)
      expect(await place.dump()).toEqual(before)
    })
    await node.upkeep.finishCancelled()
    const changed = await place.changed(() => place.wire.again(named[0]))
    expect(changed).toEqual({})
  })

  test('cancel and close: sent again after the session has ended, they change nothing', async () => {
    await using place = await Place.open()
    const one = await place.create({ mode: 'conversation' })
    const node = place.node()
    await place.sessions.close(one.id)
    const close = place.wire.last
    await (await node.claim()).complete()
    expect(await place.changed(() => place.wire.again(close))).toEqual({})
    const two = await place.create({ label: 'two' })
    await place.sessions.cancel(two.id, 'enough')
    const cancel = place.wire.last
    await node.upkeep.finishCancelled()
    expect(await place.changed(() => place.wire.again(cancel))).toEqual({})
  })
})

test('wake-ups of an answer that never arrived go stale, and the next sweep adds new ones (K2, K12)', async () => {
  await using place = await Place.open()
  const { root } = await place.create({ mode: 'conversation' })
  const node = place.node({ slots: 4 })
  const turn = new HandTurn(node, (await node.claim()).assignment)
  await turn.park('signals', { timers: [{ id: 't1', ms: 0, valueJson: '1' }], signalsOpen: 1 })
  await place.redis.del(place.keys.wakeups('default'))
  await node.upkeep.fire()
  expect(await node.upkeep.fire()).toMatchObject({ wakeups: [] })
  const [lost] = await place.redis.zrange(place.keys.wakeups('default'), 0, '-1')
  await place.redis.zadd(place.keys.wakeups('default'), (await place.now()) - 1, lost as string)
  expect((await node.sweep({ free: 1 })).wakeups).toHaveLength(1)
  expect((await node.claim()).worker).toBe(root)
})
