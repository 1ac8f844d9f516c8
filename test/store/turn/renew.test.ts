/** renew: keeps leases, tells who lost theirs, moves wake-ups of long turns to the busy ones. */
import { describe, expect, test, vi } from 'vitest'
import { encodeRunState } from '../../../src/core/worker/run/run-state.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { assigned, type HandNode, type HandTurn } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'

const renewal = (turn: HandTurn, wakeup = '', becomesBusy = false) => ({
  workerId: turn.worker,
  token: turn.assignment.token,
  wakeup,
  becomesBusy,
})

describe('renew', () => {
  test('a renewal sets the lease anew, and nothing else', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    const turn = await node.claim()
    await place.redis.zadd(place.keys.leases, (await place.now()) + 10_000, turn.worker)
    const changed = await place.changed(async () =>
      expect(await node.turns.renew([renewal(turn)])).toMatchObject({ verdicts: ['kept'], wakeups: [] }),
    )
    expect(changed).toEqual({ leases: ['<one.root> now+60s'] })
  })

  test('a renewal writes the state of the turn into the record, where reports read it', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    const turn = await node.claim()
    const runState = encodeRunState('AwaitingLLMResponse', true)
    await node.turns.renew([{ ...renewal(turn), runState }])
    expect(await place.record(turn.worker)).toMatchObject({ runState })
    // A turn that has nothing new to say leaves it.
    await node.turns.renew([{ ...renewal(turn), runState: '' }])
    expect(await place.record(turn.worker)).toMatchObject({ runState })
  })

  test('a renewal saves a lease that has ended and was not taken away yet', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    const turn = await node.claim()
    await place.expireLease(turn.worker)
    expect(await node.turns.renew([renewal(turn)])).toMatchObject({ verdicts: ['kept'] })
    expect(await node.sweep({ free: 0 })).toMatchObject({ healed: 0 })
  })

  test('a renewal answers each turn in its order, and writes nothing for those that lost their worker', async () => {
    await using place = await Place.open()
    const node = place.node()
    const turns: HandTurn[] = []
    const sessions = []
    for (const label of ['kept', 'lost', 'cancelled', 'over']) {
      sessions.push(await place.create({ label }))
      turns.push(await node.claim({ slot: label }))
    }
    const [kept, lost, , over] = turns as [HandTurn, HandTurn, HandTurn, HandTurn]
    await place.expireLease(lost.worker)
    await node.sweep({ free: 0 })
    await place.sessions.cancel(sessions[2]?.id as string, 'enough')
    await over.complete()
    await place.redis.zadd(place.keys.leases, (await place.now()) + 10_000, kept.worker)
    const changed = await place.changed(async () => {
      const answer = await node.turns.renew(turns.map((turn) => renewal(turn, 'mine', true)))
      expect(answer.verdicts).toEqual(['kept', 'fenced', 'cancelled', 'fenced'])
    })
    expect(Object.keys(changed).sort()).toEqual(['busy:default', 'leases'])
    expect(changed.leases).toEqual(['<cancelled.root> now+60s', '<kept.root> now+60s'])
  })

  test('a renewal fences a node that holds an older token of the same worker', async () => {
    await using place = await Place.open()
    await place.create()
    const [a, b] = [place.node(), place.node({ id: 'node-b' })]
    const zombie = await a.claim()
    await place.expireLease(zombie.worker)
    await b.sweep({ free: 0 })
    await b.claim()
    const changed = await place.changed(async () =>
      expect(await a.turns.renew([renewal(zombie)])).toMatchObject({ verdicts: ['fenced'] }),
    )
    expect(changed).toEqual({})
  })
})

describe('a lease', () => {
  const trusts: [string, (node: HandNode, turn: HandTurn) => Promise<number>][] = [
    ['claim', async (node) => assigned(await node.ask({ slot: '1' })).trustedUntil],
    [
      'commit',
      async (node, turn) => {
        const { claimed } = await turn.complete({ end: { wait: 'any', next: node.next() } })
        return assigned(claimed).trustedUntil
      },
    ],
    ['renew', async (node, turn) => (await node.turns.renew([renewal(turn)])).trustedUntil],
  ]
  test.each(trusts)(
    'a lease by a %s is trusted for less time than Redis keeps it, counted from before it was asked for (CLAIM-2)',
    async (_, ask) => {
      await using place = await Place.open()
      for (const label of ['one', 'two']) await place.create({ label })
      const node = place.node()
      const turn = await node.claim()
      const call = place.caller.call.bind(place.caller)
      let sentAt = 0
      using _slow = vi.spyOn(place.caller, 'call').mockImplementation(async (...args) => {
        sentAt = performance.now()
        const reply = await call(...args)
        await waitUntil('the answer is late', () => performance.now() > sentAt + 5)
        return reply
      })
      const trustedForMs = (await ask(node, turn)) - sentAt
      expect(trustedForMs).toBeGreaterThan(0)
      expect(trustedForMs).toBeLessThanOrEqual(place.policy.leaseMs - place.policy.leaseMarginMs)
    },
  )
})

describe("a long turn's wake-up", () => {
  test('the wake-up of a long turn moves to the busy ones, and a wake-up goes out for the workers that wait (I17)', async () => {
    await using place = await Place.open()
    const node = place.node({ slots: 4 })
    await node.sweep()
    const { wakeups } = await place.create({ label: 'long' })
    const wakeup = wakeups[0] as string
    const turn = await node.claim({ wakeup })
    await place.create({ label: 'waits' })
    const changed = await place.changed(async () => {
      const answer = await node.turns.renew([renewal(turn, wakeup, true)])
      expect(answer.wakeups).toHaveLength(1)
      expect(answer.wakeups[0]?.id).not.toBe(wakeup)
    })
    expect(changed).toMatchObject({ 'busy:default': ['w*-default-1 now+60s'] })
    expect(await place.redis.zscore(place.keys.busy('default'), wakeup)).not.toBeNull()
    expect(await place.redis.zscore(place.keys.wakeups('default'), wakeup)).toBeNull()
  })

  test('a long turn brings no wake-up when nobody waits', async () => {
    await using place = await Place.open()
    const node = place.node()
    await place.create()
    const turn = await node.claim({ wakeup: 'mine', keepWakeup: true })
    expect(await node.turns.renew([renewal(turn, 'mine', true)])).toMatchObject({ wakeups: [] })
  })

  test('the wake-up of a long turn ends the expectation that one slot takes several workers in a row', async () => {
    // The expectation is kept for three times as long: it does not end by itself.
    await using place = await Place.open({ policy: { sweepEveryMs: 600_000 } })
    const node = place.node()
    await node.sweep({ workersPerWake: 8 })
    expect(await place.redis.get(place.keys.workersPerWake('default'))).toBe('8')
    await place.create()
    const turn = await node.claim({ wakeup: 'mine', keepWakeup: true })
    await node.turns.renew([renewal(turn, 'mine', true)])
    expect(await place.redis.get(place.keys.workersPerWake('default'))).toBeNull()
  })

  test('a turn that answers no wake-up is renewed without one', async () => {
    await using place = await Place.open()
    const node = place.node()
    await place.create()
    const turn = await node.claim()
    await node.turns.renew([renewal(turn, '', true)])
    expect(await place.dump()).not.toHaveProperty('busy:default')
  })

  test('a hundred turns are renewed by one call', async () => {
    await using place = await Place.open()
    const node = place.node()
    const turns: HandTurn[] = []
    for (let number = 0; number < 100; number++) {
      await place.create({ label: `w${number}` })
      turns.push(await node.claim({ slot: String(number) }))
    }
    const { verdicts } = await node.turns.renew(turns.map((turn) => renewal(turn)))
    expect(verdicts).toEqual(Array.from({ length: 100 }, () => 'kept'))
  })
})
