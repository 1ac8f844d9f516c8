/** Somebody wrote over a key: it stops only those who need that key, and nothing is written in part. */
import { describe, expect, test } from 'vitest'
import { newId, rootIdOf } from '../../src/core/ids.ts'
import { encodeInput, encodeResult } from '../../src/core/worker/message/message.ts'
import { childAndOther } from './support/damage-scenes.ts'
import { completion, type HandTurn } from './support/hand-node.ts'
import { Place } from './support/place.ts'

const renewal = (turn: HandTurn, wakeup = '', becomesBusy = false) => ({
  workerId: turn.worker,
  token: turn.assignment.token,
  wakeup,
  becomesBusy,
})

const resultOf = (child: HandTurn) =>
  encodeResult({ id: child.worker, name: child.assignment.name, kind: 'echo' }, child.assignment.call ?? 0, {
    status: 'completed',
    valueJson: '1',
  })

describe('renew with one damaged turn among others', () => {
  test.each<[what: string, spoil: (place: Place, id: string, root: string) => Promise<unknown>]>([
    ['root', (place, _, root) => place.redis.set(place.workerKeys(root).record, 'x')],
    [
      'set of what was cancelled',
      async (place, id, root) => {
        await place.redis.hset(place.workerKeys(root).record, 'cancelCount', '1')
        await place.redis.set(place.sessionKeys(id).cancelled, 'x')
      },
    ],
  ])('a renewal with one damaged turn (%s) ends that turn and keeps the others', async (_, spoil) => {
    await using place = await Place.open()
    const { id, root, node, child, other } = await childAndOther(place)
    await place.expireLease(child.worker)
    await place.expireLease(other.worker)
    await spoil(place, id, root)
    const changed = await place.changed(async () =>
      expect((await node.turns.renew([renewal(child), renewal(other)])).verdicts).toEqual(['fenced', 'kept']),
    )
    expect(changed).toEqual({ leases: ['<child> now', '<other.root> now+60s'] })
  })

  test.each(['wakeups', 'busy'] as const)(
    'a renewal with damaged wake-ups (%s of a pool) keeps all turns: no lease needs a wake-up',
    async (name) => {
      await using place = await Place.open()
      await place.create()
      const node = place.node()
      const turn = await node.claim()
      await place.expireLease(turn.worker)
      await place.redis.del(place.keys[name]('default'))
      await place.redis.set(place.keys[name]('default'), 'x')
      expect((await node.turns.renew([renewal(turn, 'mine', true)])).verdicts).toEqual(['kept'])
      expect(await place.dump()).toMatchObject({ leases: ['<one.root> now+60s'] })
    },
  )
})

/** The record of a root that is parked until its child has reported. */
const uncounted: [what: string, field: 'results' | 'wait', text: string][] = [
  ['count of results', 'results', 'some'],
  ['wait', 'wait', 'results:some'],
]

describe.each(uncounted)('a parked worker whose %s is no number', (_, field, text) => {
  async function scene(place: Place) {
    const made = await childAndOther(place)
    const { record } = place.workerKeys(made.root)
    const was = await place.redis.hget(record, field)
    await place.redis.hset(record, field, text)
    const mend = () => (was === null ? place.redis.hdel(record, field) : place.redis.hset(record, field, was))
    return { ...made, mend }
  }

  test('a parked worker with a damaged field does not keep timers of others from being posted, and its own timer wakes it', async () => {
    await using place = await Place.open()
    const { root, node, other, mend } = await scene(place)
    for (const [worker, at] of [
      [root, 1],
      [other.worker, 2],
    ] as const) {
      await place.redis.hset(place.workerKeys(worker).timers, 't', '1')
      await place.redis.zadd(place.keys.timers, at, `${worker}:t`)
    }
    const changed = await place.changed(() => node.upkeep.fire())
    expect(changed).toMatchObject({
      timers: null,
      'w:<one.root>:mail:signals': ['t\tt\t1'],
      'w:<one.root>': { status: 'queued' },
      'w:<other.root>:mail:signals': ['t\tt\t1'],
    })
    await mend()
    expect((await node.claim()).worker).toBe(root)
  })

  test('a parked worker with a damaged field takes mail, and the step that sends it is written whole', async () => {
    await using place = await Place.open()
    const { root, other } = await scene(place)
    const sends = [{ workerId: root, mail: encodeInput(other.worker, '1') }]
    const changed = await place.changed(() => other.complete({ sends }))
    expect(changed).toMatchObject({
      'w:<one.root>:mail:inbox': [expect.anything()],
      'w:<other.root>': { status: 'idle' },
    })
  })

  test('a parked worker with a damaged field takes the result of its child, and wakes', async () => {
    await using place = await Place.open()
    const { root, child } = await scene(place)
    await child.complete({ result: resultOf(child) })
    expect(await place.redis.llen(place.workerKeys(root).results)).toBe(1)
    expect(await place.record(root)).toMatchObject({ status: 'queued' })
    expect(await place.record(child.worker)).toMatchObject({ status: 'idle' })
  })
})

/** Digits, and yet nothing that Redis counts up. */
describe.each(['100000000000000000000', '007'])('a count of %s', (count) => {
  test('a damaged count stops the cancel of its session before anything is written', async () => {
    await using place = await Place.open()
    const { id, root } = await place.create()
    const { record } = place.workerKeys(root)
    await place.redis.hset(record, 'cancelCount', count)
    const changed = await place.changed(() =>
      expect(place.sessions.cancel(id, 'enough')).rejects.toThrow(
        `field cancelCount of ${record} should be a whole number`,
      ),
    )
    expect(changed).toEqual({})
    await place.redis.hdel(record, 'cancelCount')
    expect(await place.sessions.cancel(id, 'enough')).toMatchObject({ kind: 'ok' })
  })

  test('a damaged count keeps only its own session from being pruned', async () => {
    await using place = await Place.open()
    const node = place.node()
    for (const label of ['one', 'two']) {
      const { id, root } = await place.create({ label })
      await (await node.claim()).complete()
      if (label === 'one') await place.redis.hset(place.workerKeys(root).record, 'retired', count)
      else await place.redis.zadd(place.keys.sessions, 'XX', (await place.now()) - 1, id)
    }
    expect(await place.sessions.prune(0)).toBe(1)
    expect(await place.dump()).toHaveProperty('w:<one.root>')
  })

  test('a damaged count of pruned sessions stops further pruning', async () => {
    await using place = await Place.open()
    await place.create()
    await (await place.node().claim()).complete()
    await place.redis.hset(place.keys.retired, 'workers', count)
    const changed = await place.changed(() => expect(place.sessions.prune(0)).rejects.toThrow('field workers of'))
    expect(changed).toEqual({})
  })
})

/** A worker that was started without a commit, with its parent and the keys of its session. */
interface Lost {
  readonly place: Place
  readonly id: string
  readonly root: string
  readonly parent: string
  readonly worker: string
}

/** A root, or the child of its child, whose node is gone. */
async function lost(place: Place, who: 'root' | 'grandchild'): Promise<Lost> {
  const { id, root } = await place.create()
  const node = place.node({ slots: 3 })
  let turn = await node.claim()
  for (const label of who === 'root' ? [] : ['child', 'grandchild']) {
    await turn.park('results:1', { spawns: [place.child(turn.worker, 1, label)], pendingCalls: [1] })
    turn = await node.claim()
  }
  await place.expireLease(turn.worker)
  await node.sweep({ free: 0 })
  return { place, id, root, parent: turn.assignment.parentId ?? root, worker: turn.worker }
}

type Spoil = (lost: Lost) => Promise<() => Promise<unknown>>

const key =
  (keyOf: (lost: Lost) => string): Spoil =>
  async (scene) => {
    const { redis } = scene.place
    const name = keyOf(scene)
    const isThere = (await redis.exists(name)) === 1
    if (isThere) await redis.rename(name, `${name}:aside`)
    await redis.set(name, 'x')
    return () => (isThere ? redis.rename(`${name}:aside`, name) : redis.del(name))
  }

const field =
  (name: string): Spoil =>
  async ({ place, root }) => {
    const { record } = place.workerKeys(root)
    const was = await place.redis.hget(record, name)
    await place.redis.hset(record, name, 'x')
    return () => (was === null ? place.redis.hdel(record, name) : place.redis.hset(record, name, was))
  }

const ofSession: [what: string, spoil: Spoil][] = [
  ['list of workers', key(({ place, id }) => place.sessionKeys(id).workers)],
  ['set of what was cancelled', key(({ place, id }) => place.sessionKeys(id).cancelled)],
  ["partition's set of unfinished cancels", key(({ place }) => place.keys.cancelling)],
  ['count of workers', field('workers')],
  ['count of cancels', field('cancelCount')],
  ['spending', field('spent')],
]
const ofParent: [what: string, spoil: Spoil][] = [
  ['parent', key(({ place, parent }) => place.workerKeys(parent).record)],
  ['lane of its parent for results', key(({ place, parent }) => place.workerKeys(parent).results)],
]

describe('a worker that was started without a commit', () => {
  test.each([
    ...ofSession.map(([what, spoil]) => [what, 'root', spoil] as const),
    ...[...ofSession, ...ofParent].map(([what, spoil]) => [what, 'grandchild', spoil] as const),
  ])(
    'a worker that started without a commit is not started again while no commit of it can be written (%s, of a %s)',
    async (_, who, spoil) => {
      await using place = await Place.open()
      const scene = await lost(place, who)
      const mend = await spoil(scene)
      expect(await place.node().ask()).toEqual({ kind: 'empty' })
      expect(await place.redis.zscore(place.keys.run('unhosted'), scene.worker)).not.toBeNull()
      await mend()
      await place.node().sweep({ free: 0 })
      const { worker, assignment } = await place.node().claim()
      expect([worker, assignment.purpose]).toEqual([scene.worker, 'run'])
    },
  )

  test.each(
    ofSession
      .filter(([what]) => what !== 'spending')
      .flatMap(([what, spoil]) => (['root', 'grandchild'] as const).map((who) => [what, who, spoil] as const)),
  )(
    'a worker that started without a commit is started again if it has no children and its kind spawns none (%s, of a %s)',
    async (_, who, spoil) => {
      await using place = await Place.open()
      const scene = await lost(place, who)
      await spoil(scene)
      const node = place.node({ childless: ['echo'] })
      const turn = await node.claim()
      expect(turn.worker).toBe(scene.worker)
      expect(await turn.complete()).toMatchObject({ kind: 'ok' })
    },
  )

  test('a worker that started without a commit is not started again if it has children, even if its kind no longer spawns any', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    const node = place.node({ slots: 2, childless: ['echo'] })
    await (await node.claim()).park('results:1', { spawns: [place.child(root, 1, 'child')], pendingCalls: [1] })
    await (await node.claim({ slot: '1' })).complete({ result: 'r' })
    const { worker } = await node.claim()
    expect(worker).toBe(root)
    await place.expireLease(root)
    await node.sweep({ free: 0 })
    await place.redis.set(place.keys.cancelling, 'x')
    expect(await node.ask()).toEqual({ kind: 'empty' })
  })

  test('a worker that started without a commit is started again if its parent waits for no result of it', async () => {
    await using place = await Place.open()
    await place.create()
    const node = place.node()
    const root = await node.claim()
    await root.complete({ spawns: [place.child(root.worker, 1, 'free', { detached: true })] })
    const free = await node.claim()
    await place.expireLease(free.worker)
    await node.sweep({ free: 0 })
    await place.redis.set(place.workerKeys(root.worker).results, 'x')
    expect((await node.claim()).worker).toBe(free.worker)
  })
})

describe('a cancel of a child', () => {
  test('a child whose record names another session ends with a cancel of the session it really belongs to', async () => {
    await using place = await Place.open()
    const { id, root } = await place.create()
    const node = place.node()
    const turn = await node.claim()
    const child = place.child(root, 1, 'child')
    await turn.park('results:1', { spawns: [child], pendingCalls: [1] })
    await place.redis.hset(place.workerKeys(child.id).record, 'path1', `${rootIdOf(newId(0))}:1`)
    await place.sessions.cancel(id, 'enough')
    expect(await node.upkeep.finishCancelled()).toEqual({ finished: 1, damaged: [], wakeups: [] })
    expect(await place.record(child.id)).toMatchObject({ status: 'terminal' })
    expect(await place.record(root)).toMatchObject({ status: 'terminal' })
    expect(await node.ask()).toEqual({ kind: 'empty' })
  })
})

test('a commit that is sent again is answered as recorded, even if its root was overwritten in between', async () => {
  await using place = await Place.open()
  const { root, child } = await childAndOther(place)
  const request = child.request({ ...completion, inputsConsumed: 1, result: resultOf(child) })
  const { turns } = child.node
  const first = await turns.commit(request)
  expect(first).toMatchObject({ kind: 'ok', version: 1 })
  await place.redis.set(place.workerKeys(root).record, 'x')
  expect(await turns.commit(request)).toEqual(first)
})

test.each<[what: string, key: (place: Place, scene: { root: string; child: string }) => string]>([
  ['root', (place, { root }) => place.workerKeys(root).record],
  ['record', (place, { child }) => place.workerKeys(child).record],
  ['lane', (place, { child }) => place.workerKeys(child).inbox],
])(
  'a claim whose answer was lost does not hold up a slot when the %s of its worker was overwritten',
  async (_, keyOf) => {
    await using place = await Place.open()
    const { id: child } = place.child((await place.create()).root, 1, 'child')
    const node = place.node()
    const turn = await node.claim()
    await turn.park('results:1', { spawns: [place.child(turn.worker, 1, 'child')], pendingCalls: [1] })
    const lost = node.next()
    expect(await node.turns.claim(lost)).toMatchObject({ kind: 'assigned', assignment: { workerId: child } })
    const key = keyOf(place, { root: turn.worker, child })
    await place.redis.del(key)
    await place.redis.set(key, 'x')
    expect(await node.turns.claim(lost)).toEqual({ kind: 'empty' })
    const { root } = await place.create({ label: 'other' })
    expect((await node.claim()).worker).toBe(root)
  },
)

describe('a recipient that somebody wrote over', () => {
  test.each<[what: string, spoil: (scene: { place: Place; root: string }) => Promise<unknown>]>([
    ['record', ({ place, root }) => place.redis.set(place.workerKeys(root).record, 'x')],
    ['lane', ({ place, root }) => place.redis.set(place.workerKeys(root).inbox, 'x')],
    ['limits', ({ place, root }) => place.redis.hset(place.workerKeys(root).record, 'limits', 'many')],
  ])(
    'an overwritten recipient (%s) refuses only its mail: everything else that its sender records is written',
    async (_, spoil) => {
      await using place = await Place.open()
      const { root } = await place.create({ label: 'other' })
      const node = place.node({ slots: 2 })
      await (await node.claim()).complete()
      await place.create()
      const sender = await node.claim()
      await spoil({ place, root })
      const sends = [{ workerId: root, mail: encodeInput(sender.worker, '1') }]
      const changed = await place.changed(async () => {
        const answer = await sender.commit({ sends })
        expect(answer).toMatchObject({ kind: 'refused', refusals: [{ reason: 'damaged', id: root }] })
        expect(answer).toHaveProperty('refusals.0.damage', expect.stringContaining(place.workerKeys(root).record))
        expect(answer).toHaveProperty('refusals.0.damage', expect.stringMatching(/ should be /))
      })
      expect(changed).toEqual({})
      expect(await sender.commit({ inputsConsumed: 1 })).toMatchObject({ kind: 'ok' })
    },
  )
})
