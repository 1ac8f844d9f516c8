/** sweep: what stands further ahead than it can, since the clock of Redis was set back, is brought near. */
import { describe, expect, test } from 'vitest'
import { judge } from '../../../src/client/health/findings.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { partitionKeys } from '../../../src/store/keys.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { Place } from '../support/place.ts'
import { timersMoveWithTheClock } from '../support/queue/run-queue-checks.ts'
import { anotherStepBackIsSeen, timersMoveSomeAtATime } from '../support/upkeep/timer-checks.ts'

const line = `now 2 default echo {"host":"here"}`

describe('after the clock has stepped back', () => {
  test('a lease that would end too late gets the time of a new lease; one within its bounds stays', async () => {
    await using place = await Place.open()
    const node = place.node()
    for (const label of ['far', 'near']) await place.create({ label })
    const [far, near] = [await node.claim(), await node.claim()]
    const now = await place.now()
    await place.redis.zadd(place.keys.leases, now + 3_600_000, far.worker, now + 20_000, near.worker)
    await node.sweep({ free: 0 })
    expect(await place.dump()).toMatchObject({ leases: ['<far.root> now+60s', '<near.root> now+20s'] })
  })

  test('wake-ups that would go stale too late after a step back of the clock, awake or busy, get their time from now', async () => {
    await using place = await Place.open()
    const far = (await place.now()) + 3_600_000
    await place.redis.zadd(place.keys.wakeups('default'), far, 'awake')
    await place.redis.zadd(place.keys.busy('default'), far, 'busy')
    await place.node().sweep({ free: 0 })
    expect(await place.dump()).toMatchObject({
      'wakeups:default': ['awake now+20s'],
      'busy:default': ['busy now+60s'],
    })
  })

  test('a node that was seen in the future counts as seen now, and keeps its assignments', async () => {
    await using place = await Place.open()
    const [a, b] = [place.node(), place.node({ id: 'node-b' })]
    await place.create()
    await a.sweep({ free: 0 })
    const next = a.next()
    await a.turns.claim(next)
    const ahead = (await place.now()) + 3_600_000
    await place.redis.hset(place.keys.seen, 'node-a', ahead)
    await b.sweep({ free: 0 })
    expect(Number(await place.redis.hget(place.keys.seen, 'node-a'))).toBeLessThan(ahead)
    expect(await place.dump()).toMatchObject({
      nodes: { 'node-a': line, 'node-b': line },
      'claims:node-a': { '0': expect.any(String) },
      'slots:default': '4',
    })
    expect(await a.turns.claim(next)).toMatchObject({ kind: 'assigned' })
  })

  test('timers that were set before a step back of the clock move by as much, once; a small step moves none', async () => {
    await using place = await Place.open()
    await timersMoveWithTheClock(place)
    await place.redis.hset(place.keys.meta, 'sweptAt', (await place.now()) + 4_000)
    const before = await place.dump()
    expect(await place.node().sweep({ free: 0, soonAfter: true })).toMatchObject({ setBack: null })
    expect((await place.dump()).timers).toEqual(before.timers)
  })

  test('many thousand timers move some at a time, each once, also those of the same moment', async () => {
    await using place = await Place.open()
    await expect(timersMoveSomeAtATime(place)).resolves.toBeUndefined()
  })

  test('a clock that is set back again while timers move has them move again afterwards', async () => {
    await using place = await Place.open()
    await expect(anotherStepBackIsSeen(place)).resolves.toBeUndefined()
  })

  test('the time of a sweep that leaves more to do is kept too', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 1 } })
    for (const label of ['a', 'b']) await place.create({ label })
    const node = place.node()
    for (const turn of [await node.claim(), await node.claim()]) await place.expireLease(turn.worker)
    expect(await node.sweep({ free: 0 })).toMatchObject({ healed: 1 })
    expect(await node.sweep({ free: 0, soonAfter: true })).toMatchObject({ healed: 1, setBack: null })
  })
})

test('a timer of a worker fires in time after the clock was set back, and the log and doctor say what happened', async () => {
  const lines: string[] = []
  const note = (_: object, message: string) => lines.push(message)
  const waiter = defineWorker({
    receive(message, self) {
      if (message.kind === 'timer') self.reply('in time')
      else self.after(3_600_000 + 1_000, null)
    },
  })
  await using troupe = await TestTroupe.start({
    workers: { waiter },
    logger: { debug: note, info: note, warn: note, error: note },
  })
  const session = await troupe.create('waiter')
  const { timers, meta } = partitionKeys(troupe.tag)
  await waitUntil('it waits', async () => (await troupe.redis.zcard(timers)) === 1)
  // As if the last sweep had been an hour later; the timer was set for one second after it.
  await troupe.redis.hincrby(meta, 'sweptAt', 3_600_000)
  expect(await awaitResult(session)).toMatchObject({ value: 'in time' })
  expect(lines).toContainEqual(expect.stringMatching(/^Redis's clock was set back.*timers and retries were moved/))
  const findings = judge(await troupe.client.health())
  expect(findings).toContainEqual(expect.objectContaining({ code: 'clock_set_back', level: 'warning' }))
})
