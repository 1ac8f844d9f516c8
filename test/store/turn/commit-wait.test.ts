/** commit: what a worker waits for when its turn ends, and that nothing which came before the end is overlooked (K4). */
import { describe, expect, test } from 'vitest'
import { encodeResult } from '../../../src/core/worker/message/message.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { HandTurn } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'

async function started(mode: 'job' | 'conversation' = 'conversation') {
  const place = await Place.open()
  const session = await place.create({ mode })
  const node = place.node()
  const turn = await node.claim()
  return { place, session, node, turn, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

const resultOf = (child: HandTurn) =>
  encodeResult({ id: child.worker, name: child.assignment.name, kind: 'echo' }, child.assignment.call ?? 0, {
    status: 'completed',
    valueJson: '1',
  })

/** The root runs, with two children that it spawned in this turn; both were claimed. */
async function withChildren() {
  const scene = await started()
  const { place, node, turn } = scene
  const spawns = [place.child(turn.worker, 1, 'first'), place.child(turn.worker, 2, 'second')]
  await turn.record({ inputsConsumed: 1, spawns, pendingCalls: [1, 2] })
  const [first, second] = [await node.claim(), await node.claim()]
  const open = { pendingCalls: [1, 2] }
  return { ...scene, first, second, open }
}

describe('between runs', () => {
  test('a worker without input is idle', async () => {
    await using scene = await started()
    await scene.turn.complete()
    expect(await scene.place.dump()).toMatchObject({ 'w:<one.root>': { status: 'idle', wait: 'any', holder: '' } })
  })

  test('an input that came before the end queues the worker again, in the same script', async () => {
    await using scene = await started()
    const { place, turn } = scene
    await place.post(turn.worker, 'second')
    const changed = await place.changed(() => turn.complete())
    expect(changed).toMatchObject({
      'w:<one.root>': { status: 'queued', holder: '' },
      'run:default': ['<one.root> now'],
      leases: null,
    })
  })

  test('a thousand inputs that come while turns end are neither overlooked, doubled nor out of order', async () => {
    await using scene = await started()
    const { place, node } = scene
    let turn: HandTurn | null = scene.turn
    const seen: unknown[] = []
    const posts = (async () => {
      for (let number = 0; number < 300; number++) await place.post(scene.turn.worker, String(number))
    })()
    let all = false
    void posts.then(() => {
      all = true
    })
    for (;;) {
      const wasAll = all
      if (turn) {
        seen.push(...turn.assignment.mail.inbox.map((mail) => mail.message.value))
        await turn.complete({ inputsConsumed: turn.assignment.mail.inbox.length })
      }
      const answer = await node.ask()
      turn = answer.kind === 'assigned' ? new HandTurn(node, answer.assignment) : null
      if (turn === null && wasAll) break
    }
    await posts
    expect(seen).toEqual(['first', ...Array.from({ length: 300 }, (_, index) => String(index))])
  })
})

describe('parked on a result', () => {
  test('a worker parked on a result holds no lease and no place in the run queue (I9)', async () => {
    await using scene = await withChildren()
    const { place, turn, first, open } = scene
    await turn.record({ ...open, end: { wait: `result:${first.worker}`, next: null } })
    expect(await place.dump()).toMatchObject({
      'w:<one.root>': { status: 'parked', wait: 'result:<first>', holder: '', open: '1' },
      leases: ['<first> now+60s', '<second> now+60s'],
    })
  })

  test('the awaited result that came during the turn queues its parent again', async () => {
    await using scene = await withChildren()
    const { place, turn, first, open } = scene
    await first.complete({ result: resultOf(first) })
    await turn.record({ ...open, end: { wait: `result:${first.worker}`, next: null } })
    expect(await place.dump()).toMatchObject({ 'w:<one.root>': { status: 'queued' } })
  })

  test('the result of another child that came during the turn does not queue the parent', async () => {
    await using scene = await withChildren()
    const { place, turn, first, second, open } = scene
    await second.complete({ result: resultOf(second) })
    await turn.record({ ...open, end: { wait: `result:${first.worker}`, next: null } })
    expect(await place.dump()).toMatchObject({ 'w:<one.root>': { status: 'parked' } })
  })

  test('results consumed out of order stay consumed, and those between them are found', async () => {
    await using scene = await withChildren()
    const { place, node, turn, first, second, open } = scene
    await second.complete({ result: resultOf(second) })
    await first.complete({ result: resultOf(first) })
    await turn.record({ ...open, end: { wait: `result:${first.worker}`, next: null } })
    const next = await node.claim()
    expect(next.assignment.mail.results.map((mail) => mail.position)).toEqual([0, 1])
    // The first call's result stands second in the lane.
    await next.record({ resultsConsumed: [1], pendingCalls: [2], end: { wait: 'again', next: null } })
    const last = await node.claim()
    expect(last.assignment).toMatchObject({ resultsSeen: 2, pendingCalls: [2] })
    expect(
      last.assignment.mail.results.map((mail) => [mail.position, (mail.message as { call: number }).call]),
    ).toEqual([[0, 2]])
    await last.record({ resultsConsumed: [0], end: { wait: 'again', next: null } })
    expect(await place.dump()).toMatchObject({ 'w:<one.root>': { results: '2' } })
    expect(await place.dump()).not.toHaveProperty('w:<one.root>:mail:results')
  })

  test('a result of the next run is found, even if this turn has dropped results of the run before', async () => {
    await using scene = await withChildren()
    const { place, node, turn, first, second, open } = scene
    // A turn of run 1 that has seen one result, while another comes unseen.
    await first.complete({ result: resultOf(first) })
    await turn.record({ ...open, end: { wait: `result:${first.worker}`, next: null } })
    await place.post(turn.worker, 'for run 2')
    const again = await node.claim()
    await second.complete({ result: resultOf(second) })
    await again.record({ outcome: 'completed', open: false, pendingCount: 2 })
    // The same turn goes on with run 2; both its children are quick.
    const spawns = [3, 4].map((call) => place.child(turn.worker, call, `c${call}`, { run: 2 }))
    await again.record({ inputsConsumed: 1, spawns, pendingCalls: [3, 4] })
    const quick = [await node.claim(), await node.claim()] as const
    for (const child of quick) await child.complete({ result: resultOf(child) })
    await again.record({ pendingCalls: [3, 4], end: { wait: `result:${quick[0].worker}`, next: null } })
    expect(await place.dump()).toMatchObject({ 'w:<one.root>': { status: 'queued' } })
  })
})

describe('parked on a number of results', () => {
  test('results that came during the turn are counted for a worker parked on a number of results', async () => {
    await using scene = await withChildren()
    const { place, turn, first, second, open } = scene
    await first.complete({ result: resultOf(first) })
    await second.complete({ result: resultOf(second) })
    await turn.record({ ...open, end: { wait: 'results:2', next: null } })
    expect(await place.dump()).toMatchObject({ 'w:<one.root>': { status: 'queued' } })
  })

  test('a worker parked on a number of results stays parked if too few come', async () => {
    await using scene = await withChildren()
    const { place, turn, first, open } = scene
    await first.complete({ result: resultOf(first) })
    await turn.record({ ...open, end: { wait: 'results:2', next: null } })
    expect(await place.dump()).toMatchObject({ 'w:<one.root>': { status: 'parked', wait: 'results:2' } })
  })
})

describe('parked on a timer', () => {
  const timers = [{ id: 't1', ms: 0, valueJson: '"ping"' }]

  test('a timer is kept with its value and its moment, and wakes the worker when it is due', async () => {
    await using scene = await started()
    const { place, node, turn } = scene
    const later = [{ id: 't2', ms: 600_000, valueJson: '"pong"' }]
    const changed = await place.changed(() => turn.park('signals', { timers: [...timers, ...later], signalsOpen: 2 }))
    expect(changed).toMatchObject({
      timers: ['<one.root>:t1 now', '<one.root>:t2 now+600s'],
      'w:<one.root>:timers': { t1: '"ping"', t2: '"pong"' },
      'w:<one.root>': { status: 'parked', signalsOpen: '2' },
    })
    await node.upkeep.fire()
    const { assignment } = await node.claim()
    expect(assignment.mail.signals.map((mail) => mail.message)).toEqual([
      { kind: 'timer', id: 't1', from: null, value: 'ping' },
    ])
  })

  test('a timer that was due during the turn queues the worker again, whatever it waits for', async () => {
    for (const wait of ['signals', 'result:01890a5d-ac96-774b-bcce-b302099a8000', 'results:9', 'any']) {
      await using scene = await started()
      const { place, node, turn } = scene
      await turn.record({ inputsConsumed: 1, timers, signalsOpen: 1 })
      await node.upkeep.fire()
      await turn.record({ signalsOpen: 1, end: { wait, next: null } })
      expect([wait, await place.dump()]).toMatchObject([wait, { 'w:<one.root>': { status: 'queued' } }])
    }
  })

  test('a worker parked on a timer is not woken by input', async () => {
    await using scene = await started()
    const { place, turn } = scene
    await place.post(turn.worker, 'second')
    await turn.park('signals', { timers: [{ id: 't1', ms: 600_000, valueJson: '1' }], signalsOpen: 1 })
    expect(await place.dump()).toMatchObject({ 'w:<one.root>': { status: 'parked' } })
  })
})

describe('parked for the next attempt', () => {
  const failed = {
    open: false,
    attempt: 1,
    runState: 'TransientFailure',
    entries: ['{"type":"attemptFailed"}'],
  } as const

  test('a message that waits for its next attempt stays first, and the worker is queued when the time has come', async () => {
    await using scene = await started()
    const { place, node, turn } = scene
    const changed = await place.changed(() =>
      turn.record({ ...failed, end: { wait: 'retry', retryMs: 600_000, next: null } }),
    )
    expect(changed).toMatchObject({
      timers: ['<one.root>:retry now+600s'],
      'w:<one.root>': { status: 'parked', wait: 'retry', attempt: '1', runState: 'TransientFailure', holder: '' },
      leases: null,
    })
    await place.redis.zadd(place.keys.timers, (await place.now()) - 1, `${turn.worker}:retry`)
    await node.upkeep.fire()
    const { assignment } = await node.claim()
    expect(assignment).toMatchObject({ attempt: 1, open: false, run: 1 })
    expect(assignment.mail.inbox.map((mail) => mail.message.value)).toEqual(['first'])
  })

  test('a worker parked for the next attempt is woken by nothing before: not by input that is there, nor by input that comes', async () => {
    await using scene = await started()
    const { place, turn } = scene
    await place.post(turn.worker, 'second')
    await turn.record({ ...failed, end: { wait: 'retry', retryMs: 600_000, next: null } })
    await place.post(turn.worker, 'third')
    expect(await place.dump()).toMatchObject({ 'w:<one.root>': { status: 'parked' } })
  })
})

describe('a turn that releases its worker', () => {
  test('a turn that releases its worker queues it behind the workers that waited', async () => {
    await using scene = await started()
    const { place, turn } = scene
    await place.create({ label: 'two' })
    const since = await place.now()
    await waitUntil("Redis's clock has moved on", async () => (await place.now()) > since)
    await turn.record({ open: true, end: { wait: 'again', next: null } })
    const line = await place.redis.zrange(place.keys.run('default'), 0, '-1')
    expect(line).toEqual([expect.not.stringContaining(turn.worker), turn.worker])
    expect(await place.dump()).toMatchObject({ 'w:<one.root>': { status: 'queued', wait: 'any' } })
  })
})
