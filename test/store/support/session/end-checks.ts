/** Like checks.ts, of the index of ends: whatever begins, ends or revives a session moves it there. */
import { expect } from 'vitest'
import { newCreator } from '../../../../src/core/ids.ts'
import { sessionChannels } from '../../../../src/store/keys.ts'
import { together } from '../calls/batch-calls.ts'
import { completion } from '../hand-node.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'
import { live, written } from './fork-checks.ts'
import { failed } from './retry-checks.ts'

/** As the index of ends has it: 'ended', 'goes on', or null. */
async function standing(place: Place, session: string): Promise<string | null> {
  const score = await place.redis.zscore(place.keys.ends, session)
  return score === null ? null : Number(score) < 0 ? 'goes on' : 'ended'
}

/** A session whose root waits for a child that is queued. */
async function waiting(place: Place) {
  const session = await place.create()
  const turn = await place.node().claim()
  await turn.park('results:1', { spawns: [place.child(turn.worker, 1, 'c1')], pendingCalls: [1] })
  return session
}

export const aCreatedSessionGoesOn: Check = async (place) => {
  const [one, other] = [await place.create(), await place.create()]
  for (const { id } of [one, other]) expect(await standing(place, id)).toBe('goes on')
}

export const aCopyGoesOn: Check = async (place) => {
  const { session } = await live(place)
  const copy = await written(place, session)
  await place.sessions.forks.appear(copy.order)
  expect(await standing(place, copy.id)).toBe('goes on')
}

export const aSessionThatCompletesHasEnded: Check = async (place) => {
  const { id } = await place.create()
  await (await place.node().claim()).complete()
  expect(await standing(place, id)).toBe('ended')
}

/** What those are told who listen, as `act` does, for the ends of sessions, or for those that one client created. */
async function toldOfEnds(
  place: Place,
  act: (listen: (session: string, to?: 'ends' | 'created') => Promise<void>) => Promise<void>,
) {
  const told: { readonly session: string | undefined; readonly notes: string | undefined }[] = []
  const listener = place.redis.duplicate()
  for (const name of ['smessage', 'message'])
    listener.on(name, (_channel: string, message: string) => {
      const lines = message.split('\n').slice(1)
      while (lines.length > 0) {
        const [, session, notes] = lines.splice(0, 3)
        told.push({ session, notes })
      }
    })
  try {
    await act(async (session, to = 'ends') => {
      const channel = sessionChannels(place.keys.tag, session)[to]
      // Redis before 7.0 has no sharded channels.
      await listener.ssubscribe(channel).catch(() => listener.subscribe(channel))
    })
    // What was published before has arrived.
    await listener.ping()
  } finally {
    listener.disconnect()
  }
  return told
}

export const whoWaitsForAnEndIsToldOfItAlone: Check = async (place) => {
  const others = ['run.started', 'model.replied', 'tool.succeeded'].map((type) => `[["${type}"]]`)
  const ends = ['run.completed', 'worker.failed', 'worker.cancelled', 'session.retried'].map((type) => `[["${type}"]]`)
  const { id } = await place.create()
  const told = await toldOfEnds(place, async (listen) => {
    await listen(id)
    const turn = await place.node().claim()
    for (const event of [...others, ...ends]) await turn.record({ event })
    await turn.complete()
    // The end of a child is no end of its session.
    await listen((await waiting(place)).id)
    await (await place.node().claim()).complete()
  })
  const last = expect.stringContaining('["session.completed"')
  expect(told).toEqual([...ends, last].map((notes) => ({ session: id, notes })))
}

export const aClientIsToldOfTheEndsOfItsJobs: Check = async (place) => {
  const creator = newCreator()
  const [one, other] = [await place.create({ creator }), await place.create({ creator })]
  await place.create()
  const told = await toldOfEnds(place, async (listen) => {
    await listen(one.id, 'created')
    const node = place.node()
    const turns = [await node.claim(), await node.claim({ slot: '1' })]
    const requests = turns.map((turn) => turn.request({ event: '[["run.completed"]]' }))
    await together(node, requests)
    await (await node.claim({ slot: '2' })).record({ event: '[["run.completed"]]' })
  })
  expect(told).toEqual([one, other].map(({ id }) => ({ session: id, notes: '[["run.completed"]]' })))
}

export const whoWaitsForARunThatASweepEndsIsToldOfIt: Check = async (place) => {
  const { id, root } = await place.create({ mode: 'conversation' })
  const turn = await place.node().claim()
  await turn.park('signals', { signalsOpen: 1, timers: [{ id: 't1', ms: 600_000, valueJson: '1' }] })
  const told = await toldOfEnds(place, async (listen) => {
    await listen(id)
    await place.sessions.cancelWorker(root, 'run', 'enough')
    await turn.node.upkeep.finishCancelled()
  })
  expect(told).toEqual([{ session: id, notes: '[["worker.cancelled"]]' }])
}

export const aClosedSessionHasEnded: Check = async (place) => {
  const { id } = await place.create({ mode: 'conversation' })
  await (await place.node().claim()).complete()
  expect(await standing(place, id)).toBe('goes on')
  await place.sessions.close(id)
  expect(await standing(place, id)).toBe('ended')
}

export const aSessionSaysWhoClosedItFirst: Check = async (place) => {
  const { id, root } = await place.create({ mode: 'conversation' })
  const closedBy = async (by: string) => {
    await place.sessions.close(id, { by })
    return JSON.parse((await place.redis.hget(place.workerKeys(root).record, 'closed')) ?? '{}').by
  }
  expect(await closedBy('ada')).toBe('ada')
  expect(await closedBy('bob')).toBe('ada')
}

export const aRetriedSessionGoesOn: Check = async (place) => {
  const { id, fail, retry } = await failed(place)
  await fail()
  expect(await standing(place, id)).toBe('ended')
  await retry()
  expect(await standing(place, id)).toBe('goes on')
}

export const aCancelledSessionHasEnded: Check = async (place) => {
  const { id } = await waiting(place)
  await place.sessions.cancel(id, 'enough')
  expect(await standing(place, id)).toBe('goes on')
  await place.node().upkeep.finishCancelled()
  expect(await standing(place, id)).toBe('ended')
}

export const aJobWhoseRunIsCancelledHasEnded: Check = async (place) => {
  const { id, root } = await waiting(place)
  await place.sessions.cancelWorker(root, 'run', 'enough')
  await place.node().upkeep.finishCancelled()
  expect(await standing(place, id)).toBe('ended')
}

export const aPrunedSessionHasNoEnd: Check = async (place) => {
  const { id } = await place.create()
  await (await place.node().claim()).complete()
  expect(await place.sessions.prune(0)).toBe(1)
  expect(await standing(place, id)).toBeNull()
}

export const aDamagedIndexOfEndsTearsNoCommit: Check = async (place) => {
  await place.create()
  const turn = await place.node().claim()
  await place.redis.del(place.keys.ends)
  await place.redis.set(place.keys.ends, 'x')
  const changed = await place.changed(() => turn.commit({ ...completion, inputsConsumed: 1 }).catch(() => null))
  expect(changed).toEqual({})
}
