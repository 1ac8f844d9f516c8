/** fire: timers that are due become messages, once. */
import { describe, expect, test } from 'vitest'
import type { CreateOptions } from '../support/place.ts'
import { Place } from '../support/place.ts'

const timer = (id: string, ms: number) => ({ id, ms, valueJson: JSON.stringify(id) })

async function parked(timers: ReturnType<typeof timer>[], options: CreateOptions = {}) {
  const place = await Place.open()
  const session = await place.create({ mode: 'conversation', ...options })
  const node = place.node()
  const turn = await node.claim()
  await turn.park('signals', { timers, signalsOpen: timers.length })
  await place.redis.del(place.keys.wakeups('default'))
  return { place, session, node, turn, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

describe('a timer that is due', () => {
  test('a due timer is posted and taken out in one script, and wakes its worker', async () => {
    await using scene = await parked([timer('t1', 0), timer('t2', 600_000)])
    const { place, node, turn } = scene
    const changed = await place.changed(async () => {
      const before = await place.now()
      const fired = await node.upkeep.fire()
      const after = await place.now()
      expect(fired).toMatchObject({ fired: 1, wakeups: [{ pool: 'default' }] })
      const dueAt = await place.redis.zscore(place.keys.timers, `${turn.worker}:t2`)
      expect(fired.dueInMs).toBeGreaterThanOrEqual(Number(dueAt) - after)
      expect(fired.dueInMs).toBeLessThanOrEqual(Number(dueAt) - before)
    })
    expect(changed).toEqual({
      timers: ['<one.root>:t2 now+600s'],
      'w:<one.root>:timers': { t1: null },
      'w:<one.root>:mail:signals': ['t\tt1\t"t1"'],
      'w:<one.root>': { status: 'queued' },
      'run:default': ['<one.root> now'],
      'wakeups:default': ['w*-default-1 now+20s'],
      events: [['message.accepted <one.root> {"kind":"timer","id":"t1"}']],
    })
  })

  test('a due timer fires once, however often one looks', async () => {
    await using scene = await parked([timer('t1', 0)])
    const { place, node } = scene
    await node.upkeep.fire()
    const changed = await place.changed(async () =>
      expect(await node.upkeep.fire()).toEqual({
        fired: 0,
        dueInMs: null,
        wakeups: [],
        notices: [],
        follows: undefined,
      }),
    )
    expect(changed).toEqual({})
  })

  test('a due timer is posted in the order of the moments', async () => {
    await using scene = await parked([timer('c', 2), timer('a', 0), timer('b', 1)])
    const { place, node, turn } = scene
    await place.redis.zadd(place.keys.timers, 3, `${turn.worker}:c`, 1, `${turn.worker}:a`, 2, `${turn.worker}:b`)
    await node.upkeep.fire()
    const { assignment } = await node.claim()
    expect(assignment.mail.signals.map((mail) => mail.message.value)).toEqual(['a', 'b', 'c'])
  })

  test('as many due timers as a batch holds are posted at a time', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 10 } })
    await place.create({ mode: 'conversation' })
    const node = place.node()
    const turn = await node.claim()
    const timers = Array.from({ length: 25 }, (_, index) => timer(`t${index}`, 0))
    await turn.park('signals', { timers, signalsOpen: 25 })
    const counts = [
      await node.upkeep.fire(),
      await node.upkeep.fire(),
      await node.upkeep.fire(),
      await node.upkeep.fire(),
    ]
    expect(counts.map(({ fired, dueInMs }) => [fired, dueInMs])).toEqual([
      [10, 0],
      [10, 0],
      [5, null],
      [0, null],
    ])
    expect(await place.redis.llen(place.workerKeys(turn.worker).signals)).toBe(25)
  })

  test('a due timer of a worker that runs waits in the mailbox', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    const turn = await node.claim()
    await turn.record({ timers: [timer('t1', 0)], signalsOpen: 1 })
    const changed = await place.changed(() => node.upkeep.fire())
    expect(changed).toHaveProperty('w:<one.root>:mail:signals')
    expect(changed).not.toHaveProperty('w:<one.root>')
    expect(changed).not.toHaveProperty('run:default')
  })

  test('a due timer of a worker that is gone, or was cancelled for good, is dropped', async () => {
    await using scene = await parked([timer('t1', 0)])
    const { place, node, turn } = scene
    await place.redis.zadd(place.keys.timers, 1, '01890a5d-ac96-774b-bcce-b302099a8000:t9')
    await place.redis.hset(place.workerKeys(turn.worker).record, 'status', 'terminal')
    expect(await node.upkeep.fire()).toMatchObject({ fired: 2, wakeups: [] })
    const dump = await place.dump()
    expect(dump).not.toHaveProperty('timers')
    expect(dump).not.toHaveProperty('w:<one.root>:mail:signals')
  })

  test('a due timer is posted into a mailbox that is full: timers are never refused', async () => {
    await using scene = await parked([timer('t1', 0)], { limits: { mailbox: 1 } })
    const { place, node, turn } = scene
    await place.post(turn.worker, 'fills it')
    expect(await place.post(turn.worker, 'too many')).toMatchObject({ kind: 'mailbox_full' })
    await node.upkeep.fire()
    expect(await place.redis.llen(place.workerKeys(turn.worker).signals)).toBe(1)
  })
})

describe('a retry that is due', () => {
  test('a due retry queues its worker without a message', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    const turn = await node.claim()
    await turn.record({
      open: false,
      attempt: 1,
      runState: 'TransientFailure',
      end: { wait: 'retry', retryMs: 0, next: null },
    })
    const changed = await place.changed(async () => expect(await node.upkeep.fire()).toMatchObject({ fired: 1 }))
    expect(changed).toEqual({
      timers: null,
      'w:<one.root>': { status: 'queued' },
      'run:default': ['<one.root> now'],
    })
  })

  test('a due retry of a worker that no longer waits for it is dropped', async () => {
    await using scene = await parked([])
    const { place, node, turn } = scene
    await place.redis.zadd(place.keys.timers, 1, `${turn.worker}:retry`)
    const changed = await place.changed(async () => expect(await node.upkeep.fire()).toMatchObject({ fired: 1 }))
    expect(changed).toEqual({ timers: null })
  })
})
