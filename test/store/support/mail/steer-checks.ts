/** Like checks.ts, of inputs that steer a run in progress: who is steered, what a run takes before its turn, and what becomes of the rest. */
import { expect } from 'vitest'
import { encodeLimitedInput } from '../../../../src/core/worker/message/message.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'
import { sender } from './send-checks.ts'

/** A conversation whose root runs, with a run open. */
async function busy(place: Place) {
  const { id, root } = await place.create({ mode: 'conversation' })
  const node = place.node()
  const turn = await node.claim()
  await turn.record({ inputsConsumed: 1 })
  const field = (name: string) => place.redis.hget(place.workerKeys(root).record, name)
  const steer = (text: string) => place.post(root, text, undefined, 'steer')
  return { id, root, node, turn, field, steer }
}

export const aWorkerAtRestIsNotSteered: Check = async (place) => {
  const { turn, field, steer } = await busy(place)
  expect(await steer('a')).toMatchObject({ kind: 'ok', position: 1, steers: true })
  await turn.complete({ inputsConsumed: 0, steersTaken: [1] })
  expect(await steer('b')).toMatchObject({ kind: 'ok', position: 2, steers: false })
  expect(await field('steered')).toBe('')
}

export const aRunThatHasNotBegunIsNotInProgress: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation' })
  const field = (name: string) => place.redis.hget(place.workerKeys(root).record, name)
  expect(await place.post(root, 'queued', undefined, 'steer')).toMatchObject({ kind: 'ok', position: 1, steers: false })
  expect(await field('steered')).toBe('1')
  await place.node().claim()
  expect(await place.post(root, 'claimed', undefined, 'steer')).toMatchObject({ kind: 'ok', position: 2, steers: true })
  expect(await field('steered')).toBe('1 2')
}

export const aRunThatMustWaitIsNotInProgress: Check = async (place) => {
  const { root } = await place.create()
  const turn = await place.node().claim()
  const spawns = [1, 2].map((call) => place.child(root, call, `c${call}`))
  await turn.park('results:2', { spawns, pendingCalls: [1, 2], childrenAtOnce: 1 })
  const [, second] = spawns
  const steer = { kind: 'ok', position: 1, steers: false }
  expect(await place.post(second?.id ?? '', 'now', undefined, 'steer')).toMatchObject(steer)
}

export const aRestrictedInputSteersNoRun: Check = async (place) => {
  const { turn, other, root } = await sender(place, 'tools a b')
  await place.post(other.root, 'go')
  await (await place.node().claim()).record({ inputsConsumed: 1 })
  const sends = ['tools a', ''].map((permissions) => {
    return { workerId: other.root, mail: encodeLimitedInput(root, permissions, '1'), when: 'steer' as const }
  })
  expect(await turn.commit({ sends })).toMatchObject({ kind: 'ok' })
  expect(await place.redis.hget(place.workerKeys(other.root).record, 'steered')).toBe('3')
}

export const whatSteersARunEndsItsWait: Check = async (place) => {
  const { turn, field, steer } = await busy(place)
  await turn.park('signals', { inputsConsumed: 0, signalsOpen: 1 })
  await place.post(turn.worker, 'queued')
  expect(await field('status')).toBe('parked')
  await steer('now')
  expect(await field('status')).toBe('queued')
}

export const whatWasTakenIsNeverTheFirstInput: Check = async (place) => {
  const { root, turn, field, steer } = await busy(place)
  await place.post(root, 'queued')
  await steer('now')
  await turn.complete({ inputsConsumed: 0, steersTaken: [2] })
  expect(await place.redis.lrange(place.workerKeys(root).inbox, 0, -1)).toEqual(['i\t-\t"queued"', ''])
  await (await turn.node.claim()).complete()
  expect(await place.redis.llen(place.workerKeys(root).inbox)).toBe(0)
  expect([await field('status'), await field('inbox')]).toEqual(['idle', '3'])
}

/** One input waits; the others, which steered the run, were taken. */
export const whatWasTakenEarlyFillsNoMailbox: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation', limits: { mailbox: 3 } })
  const turn = await place.node().claim()
  await turn.record({ inputsConsumed: 1 })
  await place.post(root, 'queued')
  let number = 0
  const steer = () => place.post(root, `now ${number++}`, undefined, 'steer')
  await steer()
  await steer()
  expect(await steer()).toEqual({ kind: 'mailbox_full', most: 3 })
  await turn.record({ steersTaken: [2, 3] })
  const waiting = async () => (await place.inspect.workers([root])).map(({ pending }) => pending.inbox)
  expect(await waiting()).toEqual([1])
  expect([await steer(), await steer()]).toMatchObject([{ position: 4 }, { position: 5 }])
  expect(await steer()).toEqual({ kind: 'mailbox_full', most: 3 })
  expect(await waiting()).toEqual([3])
}

export const anInputSteersARunOnce: Check = async (place) => {
  const { turn, field, steer } = await busy(place)
  await steer('a')
  await place.post(turn.worker, 'b', undefined, 'interrupt')
  expect(await field('steered')).toBe('1 2!')
  await turn.record({ steersTaken: [1] })
  expect(await field('steered')).toBe('2!')
}

/** The first input is an order, say to write a summary: its turn ends without a run. */
export const whatIsToBeginARunDoesNotSteerIt: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation' })
  const turn = await place.node().claim()
  for (const text of ['a', 'b']) await place.post(root, text, undefined, 'steer')
  await turn.park('any', { inputsConsumed: 1, open: false })
  const { assignment } = await turn.node.claim()
  expect(assignment).toMatchObject({ mail: { inbox: [{ position: 1 }, {}] }, steered: [{ position: 2 }] })
}

/** A run may begin with several inputs, or be begun in the commit that records an order. */
export const whatHasBegunARunDoesNotSteerIt: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation' })
  const turn = await place.node().claim()
  for (const text of ['a', 'b']) await place.post(root, text, undefined, 'steer')
  expect(await turn.record({ inputsConsumed: 2 })).toMatchObject({ steered: [{ position: 2 }] })
}

export const whatSteeredAnEndedRunIsAnInput: Check = async (place) => {
  const { turn, field, steer } = await busy(place)
  for (const text of ['a', 'b']) await steer(text)
  await turn.complete({ inputsConsumed: 0 })
  expect([await field('steered'), await field('status')]).toEqual(['', 'queued'])
  const { assignment } = await turn.node.claim()
  expect(assignment.mail.inbox).toMatchObject([{ position: 1 }, { position: 2 }])
}

export const aTurnEndsOnlyWithWhatItHasSeen: Check = async (place) => {
  const { turn, field, steer } = await busy(place)
  await steer('a')
  await turn.park('signals', { inputsConsumed: 0, signalsOpen: 1 })
  expect(await field('status')).toBe('queued')
  const next = await turn.node.claim()
  await next.park('signals', { inputsConsumed: 0, signalsOpen: 1, steersUnseenFrom: 2 })
  expect(await field('status')).toBe('parked')
}

export const aCommitAnswersWhatSteers: Check = async (place) => {
  const { turn, steer } = await busy(place)
  await steer('a')
  expect(await turn.record({})).toMatchObject({ steered: [{ position: 1, when: 'steer' }] })
}

export const aRenewalAnswersWhatSteers: Check = async (place) => {
  const { turn, node, steer } = await busy(place)
  await steer('a')
  const { token } = turn.assignment
  const renewed = await node.turns.renew([{ workerId: turn.worker, token, wakeup: '', becomesBusy: false }])
  expect(renewed).toMatchObject({ verdicts: ['kept'] })
  expect(renewed.steered.get(0)).toEqual([{ position: 1, when: 'steer' }])
}

export const whatWasTakenQueuesNoCancelledWorker: Check = async (place) => {
  const { root, turn, node, field, steer } = await busy(place)
  await place.post(root, 'queued')
  await steer('now')
  await turn.complete({ inputsConsumed: 0, steersTaken: [2] })
  expect(await place.sessions.cancelWorker(root, 'run', 'enough')).toEqual({ kind: 'ok' })
  await node.upkeep.finishCancelled()
  expect([await field('status'), await field('inbox')]).toEqual(['idle', '3'])
  expect(await place.redis.llen(place.workerKeys(root).inbox)).toBe(0)
}

export const aStepCancelsChildren: Check = async (place) => {
  const { root, turn, node } = await busy(place)
  const child = place.child(root, 1, 'c1')
  await turn.record({ spawns: [child], pendingCalls: [1] })
  await turn.record({ cancels: [child.id], pendingCalls: [1] })
  await node.upkeep.finishCancelled()
  expect(await place.redis.hget(place.workerKeys(child.id).record, 'status')).toBe('terminal')
  expect(await place.redis.llen(place.workerKeys(root).results)).toBe(1)
  expect(await turn.record({})).toMatchObject({ kind: 'ok' })
}
