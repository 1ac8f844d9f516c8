/** prune: finished sessions go after their time, whole, and nothing else does. */
import { describe, expect, test } from 'vitest'
import { rootIdOf } from '../../../src/core/ids.ts'
import { commandsNaming } from '../../support/redis/watched-commands.ts'
import { changes } from '../support/dump.ts'
import { completion, runFailure } from '../support/hand-node.ts'
import { Place } from '../support/place.ts'

const day = 86_400_000

/** Dates a session as if it had been created, and had finished, so long ago. */
async function age(place: Place, sessionId: string, createdAgo: number, finishedAgo?: number): Promise<void> {
  const now = await place.now()
  await place.redis.zadd(place.keys.sessions, 'XX', now - createdAgo, sessionId)
  if (finishedAgo === undefined) return
  const { record } = place.workerKeys(rootIdOf(sessionId))
  const ended = (await place.redis.hget(record, 'ended')) ?? ''
  await place.redis.hset(record, 'ended', ended.replace(/\d{13}/, String(now - finishedAgo)))
  await place.redis.zadd(place.keys.ends, 'XX', now - finishedAgo, sessionId)
}

async function finished(place: Place, label: string): Promise<string> {
  const { id } = await place.create({ label })
  await (await place.node().claim()).complete()
  return id
}

/** A session that ended long enough ago, and that is kept: something of it is still being cancelled. */
async function kept(place: Place, label: string, finishedAgo: number): Promise<string> {
  const id = await finished(place, label)
  await age(place, id, 40 * day, finishedAgo)
  await place.redis.sadd(place.keys.cancelling, id)
  return id
}

/** Ended, with 50 detached workers, of which the last waits until its timer is fired. */
async function withManyDetached(place: Place, label: string) {
  const { id } = await place.create({ label })
  const node = place.node()
  const turn = await node.claim()
  const spawns = Array.from({ length: 50 }, (_, index) =>
    place.child(turn.worker, index + 1, `${label}.c${index}`, { detached: true }),
  )
  await turn.complete({ spawns })
  for (let number = 1; number < 50; number++) await (await node.claim()).complete()
  const last = await node.claim()
  await last.park('signals', { timers: [{ id: 't1', ms: 0, valueJson: '1' }], signalsOpen: 1 })
  const fire = async () => {
    await node.upkeep.fire()
    await (await node.claim()).complete({ inputsConsumed: 0, signalsConsumed: 1 })
  }
  return { id, last: last.worker, timer: { fire } }
}

/** Keys that still name it, but for events, which are trimmed, and assignments, which go with their node. */
const keysNaming = async (place: Place, label: string) =>
  Object.entries(await place.dump())
    .filter(
      ([key, value]) =>
        key !== 'events' && !key.startsWith('claims:') && `${key} ${JSON.stringify(value)}`.includes(`<${label}`),
    )
    .map(([key]) => key)

describe('prune', () => {
  test('pruning removes everything of a session that finished long enough ago [1.17]', async () => {
    await using place = await Place.open()
    const { id } = await place.create({ label: 'old' })
    const node = place.node()
    const turn = await node.claim()
    const spawns = [1, 2].map((call) => place.child(turn.worker, call, `old.c${call}`))
    await turn.record({
      inputsConsumed: 1,
      spawns,
      pendingCalls: [1, 2],
      stateJson: JSON.stringify('x'.repeat(200)),
      failure: runFailure,
      timers: [{ id: 't1', ms: 0, valueJson: '1' }],
      signalsOpen: 1,
    })
    await node.upkeep.fire()
    await turn.complete({ inputsConsumed: 0, pendingCount: 2, outcome: 'failed', failure: runFailure })
    await node.upkeep.finishCancelled()
    await age(place, id, 9 * day, 8 * day)
    expect(await place.sessions.prune(7 * day)).toBe(1)
    expect(await keysNaming(place, 'old')).toEqual([])
  })

  test('pruning keeps a session that finished a short while ago, however old it is', async () => {
    await using place = await Place.open()
    await age(place, await finished(place, 'old'), 30 * day, 6 * day)
    const changed = await place.changed(async () => expect(await place.sessions.prune(7 * day)).toBe(0))
    expect(changed).toEqual({})
  })

  test('pruning keeps a session that is active, and one whose cancel is not finished', async () => {
    await using place = await Place.open()
    const active = await place.create({ label: 'active' })
    await age(place, active.id, 30 * day)
    const cancelling = await place.create({ label: 'cancelling' })
    await place.sessions.cancel(cancelling.id, 'enough')
    await age(place, cancelling.id, 30 * day)
    const stillBusy = await finished(place, 'busy')
    await age(place, stillBusy, 30 * day, 20 * day)
    await place.redis.sadd(place.keys.cancelling, stillBusy)
    const changed = await place.changed(async () => expect(await place.sessions.prune(7 * day)).toBe(0))
    expect(changed).toEqual({})
  })

  test('pruning keeps a finished session while a detached child of it still waits', async () => {
    await using place = await Place.open()
    const { id } = await place.create({ label: 'old' })
    const node = place.node()
    const turn = await node.claim()
    await turn.complete({ spawns: [place.child(turn.worker, 1, 'free', { detached: true })] })
    const free = await node.claim()
    await free.park('signals', { timers: [{ id: 't1', ms: 30 * day, valueJson: '1' }], signalsOpen: 1 })
    await age(place, id, 9 * day, 8 * day)
    expect(await place.sessions.prune(7 * day)).toBe(0)
    expect(await place.dump()).toMatchObject({ 'w:<free>': { status: 'parked' } })
  })

  test('pruning looks past old sessions that are active, batch by batch', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 4 } })
    for (let number = 0; number < 13; number++) {
      const { id } = await place.create({ label: `active ${number}` })
      await age(place, id, 30 * day)
    }
    const node = place.node()
    for (let number = 0; number < 13; number++) await node.claim({ slot: String(number) })
    for (let number = 0; number < 9; number++)
      await age(place, await finished(place, `old ${number}`), 10 * day, 9 * day)
    expect(await place.sessions.prune(7 * day)).toBe(9)
    expect(await place.redis.zcard(place.keys.sessions)).toBe(13)
  })

  test('the pruning of a node goes on where it stopped, and begins again at the end', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 4, pruneEveryMs: 0 } })
    for (let number = 0; number < 6; number++) await kept(place, `kept ${number}`, 30 * day)
    const node = place.node()
    for (let number = 0; number < 3; number++)
      await age(place, await finished(place, `old ${number}`), 10 * day, 9 * day)
    const counts = [await node.upkeep.prune(), await node.upkeep.prune(), await node.upkeep.prune()]
    expect(counts.reduce((sum, { pruned }) => sum + pruned, 0)).toBe(3)
    expect(counts.map(({ done }) => done)).toEqual([false, false, true])
    await age(place, await finished(place, 'later'), 40 * day, 9 * day)
    const more = [await node.upkeep.prune(), await node.upkeep.prune(), await node.upkeep.prune()]
    expect(more.reduce((sum, { pruned }) => sum + pruned, 0)).toBe(1)
  })

  test('the pruning of a node passes over no session, even if others removed sessions that it had kept', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 4 } })
    for (let number = 0; number < 4; number++) await kept(place, `kept ${number}`, 30 * day)
    const all = await place.redis.zrange(place.keys.ends, 0, '-1')
    for (let number = 0; number < 3; number++)
      await age(place, await finished(place, `old ${number}`), 30 * day, 9 * day)
    const { upkeep } = place.node()
    expect(await upkeep.prune()).toEqual({ pruned: 0, done: false })
    await place.redis.zrem(place.keys.ends, ...all)
    expect(await upkeep.prune()).toEqual({ pruned: 3, done: true })
  })

  test('pruning does not look at sessions that go on, nor at those that ended a short while ago', async () => {
    await using place = await Place.open()
    const goesOn = await place.create({ label: 'goes on' })
    await age(place, goesOn.id, 30 * day)
    await place.node().claim()
    await age(place, await finished(place, 'young'), 30 * day, 6 * day)
    const looked = await commandsNaming(place.redis, `${place.keys.tag}:w:`, () => place.sessions.prune(7 * day))
    expect(looked).toEqual([])
  })

  test('pruning looks past many sessions that ended in one millisecond', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 4 } })
    const moment = (await place.now()) - 30 * day
    for (let number = 0; number < 11; number++) await kept(place, `kept ${number}`, 30 * day)
    for (let number = 0; number < 5; number++)
      await age(place, await finished(place, `old ${number}`), 30 * day, 9 * day)
    for (const id of await place.redis.zrange(place.keys.ends, 0, '-1'))
      await place.redis.zadd(place.keys.ends, 'XX', moment, id)
    expect(await place.sessions.prune(7 * day)).toBe(5)
    expect(await place.redis.zcard(place.keys.sessions)).toBe(11)
  })

  test('pruning never reads the results of a session, which may be those of thousands of runs', async () => {
    await using place = await Place.open()
    const id = await finished(place, 'old')
    const { runResults: results } = place.sessionKeys(id)
    const asked = await commandsNaming(place.redis, results, async () => expect(await place.sessions.prune(0)).toBe(1))
    expect(asked.map(({ name }) => name)).toEqual(['unlink'])
  })

  test('pruning removes a session with too many workers for one call in several', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 2 } })
    const { id } = await place.create({ label: 'old', limits: { children: 100 } })
    const node = place.node()
    const turn = await node.claim()
    const calls = Array.from({ length: 50 }, (_, index) => index + 1)
    await turn.record({
      spawns: calls.map((call) => place.child(turn.worker, call, `old.c${call}`)),
      pendingCalls: calls,
    })
    await turn.complete({ pendingCount: 50 })
    await node.upkeep.finishCancelled()
    await age(place, id, 9 * day, 8 * day)
    expect(await place.sessions.prune(7 * day)).toBe(1)
    expect(await keysNaming(place, 'old')).toEqual([])
  })

  test('pruning takes nothing of a session while any of its workers waits, even one behind the reach of one call', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 2 } })
    const { id, timer } = await withManyDetached(place, 'old')
    await age(place, id, 9 * day, 8 * day)
    const before = await place.dump()
    expect(await place.sessions.prune(7 * day)).toBe(0)
    // The pass leaves nothing but how far it has looked.
    const changed = { 's:<old>': { resting: '40' } }
    expect(changes(before, await place.dump())).toEqual(changed)
    expect(await place.sessions.prune(7 * day)).toBe(0)
    expect(changes(before, await place.dump())).toEqual(changed)
    await timer.fire()
    expect(await place.sessions.prune(7 * day)).toBe(1)
    expect(await keysNaming(place, 'old')).toEqual([])
    expect((await place.dump()).retired).toEqual({
      sessions: '1',
      workers: '51',
      inbox: '51',
      results: '0',
      signals: '1',
    })
  })

  test('pruning looks as far in a second call as in the first when the answer of the first was lost', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 2 } })
    const { id, timer } = await withManyDetached(place, 'old')
    await timer.fire()
    await age(place, id, 9 * day, 8 * day)
    const { upkeep } = place.node()
    for (let calls = 0; calls < 4; calls++) {
      // Each as if by another node that knows of no call before.
      expect(await place.node().upkeep.prune()).toEqual({ pruned: 0, done: false })
    }
    expect(await place.session(id)).toMatchObject({ resting: '30', retired: '20' })
    expect([await upkeep.prune(), await upkeep.prune()]).toEqual([
      { pruned: 0, done: false },
      { pruned: 1, done: true },
    ])
    expect(await keysNaming(place, 'old')).toEqual([])
  })

  test('pruning takes nothing of a session that has ended within a turn that goes on', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 1 } })
    await place.create({ label: 'old' })
    const node = place.node()
    const turn = await node.claim()
    const spawns = Array.from({ length: 12 }, (_, index) =>
      place.child(turn.worker, index + 1, `old.c${index}`, { detached: true }),
    )
    await turn.record({ ...completion, inputsConsumed: 1, spawns, end: undefined })
    for (const _ of spawns) await (await node.claim()).complete()
    const changed = await place.changed(async () => expect(await place.sessions.prune(0)).toBe(0))
    expect(changed).toEqual({})
    await turn.record({ open: false, end: { wait: 'any', next: null } })
    expect(await place.sessions.prune(0)).toBe(1)
  })

  test('pruning takes nothing of a session while a worker of it is damaged', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 2 } })
    const { id, timer, last } = await withManyDetached(place, 'old')
    await timer.fire()
    await age(place, id, 9 * day, 8 * day)
    await place.redis.hset(place.workerKeys(last).record, 'inbox', 'many')
    expect(await place.sessions.prune(7 * day)).toBe(0)
    expect(await place.redis.llen(place.sessionKeys(id).workers)).toBe(50)
    await place.redis.hset(place.workerKeys(last).record, 'inbox', '1')
    expect(await place.sessions.prune(7 * day)).toBe(1)
  })

  test('pruning takes sessions without a record out of the index', async () => {
    await using place = await Place.open()
    const gone = '01890a5d-ac96-774b-bcce-b302099a8000'
    await place.redis.zadd(place.keys.sessions, 1, gone)
    await place.redis.zadd(place.keys.ends, 2, gone)
    expect(await place.sessions.prune(7 * day)).toBe(1)
    expect(await place.dump()).toEqual({ retired: expect.anything() })
  })

  test('pruning without any retention removes sessions that have just finished', async () => {
    await using place = await Place.open()
    await finished(place, 'old')
    expect(await place.sessions.prune(0)).toBe(1)
    expect(await keysNaming(place, 'old')).toEqual([])
  })
})

describe('a pass of pruning that a node makes', () => {
  const policy = { sweepBatch: 1, pruneEveryMs: 60_000 }
  const looked = { pruned: 0, done: false }
  const notMine = { pruned: 0, done: true }

  /** Three sessions that stay: a pass looks at one of them with each call, and then sees its end. */
  async function openWithThree(): Promise<Place> {
    const place = await Place.open({ policy })
    for (let number = 0; number < 3; number++) await kept(place, `kept ${number}`, 30 * day - number)
    return place
  }
  const meta = async (place: Place) => (await place.dump()).meta as Record<string, string>
  const ago = async (place: Place, ms: number) =>
    place.redis.hset(place.keys.meta, 'prunedAt', (await place.now()) - ms)

  test('a pass of pruning is the only one: other nodes prune nothing until it has ended, and for a while after it', async () => {
    await using place = await openWithThree()
    const [a, b] = [place.node().upkeep, place.node({ id: 'node-b' }).upkeep]
    expect(await a.prune()).toEqual(looked)
    expect(await place.changed(async () => expect(await b.prune()).toEqual(notMine))).toEqual({})
    expect([await a.prune(), await a.prune(), await a.prune()]).toEqual([looked, looked, notMine])
    expect(await meta(place)).toEqual({ prunedAt: 'now', pruning: '' })
    for (const node of [a, b])
      expect(await place.changed(async () => expect(await node.prune()).toEqual(notMine))).toEqual({})
    await ago(place, 60_001)
    expect(await b.prune()).toEqual(looked)
    expect(await a.prune()).toEqual(notMine)
  })

  test('a pass of pruning goes on at another node from the same position, once its own node has been silent for long', async () => {
    await using place = await openWithThree()
    const [a, b] = [place.node().upkeep, place.node({ id: 'node-b' }).upkeep]
    expect([await a.prune(), await a.prune()]).toEqual([looked, looked])
    await ago(place, 60_001)
    expect([await b.prune(), await a.prune(), await b.prune()]).toEqual([looked, notMine, notMine])
  })

  test('a pass of pruning begins even if the clock was set back, so that the last one seems to lie ahead', async () => {
    await using place = await openWithThree()
    await ago(place, -3_600_000)
    expect(await place.node().upkeep.prune()).toEqual(looked)
  })

  test('a pass of pruning neither waits for pruning by hand nor is moved by it', async () => {
    await using place = await openWithThree()
    expect(await place.node().upkeep.prune()).toEqual(looked)
    await place.redis.del(place.keys.cancelling)
    const before = await meta(place)
    expect(await place.sessions.prune(0)).toBe(3)
    expect(await meta(place)).toEqual(before)
  })
})
