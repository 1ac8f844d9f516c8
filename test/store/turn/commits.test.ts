/** Commits that go together are recorded as if they had been sent one after the other. */
import { describe, expect, test, vi } from 'vitest'
import { TransientError } from '../../../src/core/errors.ts'
import { decodeEvents } from '../../../src/core/event/event-notes.ts'
import type { CommitAnswer } from '../../../src/core/ports/ports.ts'
import { readEvents } from '../../../src/store/event/event-pages.ts'
import { toEventEntries } from '../../../src/store/script/replies.ts'
import { commitScript } from '../../../src/store/script/scripts.ts'
import { endOf, siblings, together } from '../support/calls/batch-calls.ts'
import { completed } from '../support/calls/call-scenes.ts'
import type { CommitWish, HandTurn } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'

/** Everything that is stored, except events, which come in fewer entries, and wake-ups, of which one serves all. */
async function stored(place: Place) {
  const dump = Object.entries(await place.dump()).filter(([key]) => !/^(events|wakeups)/.test(key))
  return Object.fromEntries(dump.map(([key, value]) => [key, withoutWakeups(value)]))
}

function withoutWakeups(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== 'wakeups'))
}

async function events(place: Place) {
  const entries = toEventEntries(await place.redis.xrange(place.keys.events, '-', '+'))
  return entries.flatMap(({ id, about, notes, part }) => decodeEvents(id, about, notes, part))
}

const told = async (place: Place) =>
  (await events(place)).map(({ type, workerId, details }) => [place.words(workerId), type, details])

/** What an answer says apart from ids and wake-ups. */
function factsOf(answer: CommitAnswer): unknown {
  return answer.kind === 'ok' && [answer.version, answer.spending, answer.claimed.kind]
}

type Requests = (scene: Awaited<ReturnType<typeof siblings>>, place: Place) => Wishes | Promise<Wishes>
type Wishes = readonly (readonly [HandTurn, CommitWish])[]

const end = (child: HandTurn, more: CommitWish = {}) => [child, { ...endOf(child), ...more }] as const

const scenes: Readonly<Record<string, Requests>> = {
  'children of one parent end': ({ children }) => children.map((child) => end(child, { event: '[["run.completed"]]' })),
  'the last of them end, in another order': ({ children }) => children.toReversed().map((child) => end(child)),
  'one ends, one fails, one goes on': ({ children: [a, b, c] }) => [
    end(a as HandTurn),
    end(b as HandTurn, { outcome: 'failed', runState: 'Failed', failure: null }),
    [c as HandTurn, { entries: ['{"c":1}'], inputsConsumed: 1, stateJson: '{"n":1}' }],
  ],
  'a child ends, and sends to its parent and its sibling': ({ parent, children: [a, b, c] }) => {
    const sends = [parent, b as HandTurn].map(({ worker }) => ({ workerId: worker, mail: 'i\t-\t1' }))
    return [end(a as HandTurn, { sends }), end(b as HandTurn), end(c as HandTurn)]
  },
  'children have children, and end': ({ children: [a, b, c] }, place) => [
    [
      a as HandTurn,
      {
        inputsConsumed: 1,
        spawns: [place.child(a?.worker ?? '', 1, 'a1')],
        pendingCalls: [1],
        end: { wait: 'signals', next: null },
      },
    ],
    end(b as HandTurn, { spawns: [place.child(b?.worker ?? '', 1, 'b1', { detached: true })] }),
    end(c as HandTurn),
  ],
  'agents spend': ({ children }) =>
    children.map(
      (child, index) =>
        [child, { entries: ['{"m":1}'], inputsConsumed: 1, stateJson: `a 1 ${index + 1} 5 5 0 0 0 0` }] as const,
    ),
  'who returns to the run queue': ({ children: [a, b] }) => [
    [a as HandTurn, { end: { wait: 'again', next: null } }],
    end(b as HandTurn),
  ],
  'one ends without a result, one clears a failure that it has not': ({ children: [a, b] }) => [
    end(a as HandTurn, { result: undefined }),
    end(b as HandTurn, { failure: null }),
  ],
  'one whose slot claims, one whose slot stays awake': ({ node, children: [a, b] }) => [
    end(a as HandTurn, {
      end: { wait: 'any', next: node.next({ slot: '1', wakeup: 'b', keepWakeup: true }) },
      wakeup: 'b',
    }),
    end(b as HandTurn, { end: { wait: 'any', next: 'stay' } }),
  ],
  'one with many entries, one whose wake-up was long among the busy': ({ children: [a, b] }) => [
    end(a as HandTurn, { entries: Array.from({ length: 1_200 }, (_, index) => `{"at":${index}}`) }),
    end(b as HandTurn, { wakeup: 'b', wasBusy: true }),
  ],
  'one with more mail, one after a start that came to nothing': async ({ children: [a, b] }, place) => {
    await place.post((a as HandTurn).worker, 'more')
    await place.redis.hset(place.workerKeys((b as HandTurn).worker).record, 'isolated', '1', 'crashes', '2')
    return [end(a as HandTurn), end(b as HandTurn)]
  },
  'children whose parent waits for nobody any more': async ({ parent, children }, place) => {
    await place.redis.hset(place.workerKeys(parent.worker).record, 'run', '2')
    return children.map((child) => end(child))
  },
  'one sets a state and ends, one sets a timer': ({ children: [a, b] }) => [
    end(a as HandTurn, { stateJson: '{"n":1}' }),
    [b as HandTurn, { inputsConsumed: 1, signalsOpen: 1, timers: [{ id: 't1', ms: 600_000, valueJson: '1' }] }],
  ],
}

describe('commits that go together', () => {
  test.each(Object.entries(scenes))('commits of one batch (%s) act as one after the other', async (_, requests) => {
    await using one = await Place.open()
    await using other = await Place.open()
    const asked = []
    for (const place of [one, other]) {
      const scene = await siblings(place)
      asked.push({ scene, requests: (await requests(scene, place)).map(([turn, wish]) => turn.request(wish)) })
    }
    const [first, second] = asked as [(typeof asked)[0], (typeof asked)[0]]
    const before = one.wire.sent
    const answers = await together(first.scene.node, first.requests)
    expect([one.wire.sent - before, one.wire.last.sha]).toEqual([1, commitScript.sha])
    const others = []
    for (const request of second.requests) others.push(await second.scene.node.turns.commit(request))
    expect(answers.map(({ kind }) => kind)).toEqual(others.map(({ kind }) => kind))
    expect(answers.every(({ kind }) => kind === 'ok')).toBe(true)
    expect(answers.map(factsOf)).toEqual(others.map(factsOf))
    expect(await stored(one)).toEqual(await stored(other))
    expect(await told(one)).toEqual(await told(other))
  })

  test('commits of one batch wake a parent once, when the last result it waits for is there, and give it all of them in the order of its calls', async () => {
    await using place = await Place.open()
    const { node, parent, children } = await siblings(place)
    await together(
      node,
      children.slice(0, 2).map((child) => endOf(child)),
    )
    expect(await place.redis.zrange(place.keys.run('default'), '0', '-1')).toEqual([])
    await together(node, [endOf(children[2] as HandTurn)])
    expect(await place.redis.zrange(place.keys.run('default'), '0', '-1')).toEqual([parent.worker])
    const { assignment } = await node.claim()
    expect(assignment.mail.results.map(({ message }) => message.kind === 'result' && message.call)).toEqual([1, 2, 3])
  })

  test.each(['parent', 'child'])(
    'a parent that is to wait and its child that ends commit together, the %s first: the parent is queued',
    async (first) => {
      await using place = await Place.open()
      const { node, parent, children } = await siblings(place, ['a'])
      const child = children[0] as HandTurn
      // Woken by a message, it is about to wait again while its child ends.
      await place.post(parent.worker, 'hello')
      await place.redis.hset(place.workerKeys(parent.worker).record, 'wait', 'any')
      await place.post(parent.worker, 'again')
      const turn = await node.claim({ slot: '7' })
      const waits = turn.request({ pendingCalls: [1], end: { wait: 'results:1', next: null } })
      const requests = first === 'parent' ? [waits, endOf(child)] : [endOf(child), waits]
      expect((await together(node, requests)).map(({ kind }) => kind)).toEqual(['ok', 'ok'])
      expect(await place.redis.zrange(place.keys.run('default'), '0', '-1')).toEqual([parent.worker])
      const { assignment } = await node.claim()
      expect(assignment.mail.results.map(({ message }) => message.kind)).toEqual(['result'])
    },
  )

  test('a result for a run that ended in the same script goes nowhere', async () => {
    await using place = await Place.open()
    const { node, parent, children } = await siblings(place, ['a'])
    await place.redis.hset(place.workerKeys(parent.worker).record, 'wait', 'any')
    await place.post(parent.worker, 'hello')
    const turn = await node.claim({ slot: '7' })
    const ended = turn.request({
      ...completed,
      inputsConsumed: 0,
      pendingCalls: [],
      pendingCount: 1,
      end: { wait: 'any', next: null },
    })
    const answers = await together(node, [ended, endOf(children[0] as HandTurn)])
    // The end of the run cancels what runs below it.
    expect(answers.map(({ kind }) => kind)).toEqual(['ok', 'cancelled'])
    expect(await place.redis.exists(place.workerKeys(parent.worker).results)).toBe(0)
  })

  test('a commit of a batch that is refused, fenced or meets damage is answered as if sent alone, and stops no other', async () => {
    await using place = await Place.open()
    const { node, children } = await siblings(place, ['a', 'b', 'c', 'd'])
    const [a, b, c, d] = children as [HandTurn, HandTurn, HandTurn, HandTurn]
    await place.redis.set(place.workerKeys(c.worker).log, 'x')
    const spawns = Array.from({ length: 21 }, (_, index) => place.child(b.worker, index + 1, `b${index}`))
    const answers = await Promise.allSettled([
      node.turns.commit(endOf(a)),
      node.turns.commit(b.request({ spawns, pendingCalls: spawns.map(({ call }) => call) })),
      node.turns.commit(endOf(c)),
      node.turns.commit({ ...endOf(d), token: '9:x' }),
    ])
    expect(answers).toMatchObject([
      { value: { kind: 'ok' } },
      { value: { kind: 'refused', refusals: [{ reason: 'children_exceeded' }] } },
      { reason: { message: expect.stringContaining(':log') } },
      { value: { kind: 'fenced' } },
    ])
    expect((await place.record(a.worker)).status).toBe('idle')
    expect((await place.record(c.worker)).status).toBe('running')
  })

  test('a batch whose first commit meets damage says for each commit what became of it', async () => {
    await using place = await Place.open()
    const { node, children } = await siblings(place)
    const [a, b, c] = children as [HandTurn, HandTurn, HandTurn]
    await place.redis.set(place.workerKeys(a.worker).log, 'x')
    const answers = await Promise.allSettled([a, b, c].map((child) => node.turns.commit(endOf(child))))
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  })

  test('commits of one batch are not sent again one by one when Redis gave no answer in time', async () => {
    await using place = await Place.open()
    const { node, children } = await siblings(place)
    const late = new TransientError('no answer within 60000 ms', { code: 'store_unavailable' })
    using call = vi.spyOn(place.caller, 'call').mockRejectedValue(late)
    const answers = await Promise.allSettled(children.map((child) => node.turns.commit(endOf(child))))
    expect(answers).toEqual(children.map(() => ({ status: 'rejected', reason: late })))
    expect(call).toHaveBeenCalledTimes(1)
  })

  test('commits of one batch stand even if a slot cannot claim: it finds nothing', async () => {
    await using place = await Place.open()
    const { node, children } = await siblings(place)
    await place.redis.set(place.keys.run('default'), 'x')
    const next = (slot: number) => node.next({ slot: String(slot) })
    const answers = await together(
      node,
      children.map((child, index) => endOf(child, { end: { wait: 'any', next: next(index + 1) } })),
    )
    expect(answers).toMatchObject(children.map(() => ({ kind: 'ok', claimed: { kind: 'empty' } })))
  })

  test('commits of one batch trust a lease from the moment when they were first sent, even if sent again one by one (CLAIM-2)', async () => {
    await using place = await Place.open()
    const { node, children } = await siblings(place)
    const [a, b] = children as [HandTurn, HandTurn]
    await place.create({ label: 'two' })
    await place.redis.set(place.workerKeys(a.worker).log, 'x')
    const [now, call] = [performance.now.bind(performance), place.caller.call.bind(place.caller)]
    let lateMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now() + lateMs)
    vi.spyOn(place.caller, 'call').mockImplementationOnce(async (...given) => {
      try {
        return await call(...given)
      } finally {
        lateMs = 30_000
      }
    })
    const next = node.next({ slot: '2' })
    const askedBefore = performance.now()
    const [failed, ended] = await Promise.allSettled([
      node.turns.commit(endOf(a)),
      node.turns.commit(endOf(b, { end: { wait: 'any', next } })),
    ])
    vi.restoreAllMocks()
    expect(failed.status).toBe('rejected')
    if (ended.status !== 'fulfilled' || ended.value.kind !== 'ok') throw new Error('it was not recorded')
    const { leaseMs, leaseMarginMs } = place.policy
    const trustedUntil = ended.value.claimed.kind === 'assigned' ? ended.value.claimed.assignment.trustedUntil : 0
    expect(trustedUntil).toBeGreaterThan(askedBefore)
    expect(trustedUntil).toBeLessThan(askedBefore + leaseMs - leaseMarginMs + 15_000)
  })

  test('each commit of a batch claims in the order of the run queue; a slot that finds nothing learns so, and its wake-up goes', async () => {
    await using place = await Place.open()
    const { node, children } = await siblings(place, ['a', 'b', 'c', 'd'])
    const line = [await place.create({ label: 'x' }), await place.create({ label: 'y' })]
    await place.redis.del(place.keys.wakeups('default'))
    const now = await place.now()
    for (const index of children.keys())
      await place.redis.zadd(place.keys.wakeups('default'), now + 20_000, `m${index}`)
    const requests = children.slice(0, 3).map((child, index) => {
      const next = node.next({ slot: String(index + 1), wakeup: `m${index}` })
      return endOf(child, { end: { wait: 'any', next }, wakeup: `m${index}` })
    })
    const answers = await together(node, requests)
    const claimed = answers.map((answer) => (answer.kind === 'ok' ? answer.claimed : undefined))
    expect(claimed).toMatchObject([
      { kind: 'assigned', assignment: { workerId: line[0]?.root } },
      { kind: 'assigned', assignment: { workerId: line[1]?.root } },
      { kind: 'empty' },
    ])
    expect(await place.redis.zrange(place.keys.wakeups('default'), '0', '-1')).toEqual(['m0', 'm1', 'm3'])
    const leased = new Set([line[0]?.root, line[1]?.root, children[3]?.worker])
    expect(new Set(await place.redis.zrange(place.keys.leases, '0', '-1'))).toEqual(leased)
  })

  test('each commit of a batch claims past damaged workers and other kinds, each slot its own worker', async () => {
    await using place = await Place.open()
    const { node, children } = await siblings(place, ['a', 'b', 'c', 'd'])
    const line = []
    for (const label of ['u', 'v', 'w', 'x', 'y'])
      line.push(await place.create({ label, kind: label === 'v' ? 'paint' : 'echo' }))
    await place.redis.hset(place.workerKeys(line[0]?.root ?? '').record, 'run', 'x')
    const requests = children
      .slice(0, 3)
      .map((child, index) => endOf(child, { end: { wait: 'any', next: node.next({ slot: String(index + 1) }) } }))
    const answers = await together(node, requests)
    const claimed = answers.map((answer) =>
      answer.kind === 'ok' && answer.claimed.kind === 'assigned' ? answer.claimed.assignment.workerId : null,
    )
    expect(claimed).toEqual([line[2]?.root, line[3]?.root, line[4]?.root])
  })

  test('commits that exceed one script go in several, as do those that are too large for one', async () => {
    await using place = await Place.open()
    const labels = Array.from({ length: 10 }, (_, index) => `c${index}`)
    const { node, children } = await siblings(place, labels)
    const before = place.wire.sent
    await together(
      node,
      children.map((child) => endOf(child)),
    )
    expect(place.wire.sent - before).toBe(2)
    await using other = await Place.open()
    const scene = await siblings(other)
    const large = [`{"x":"${'x'.repeat(40_000)}"}`]
    const sent = other.wire.sent
    await together(
      scene.node,
      scene.children.map((child) => child.request({ entries: large })),
    )
    expect(other.wire.sent - sent).toBe(3)
    // Permissions of children count too, those that are equal once.
    const permissionsOf = (call: number) =>
      `tools ${Array.from({ length: 256 }, (_, index) => `t${call}-${index}`.padEnd(64, 'x')).join(' ')}`
    await together(
      scene.node,
      scene.children.map((child) => {
        const spawns = [1, 2, 3].map((call) =>
          other.child(child.worker, call, `${child.worker} ${call}`, { permissions: permissionsOf(call) }),
        )
        return child.request({ sequence: 2, version: 1, spawns, pendingCalls: [1, 2, 3] })
      }),
    )
    expect(other.wire.sent - sent).toBe(6)
    // The many kinds of a node do not: a claim names them by their list.
    const kinds = Array.from({ length: 400 }, (_, index) => `k${index}`.padEnd(100, 'x'))
    const many = other.node({ kinds: { default: kinds } })
    await together(
      many,
      scene.children.map((child, index) => {
        const end = { wait: 'results:3', next: many.next({ slot: String(index + 1) }) }
        return child.request({ sequence: 3, version: 2, pendingCalls: [1, 2, 3], end })
      }),
    )
    expect(other.wire.sent - sent).toBe(7)
  })

  test('commits of one batch leave before a renewal or a claim that is asked for after them', async () => {
    await using place = await Place.open()
    const { node, children } = await siblings(place)
    const [a, b] = children as [HandTurn, HandTurn]
    const renewal = { workerId: a.worker, token: a.assignment.token, wakeup: 'mine', becomesBusy: true }
    const ended = node.turns.commit(endOf(a))
    const { verdicts } = await node.turns.renew([renewal])
    expect([(await ended).kind, verdicts]).toEqual(['ok', ['fenced']])
    const again = node.turns.commit(b.request({ end: { wait: 'again', next: null } }))
    expect(await node.ask({ slot: '9' })).toMatchObject({ kind: 'assigned', assignment: { workerId: b.worker } })
    expect((await again).kind).toBe('ok')
  })

  test('commits of one batch write one entry of the stream, and a follower can resume after each of its events', async () => {
    await using place = await Place.open()
    const { node, children } = await siblings(place)
    const event = '[["run.started"],["run.completed"]]'
    await together(
      node,
      children.map((child) => endOf(child, { event })),
    )
    const all = (await events(place)).filter(({ type }) => type.startsWith('run.'))
    expect(all.map(({ workerId }) => workerId)).toEqual(children.flatMap(({ worker }) => [worker, worker]))
    expect(new Set(all.map(({ id }) => id)).size).toBe(6)
    expect(new Set(all.map(({ id }) => id.split('.')[0])).size).toBe(1)
    for (const [index, { id }] of all.entries()) {
      const later = (await readEvents(place.redis, place.keys, id, 20_000)).events
      expect(later.map((event) => event.id)).toEqual(all.slice(index + 1).map((event) => event.id))
    }
  })
})
