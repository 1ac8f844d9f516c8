/** What must hold of the fork of a session; a mutant of each guard fails here. */
import { expect } from 'vitest'
import { askId, forkedAskId, newId, rootIdOf } from '../../../../src/core/ids.ts'
import type { Policy } from '../../../../src/core/policy.ts'
import { encodeAnswer, encodeAskBody } from '../../../../src/core/worker/ask/ask.ts'
import { encodeInput } from '../../../../src/core/worker/message/message.ts'
import { type AppearOrder, ForkStore } from '../../../../src/store/fork/fork-store.ts'
import { SessionCopy } from '../../../../src/store/fork/session-copy.ts'
import type { ScriptCaller } from '../../../../src/store/script/script.ts'
import type { HandTurn } from '../hand-node.ts'
import type { MadeSession, Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

interface Written {
  readonly id: string
  readonly root: string
  readonly order: AppearOrder
}

/** All facts of a copy but its appearance. */
export async function written(place: Place, { id }: MadeSession, isDryRun = false): Promise<Written> {
  const { forks } = place.sessions
  const copyId = place.label(newId(0), 'copy')
  place.label(rootIdOf(copyId), 'copy.root')
  const cut = await forks.cut(id)
  if (cut.kind !== 'ok') throw new Error(`The session was not cut: ${JSON.stringify(cut)}`)
  const order = await new SessionCopy(forks, cut, copyId, { from: id, at: 1, isDryRun }).write()
  const event = '[["session.created","echo",null,null,null,null,null,"of"]]'
  return { id: copyId, root: rootIdOf(copyId), order: { ...order, event, told: '[["session.forked",{}]]' } }
}

export async function forked(place: Place, session: MadeSession, isDryRun = false) {
  const copy = await written(place, session, isDryRun)
  const answer = await place.sessions.forks.appear(copy.order)
  if (answer.kind !== 'ok') throw new Error(`The copy did not appear: ${JSON.stringify(answer)}`)
  return { ...copy, wakeups: answer.wakeups }
}

const expired = encodeAnswer('"nobody"', { status: 'expired', by: null, reason: null })

/** A conversation whose root waits for a timer and an ask, with a message behind it; and one child in the run queue, which knows the root. */
export async function live(place: Place) {
  const session = await place.create({ mode: 'conversation' })
  const node = place.node()
  const root = await node.claim()
  const child = place.child(root.worker, 1, 'c1')
  const ask = askId(root.worker, 1, 'inbox-0', 1)
  await root.park('signals', {
    spawns: [child],
    pendingCalls: [1],
    timers: [{ id: 't1', ms: 600_000, valueJson: '1' }],
    asks: [
      {
        id: ask,
        sort: 'question',
        body: encodeAskBody({ question: 'May I?' }),
        expiry: { ms: 600_000, answer: expired },
      },
    ],
    signalsOpen: 2,
    stateJson: `"${'x'.repeat(80)}"`,
  })
  await place.post(session.root, 'second')
  return { session, node, root, child, ask }
}

const lifetimes = async (place: Place, pattern: string) => {
  const keys = await place.redis.keys(`${place.keys.tag}:${pattern}`)
  return Promise.all(keys.map(async (key) => [key, await place.redis.pttl(key)] as const))
}

/** Keys of a copy end by themselves until it appears, and none does from then on. */
export const aCopyStaysOnceItIsThere: Check = async (place) => {
  const { session } = await live(place)
  await forked(place, session)
  for (const pattern of ['w:*', 's:*', 'ask:*'])
    for (const [key, ms] of await lifetimes(place, pattern)) expect([key, ms]).toEqual([key, -1])
}

export const aCopyThatNobodyFinishesGoes: Check = async (place) => {
  const { session } = await live(place)
  const before = new Set(await place.redis.keys(`${place.keys.tag}:*`))
  await written(place, session)
  const fresh = (await lifetimes(place, '*')).filter(([key]) => !before.has(key))
  expect(fresh.length).toBeGreaterThan(10)
  for (const [key, ms] of fresh) expect([key, ms > 0]).toEqual([key, true])
}

export const aPartThatIsSentAgainIsWrittenOnce: Check = async (place) => {
  const part = { key: 'w:x:log', sort: 'list', from: 0, texts: ['a', 'b'] } as const
  const parts = [part, { ...part, from: 2, texts: ['c'] }]
  await place.sessions.forks.prepare(newId(0), parts)
  await place.sessions.forks.prepare(newId(0), parts)
  expect(await place.redis.lrange(`${place.keys.tag}:w:x:log`, 0, -1)).toEqual(['a', 'b', 'c'])
}

export const aPieceThatIsSentAgainIsWrittenOnce: Check = async (place) => {
  const part = { key: 's:x:blob:y', sort: 'bytes', from: 0, texts: [Buffer.from([0, 255])] } as const
  await place.sessions.forks.prepare(newId(0), [part])
  await place.sessions.forks.prepare(newId(0), [part])
  expect(await place.redis.strlen(`${place.keys.tag}:s:x:blob:y`)).toBe(2)
}

export const aCopyThatLostAPartIsNotWrittenOn: Check = async (place) => {
  const part = { key: 'w:x:log', sort: 'list', from: 2, texts: ['c'] } as const
  const prepared = place.sessions.forks.prepare(newId(0), [{ ...part, key: 'w:x:state', sort: 'string' }, part])
  expect(await prepared.then(String, (error: Error) => error.message)).toMatch(/is not whole/)
  expect(await place.redis.keys(`${place.keys.tag}:w:x:*`)).toEqual([])
}

/** A worker of the copy may have taken a message meanwhile. */
export const aCallThatComesLateChangesNoCopy: Check = async (place) => {
  const { session } = await live(place)
  const copy = await written(place, session)
  const { last } = place.wire
  await place.sessions.forks.appear(copy.order)
  await place.redis.del(place.sessionKeys(copy.id).workers)
  const changed = await place.changed(async () => expect(await place.wire.again(last)).toEqual(['ok']))
  expect(changed).toEqual({})
  for (const [key, ms] of await lifetimes(place, 's:*')) expect([key, ms]).toEqual([key, -1])
}

export const aCopyAppearsOnce: Check = async (place) => {
  const { session } = await live(place)
  await place.redis.del(place.keys.wakeups('default'))
  const { order, wakeups } = await forked(place, session)
  expect(wakeups).toMatchObject([{ pool: 'default' }])
  const changed = await place.changed(async () =>
    expect(await place.sessions.forks.appear(order)).toEqual({ kind: 'ok', wakeups }),
  )
  expect(changed).toEqual({})
}

/** Without these keys a copy does not appear. */
export const lost =
  (spoil: (place: Place, copy: Written) => Promise<unknown>): Check =>
  async (place) => {
    const { session } = await live(place)
    await place.post(session.root, 'third')
    const copy = await written(place, session)
    await spoil(place, copy)
    const said = await place.sessions.forks.appear(copy.order).then(
      () => 'it appeared',
      (error: Error) => error.message,
    )
    expect(said).toMatch(/is not whole/)
    expect(await place.redis.zrange(place.keys.sessions, 0, '-1')).toEqual([session.id])
  }

const spoilt = (key: (place: Place, copy: Written) => string) =>
  lost(async (place, copy) => expect(await place.redis.del(key(place, copy))).toBe(1))
export const aCopyWithoutAMailboxDoesNotAppear = spoilt((place, { root }) => place.workerKeys(root).inbox)
export const aCopyWithoutItsWorkersDoesNotAppear = spoilt((place, { id }) => place.sessionKeys(id).workers)
export const aCopyWithAShortHistoryDoesNotAppear = spoilt((place, { root }) => place.workerKeys(root).log)
/** The end of a long list, and some names of a large hash, are written by calls of their own. */
export const aCopyWithAShortMailboxDoesNotAppear = lost(async (place, { root }) => {
  const { inbox } = place.workerKeys(root)
  await place.redis.rpop(inbox)
  if ((await place.redis.llen(inbox)) === 0) throw new Error('Nothing of the mailbox is left.')
})
export const aCopyThatForgotAnIdDoesNotAppear = lost(async (place, { id }) => {
  const { originals } = place.sessionKeys(id)
  const [first = ''] = await place.redis.hkeys(originals)
  await place.redis.hdel(originals, first)
  if ((await place.redis.hlen(originals)) === 0) throw new Error('None of the ids is left.')
})

export const workersOfACopyRun: Check = async (place) => {
  const { session, child } = await live(place)
  const { root, order } = await forked(place, session)
  const [, copied] = order.workers
  const queued = await place.redis.zrange(place.keys.run('default'), '0', '-1')
  expect(queued.sort()).toEqual([child.id, String(copied?.id)].sort())
  expect(await place.redis.hget(place.workerKeys(root).record, 'status')).toBe('parked')
}

export const aCopyHasItsTimersAndAsks: Check = async (place) => {
  const { session, ask, root } = await live(place)
  const copy = await forked(place, session)
  const asked = forkedAskId(copy.root, ask)
  for (const [own, its] of [
    [`${root.worker}:t1`, `${copy.root}:t1`],
    [`${root.worker}:ask:${ask}`, `${copy.root}:ask:${asked}`],
  ] as const)
    expect(await place.redis.zscore(place.keys.timers, its)).toBe(await place.redis.zscore(place.keys.timers, own))
  expect(await place.redis.zscore(place.keys.asks, asked)).toBe(await place.redis.zscore(place.keys.asks, ask))
}

export const aCopyTriesAgain: Check = async (place) => {
  const session = await place.create()
  await (await place.node().claim()).record({
    end: { wait: 'retry', retryMs: 60_000, next: null },
    attempt: 1,
    retrying: 'inbox:0',
  })
  const { root } = await forked(place, session)
  expect(await place.redis.zscore(place.keys.timers, `${root}:retry`)).toBe(
    await place.redis.zscore(place.keys.timers, `${session.root}:retry`),
  )
}

export const aCopyFinishesCancels: Check = async (place) => {
  const { session, root } = await childrenOfAnEndedRun(place)
  const { id, root: copyRoot } = await forked(place, session)
  expect(await place.redis.smembers(place.sessionKeys(id).cancelled)).toEqual([`${copyRoot}:1`])
  expect(await place.redis.smembers(place.keys.cancelling)).toContain(id)
  expect(root.worker).toBe(session.root)
}

async function childrenOfAnEndedRun(place: Place): Promise<{ session: MadeSession; root: HandTurn }> {
  const session = await place.create({ mode: 'conversation' })
  const root = await place.node().claim()
  await root.record({ inputsConsumed: 1, spawns: [place.child(root.worker, 1, 'c1')], pendingCalls: [1] })
  await root.complete({ inputsConsumed: 0, pendingCount: 1 })
  return { session, root }
}

export const onlyASessionIsForked: Check = async (place) => {
  const { child } = await live(place)
  expect(await place.sessions.forks.cut(rootIdOf(child.id))).toEqual({ kind: 'not_found' })
}

export const aSessionThatIsOverIsNotForked: Check = async (place) => {
  const session = await place.create()
  await (await place.node().claim()).complete()
  expect(await place.sessions.forks.cut(session.id)).toEqual({ kind: 'finished', state: 'completed' })
}

/** If two forks have one key, the first that appears is the copy. */
export const aKeyIsOneCopy: Check = async (place) => {
  const { session } = await live(place)
  const [first, second] = [await written(place, session), await written(place, session)]
  const appeared = await place.sessions.forks.appear({ ...first.order, key: 'k' })
  expect(await place.sessions.forks.appear({ ...first.order, key: 'k' })).toEqual(appeared)
  expect(await place.sessions.forks.appear({ ...second.order, key: 'k' })).toEqual({
    kind: 'again',
    sessionId: first.id,
  })
  expect(await place.redis.zrange(place.keys.sessions, 0, '-1')).toEqual([session.id, first.id])
  expect(await place.sessions.forks.known('k')).toBe(first.id)
}

/** A root with children that are queued, read by scripts that take so many of them. */
async function crowd(place: Place, count: number, policy: Partial<Policy>) {
  const session = await place.create()
  const root = await place.node().claim()
  const spawns = Array.from({ length: count }, (_, index) => place.child(root.worker, index + 1, `c${index}`))
  await place.redis.hset(place.workerKeys(root.worker).record, 'limits', '1000 1000 5 1000')
  await root.record({ inputsConsumed: 1, spawns })
  const { redis, keys, deadlineMs } = place
  /** How many workers each cut has read. */
  const read: number[] = []
  const call: ScriptCaller['call'] = async (...args) => {
    const reply = await place.caller.call(...args)
    read.push((reply[1] as unknown[]).length)
    return reply
  }
  const forks = new ForkStore(redis, { call } as ScriptCaller, keys, { ...place.policy, ...policy }, deadlineMs)
  return { session, root, spawns, forks, read }
}

/** Between two calls a worker that was read sends to one that was read, and one that was not. */
export const aCutInPartsShowsOneMoment: Check = async (place) => {
  const { session, root, spawns, forks, read } = await crowd(place, 5, { forkPartWorkers: 2 })
  const [first, last] = [spawns[0]?.id as string, spawns[4]?.id as string]
  place.wire.afterNext(async () => {
    const sends = [first, last].map((workerId) => ({ workerId, mail: encodeInput(root.worker, '"between"') }))
    await root.record({ entries: ['{"type":"sent"}'], sends })
  })
  const cut = await forks.cut(session.id)
  if (cut.kind !== 'ok') throw new Error(cut.kind)
  expect(read).toEqual([2, 2, 2, 2])
  const of = (id: string) => cut.workers.find((worker) => worker.id === id)
  expect(cut.workers.map(({ id }) => id)).toEqual([root.worker, ...spawns.map(({ id }) => id)])
  expect([of(root.worker)?.historyLength, ...[first, last].map((id) => of(id)?.parts[':mail:inbox']?.length)]).toEqual([
    1, 2, 2,
  ])
}

export const aCutReadsFewWorkersAtOnce: Check = async (place) => {
  const { session, forks, read } = await crowd(place, 5, { forkPartWorkers: 2 })
  expect(await forks.cut(session.id)).toMatchObject({ kind: 'ok' })
  expect(read).toEqual([2, 2, 2, 0])
}

export const aCutReadsFewTimersAtOnce: Check = async (place) => {
  const { session, spawns, forks, read } = await crowd(place, 3, {})
  for (const { id } of spawns) await place.redis.hset(place.workerKeys(id).record, 'signalsOpen', '600')
  expect(await forks.cut(session.id)).toMatchObject({ kind: 'ok' })
  expect(read).toEqual([2, 1, 1, 0])
}

export const aForkTakesFewWorkers: Check = async (place) => {
  const { session, forks } = await crowd(place, 5, { forkWorkersMax: 5 })
  expect(await forks.cut(session.id)).toEqual({ kind: 'too_many', workers: 6 })
}

export const aForkTakesFewBytes: Check = async (place) => {
  const { id, root } = await place.create({ input: 'x'.repeat(5_000_000) })
  expect(await place.sessions.forks.cut(id)).toEqual({ kind: 'too_large', worker: root })
}

export const aChildBornInACopyIsOfTheCopy: Check = async (place) => {
  const session = await place.create()
  const { root } = await forked(place, session, true)
  const node = place.node()
  await node.claim()
  const turn = await node.claim()
  expect([turn.worker, turn.assignment.isDryRun]).toEqual([root, true])
  const born = place.child(turn.worker, 1, 'born')
  await turn.record({ inputsConsumed: 1, spawns: [born], pendingCalls: [1] })
  expect(await place.redis.hget(place.workerKeys(born.id).record, 'copied')).toBe('dry')
}

export const aCopySendsNothingToItsOriginal: Check = async (place) => {
  const { session, node, child } = await live(place)
  const { root, order } = await forked(place, session)
  const turns = [await node.claim(), await node.claim({ slot: '1' })]
  expect(turns.map(({ worker }) => worker)).toContain(child.id)
  const second = turns.find(({ worker }) => worker === order.workers[1]?.id) as HandTurn
  const before = await place.redis.llen(place.workerKeys(session.root).inbox)
  await second.record({ sends: [{ workerId: session.root, mail: encodeInput(second.worker, '"to the root"') }] })
  expect(await place.redis.llen(place.workerKeys(session.root).inbox)).toBe(before)
  expect(await place.redis.lindex(place.workerKeys(root).inbox, -1)).toContain('to the root')
}
