/** commit: how a run ends, and who hears of it. */
import { describe, expect, test } from 'vitest'
import { encodeInput, encodeResult } from '../../../src/core/worker/message/message.ts'
import { completion, type HandTurn } from '../support/hand-node.ts'
import { type CreateOptions, Place } from '../support/place.ts'

async function started(options: CreateOptions = {}) {
  const place = await Place.open()
  const session = await place.create(options)
  const node = place.node()
  const turn = await node.claim()
  return { place, session, node, turn, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

/** A root parked on two children, in the order of their calls; both are queued. */
async function parentWithChildren(wait: (first: string, second: string) => string, options: CreateOptions = {}) {
  const scene = await started(options)
  const { place, node, turn } = scene
  const [first, second] = [place.child(turn.worker, 1, 'first'), place.child(turn.worker, 2, 'second')]
  const free = place.child(turn.worker, 3, 'free', { detached: true })
  await turn.park(wait(first.id, second.id), { spawns: [first, second, free], pendingCalls: [1, 2] })
  const children = { first: await node.claim(), second: await node.claim(), free: await node.claim() }
  return { ...scene, children }
}

const result = (child: HandTurn, valueJson = '1') =>
  encodeResult(
    { id: child.worker, name: child.assignment.name, kind: child.assignment.kind },
    child.assignment.call ?? 0,
    {
      status: 'completed',
      valueJson,
    },
  )

describe('the run of a root', () => {
  test.each([
    ['completed', 'run.completed'],
    ['failed', 'worker.failed'],
  ] as const)(
    'the run of a root that has %s ends its session, and the event says where the result is',
    async (outcome, type) => {
      await using scene = await started()
      const { place, turn } = scene
      expect(
        await place.changed(() => turn.complete({ outcome, entries: ['{"r":1}', '{"e":1}'], event: `[["${type}"]]` })),
      ).toEqual({
        'w:<one.root>': {
          status: 'idle',
          holder: '',
          run: '2',
          version: '1',
          inbox: '1',
          starts: '0',
          committed: '1.n:1',
        },
        'w:<one.root>:log': ['{"r":1}', '{"e":1}'],
        'w:<one.root>:mail:inbox': null,
        ends: ['<one> now'],
        's:<one>': { state: outcome, finished: 'now', 'result:1': `${outcome} 1` },
        leases: null,
        events: [[`${type} <one.root>`, `session.${outcome} <one.root> at 1`]],
      })
    },
  )

  test('the run of a root ends its session even if another program has removed its mailbox', async () => {
    await using scene = await started()
    const { place, turn, session } = scene
    await place.redis.del(place.workerKeys(turn.worker).inbox)
    await turn.complete()
    expect(await place.session(session.id)).toMatchObject({ state: 'completed' })
  })

  test('the run of a root ends no session while input waits: the next run answers it', async () => {
    await using scene = await started()
    const { place, turn, node, session } = scene
    await place.post(turn.worker, 'second')
    const changed = await place.changed(() => turn.complete())
    expect(changed).toMatchObject({
      'w:<one.root>': { status: 'queued', run: '2' },
      'run:default': ['<one.root> now'],
      's:<one>': { 'result:1': 'completed 1' },
    })
    expect(changed['s:<one>']).not.toHaveProperty('state')
    expect(changed.events).toEqual([['run.completed <one.root>']])
    await (await node.claim()).complete({ outcome: 'failed' })
    expect(await place.session(session.id)).toMatchObject({
      state: 'failed',
      'result:1': 'completed 1',
      'result:2': 'failed 3',
    })
  })

  test('the run of a conversation ends no session: the worker is idle until the next input', async () => {
    await using scene = await started({ mode: 'conversation' })
    const { place, turn } = scene
    const changed = await place.changed(() => turn.complete())
    expect(changed).toMatchObject({ 'w:<one.root>': { status: 'idle' }, 's:<one>': { 'result:1': 'completed 1' } })
    expect(changed['s:<one>']).not.toHaveProperty('state')
  })

  test.each([
    ['of a conversation', { mode: 'conversation' }, false, false],
    ['with input waiting', {}, true, false],
    ['that sends itself input', {}, false, true],
  ] as const)(
    'the run of a root that has %s changes nothing if its result cannot be kept',
    async (_, options, waiting, sending) => {
      await using scene = await started(options)
      const { place, turn, session } = scene
      if (waiting) await place.post(turn.worker, 'second')
      await place.redis.set(place.sessionKeys(session.id).runResults, 'not what it was')
      const sends = sending ? [{ workerId: turn.worker, mail: encodeInput(turn.worker, '"more"') }] : []
      const changed = await place.changed(() =>
        expect(turn.complete({ sends })).rejects.toThrow('results is a string and should be a hash'),
      )
      expect(changed).toEqual({})
    },
  )

  test('the run of a root may end in the middle of a turn; the next run goes on under the same token', async () => {
    await using scene = await started({ mode: 'conversation' })
    const { place, turn } = scene
    await place.post(turn.worker, 'second')
    await turn.record({ ...completion, inputsConsumed: 1, end: undefined })
    expect(await place.dump()).toMatchObject({ 'w:<one.root>': { status: 'running', run: '2', holder: '1.n' } })
    await turn.complete()
    expect(await place.session(scene.session.id)).toMatchObject({
      'result:1': 'completed 1',
      'result:2': 'completed 3',
    })
  })

  test('the run of a root that ends while its node says "again" leaves nothing queued in the ended session', async () => {
    await using scene = await started()
    const { place, turn } = scene
    await turn.complete({ end: { wait: 'again', next: null } })
    expect(await place.dump()).toMatchObject({ 's:<one>': { state: 'completed' }, 'w:<one.root>': { status: 'idle' } })
    expect(await place.dump()).not.toHaveProperty('run:default')
  })
})

describe('the run of a child', () => {
  test('the run of a child posts its result to the parent that waits for it, which is queued', async () => {
    await using scene = await parentWithChildren((first) => `result:${first}`)
    const { place, children } = scene
    const mail = result(children.first)
    await place.redis.del(place.keys.wakeups('default'))
    const changed = await place.changed(() => children.first.complete({ result: mail }))
    expect(changed).toMatchObject({
      'w:<one.root>:mail:results': [mail.replace(children.first.worker, '<first>')],
      'w:<one.root>': { status: 'queued' },
      'w:<first>': { status: 'idle', run: '2' },
      'run:default': ['<one.root> now'],
      'wakeups:default': expect.any(Array),
    })
    expect((await place.session(scene.session.id)).state).toBe('active')
    expect(changed.events).toEqual([['run.completed <first>']])
  })

  test('the run of a child posts its result to a parent that waits for another, which is not woken', async () => {
    await using scene = await parentWithChildren((first) => `result:${first}`)
    const { place, node, children } = scene
    const changed = await place.changed(() => children.second.complete({ result: result(children.second) }))
    expect(changed).toHaveProperty('w:<one.root>:mail:results')
    expect(changed).not.toHaveProperty('w:<one.root>')
    expect(changed).not.toHaveProperty('run:default')
    await children.first.complete({ result: result(children.first) })
    const { assignment } = await node.claim()
    expect(assignment.mail.results.map((mail) => [mail.position, mail.message])).toMatchObject([
      [0, { call: 2, name: 'second' }],
      [1, { call: 1, name: 'first' }],
    ])
  })

  test('a parent that waits for several results is woken by the run of the child that reports last', async () => {
    await using scene = await parentWithChildren(() => 'results:2')
    const { place, children } = scene
    expect(await place.changed(() => children.second.complete({ result: result(children.second) }))).not.toHaveProperty(
      'w:<one.root>',
    )
    expect(await place.changed(() => children.first.complete({ result: result(children.first) }))).toMatchObject({
      'w:<one.root>': { status: 'queued' },
    })
  })

  test('the run of a child wakes a parent that waits for any message', async () => {
    await using scene = await parentWithChildren(() => 'any')
    const { place, children } = scene
    expect(await place.changed(() => children.second.complete({ result: result(children.second) }))).toMatchObject({
      'w:<one.root>': { status: 'queued' },
    })
  })

  test('the end of a child does not wake a parent that waits for a signal or for its next attempt', async () => {
    for (const wait of ['signals', 'retry']) {
      await using scene = await parentWithChildren(() => wait)
      const { place, children } = scene
      const changed = await place.changed(() => children.second.complete({ result: result(children.second) }))
      expect(changed).toHaveProperty('w:<one.root>:mail:results')
      expect(changed).not.toHaveProperty('w:<one.root>')
    }
  })

  test('the run of a child leaves its result in the mailbox of a parent that runs', async () => {
    await using scene = await parentWithChildren((first) => `result:${first}`)
    const { place, node, children } = scene
    await children.first.complete({ result: result(children.first) })
    await node.claim()
    const changed = await place.changed(() => children.second.complete({ result: result(children.second) }))
    expect(changed['w:<one.root>:mail:results']).toHaveLength(2)
    expect(changed).not.toHaveProperty('w:<one.root>')
  })

  test('the run of a child drops its result when the run of the parent is over (STALE)', async () => {
    await using scene = await parentWithChildren((first) => `result:${first}`, { mode: 'conversation' })
    const { place, node, children } = scene
    await children.first.complete({ result: result(children.first) })
    const parent = await node.claim()
    await parent.complete({ inputsConsumed: 0, resultsConsumed: [0], pendingCount: 1 })
    const end = { ...completion, result: result(children.second), outcome: 'cancelled' } as const
    const changed = await place.changed(() => children.second.record({ ...end, inputsConsumed: 1 }))
    expect(changed).not.toHaveProperty('w:<one.root>')
    expect(changed).not.toHaveProperty('w:<one.root>:mail:results')
  })

  test('the run of a child drops its result also when the parent is in its next run (I8)', async () => {
    await using scene = await parentWithChildren((first) => `result:${first}`, { mode: 'conversation' })
    const { place, node, turn, children } = scene
    await children.first.complete({ result: result(children.first) })
    const parent = await node.claim()
    await place.post(turn.worker, 'second')
    await parent.complete({ inputsConsumed: 0, resultsConsumed: [0], pendingCount: 1 })
    const again = await node.claim()
    await again.park('signals', { spawns: [place.child(turn.worker, 1, 'other', { run: 2 })], pendingCalls: [1] })
    await children.second.record({
      ...completion,
      inputsConsumed: 1,
      outcome: 'cancelled',
      result: result(children.second),
    })
    expect(await place.dump()).not.toHaveProperty('w:<one.root>:mail:results')
  })

  test('a detached child posts no result, even if the commit holds one', async () => {
    await using scene = await parentWithChildren(() => 'any')
    const { place, children } = scene
    const changed = await place.changed(() => children.free.complete({ result: result(children.free) }))
    expect(changed).not.toHaveProperty('w:<one.root>:mail:results')
    expect(changed).not.toHaveProperty('w:<one.root>')
  })

  test('the run of a child posts only one result, and none for its second run (I8)', async () => {
    await using scene = await parentWithChildren(() => 'any')
    const { place, node, children } = scene
    await children.first.complete({ result: result(children.first) })
    await place.post(children.first.worker, 'once more')
    await node.claim()
    const again = await node.claim()
    expect(again.assignment).toMatchObject({ name: 'first', run: 2, call: null })
    const changed = await place.changed(() => again.complete({ result: result(children.first) }))
    expect(changed).not.toHaveProperty('w:<one.root>:mail:results')
  })

  test('ends no session', async () => {
    await using scene = await parentWithChildren(() => 'any')
    const { place, session, children } = scene
    await children.first.complete({ result: result(children.first) })
    await children.free.complete()
    expect((await place.session(session.id)).state).toBe('active')
  })
})

describe('what still belongs to a run that ends', () => {
  test('timers go with an ended run, and so do timer messages and results that nobody received', async () => {
    await using scene = await started({ mode: 'conversation' })
    const { place, node, turn } = scene
    const timers = [
      { id: 'due', ms: 0, valueJson: '1' },
      { id: 'later', ms: 600_000, valueJson: '2' },
    ]
    const spawns = [place.child(turn.worker, 1, 'child'), place.child(turn.worker, 2, 'late')]
    await turn.park('any', { timers, signalsOpen: 2, spawns, pendingCalls: [1, 2] })
    const child = await node.claim()
    await node.upkeep.fire()
    await child.complete({ result: result(child) })
    expect(await place.dump()).toMatchObject({
      'w:<one.root>:mail:signals': ['t\tdue\t1'],
      'w:<one.root>:mail:results': [expect.stringContaining('<child>')],
      timers: ['<one.root>:later now+600s'],
    })
    const late = await node.claim()
    const again = await node.claim()
    expect([late.assignment.name, again.worker]).toEqual(['late', turn.worker])
    await again.complete({ inputsConsumed: 0, pendingCount: 2 })
    const dump = await place.dump()
    for (const key of ['timers', 'w:<one.root>:mail:signals', 'w:<one.root>:mail:results', 'w:<one.root>:timers'])
      expect(dump).not.toHaveProperty(key)
    expect(dump).toMatchObject({
      'w:<one.root>': { signalsOpen: '0', pendingCalls: '', status: 'idle', signals: '1', results: '1' },
      's:<one>:cancelled': ['<one.root>:1'],
      cancelling: ['<one>'],
    })
  })

  test('children whose results are awaited are cancelled as soon as a run ends; detached ones and other runs are not', async () => {
    await using scene = await parentWithChildren((first) => `result:${first}`, { mode: 'conversation' })
    const { place, node, turn, children } = scene
    await children.first.complete({ result: result(children.first) })
    const parent = await node.claim()
    await place.post(turn.worker, 'second')
    await parent.complete({ inputsConsumed: 0, resultsConsumed: [0], pendingCount: 1 })
    expect(await children.second.commit({ entries: ['{}'] })).toEqual({ kind: 'cancelled' })
    expect(await children.free.commit({ entries: ['{}'] })).toMatchObject({ kind: 'ok' })
    const again = await node.claim()
    expect(again.assignment).toMatchObject({ workerId: turn.worker, run: 2, purpose: 'run' })
    expect(await again.commit({ entries: ['{}'] })).toMatchObject({ kind: 'ok' })
  })

  test('children spawned by the commit that ends the run are cancelled too', async () => {
    await using scene = await started()
    const { place, node, turn } = scene
    await turn.complete({ spawns: [place.child(turn.worker, 1, 'child')], pendingCount: 1 })
    expect((await node.claim()).assignment).toMatchObject({ name: 'child', purpose: 'cancelled' })
  })

  test('a run that ends and leaves no child to cancel marks none', async () => {
    await using scene = await started()
    const { place, turn } = scene
    await turn.complete()
    expect(Object.keys(await place.dump())).not.toContain('cancelling')
  })
})
