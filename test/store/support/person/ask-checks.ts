/** What must hold of asks; each fails where its guard is missing. */
import { expect } from 'vitest'
import { askId } from '../../../../src/core/ids.ts'
import type { AskOrder } from '../../../../src/core/ports/ports.ts'
import { encodeAnswer, encodeAskBody } from '../../../../src/core/worker/ask/ask.ts'
import { askKey, sessionKeys, workerKeys } from '../../../../src/store/keys.ts'
import type { AnswerAnswer } from '../../../../src/store/session/session-store.ts'
import { pruneOnce, pruneStart } from '../../../../src/store/upkeep-store.ts'
import type { HandTurn } from '../hand-node.ts'
import type { MadeSession, Place } from '../place.ts'

export interface Asked {
  readonly session: MadeSession
  readonly turn: HandTurn
  readonly id: string
  readonly answer: (value: string, key?: string) => Promise<AnswerAnswer>
  readonly mails: () => Promise<string[]>
}

const expired = encodeAnswer('"nobody"', { status: 'expired', by: null, reason: null })

/** A conversation whose run has asked once, and is parked unless its turn goes on. `ms`: until the ask expires. */
export async function ask(place: Place, ms?: number, parks = true): Promise<Asked> {
  const session = await place.create({ mode: 'conversation' })
  const turn = await place.node().claim()
  const id = place.label(askId(turn.worker, 1, 'inbox-0', 1), 'ask')
  const order: AskOrder = { id, sort: 'question', body: encodeAskBody({ question: 'May I?' }) }
  const asks = [ms === undefined ? order : { ...order, expiry: { ms, answer: expired } }]
  if (parks) await turn.park('signals', { inputsConsumed: 1, asks, signalsOpen: 1 })
  else await turn.record({ inputsConsumed: 1, asks, signalsOpen: 1 })
  return {
    session,
    turn,
    id,
    answer: (value, key = value) => {
      const answerJson = encodeAnswer(JSON.stringify(value), { status: 'answered', by: 'ada', reason: null })
      return place.sessions.answer(id, {
        answerJson,
        by: 'ada',
        keyDigest: key,
        event: `[["ask.answered",{"id":"${id}"}]]`,
      })
    },
    mails: () => place.redis.lrange(workerKeys(place.keys.tag, turn.worker).signals, 0, -1),
  }
}

export async function anEndedAskIsNowhere(place: Place): Promise<void> {
  const { turn, id, answer } = await ask(place, 600_000)
  expect(await answer('yes')).toMatchObject({ kind: 'ok' })
  expect({
    inbox: await place.redis.zrange(place.keys.asks, 0, '-1'),
    timers: await place.redis.zrange(place.keys.timers, 0, '-1'),
    open: await place.redis.smembers(workerKeys(place.keys.tag, turn.worker).asks),
  }).toEqual({ inbox: [], timers: [], open: [] })
  expect(await place.redis.hget(askKey(place.keys.tag, id), 'state')).toBe('answered')
}

export async function theEndOfARunWithdrawsItsAsks(place: Place): Promise<void> {
  const { session, answer, id } = await ask(place)
  await place.sessions.cancel(session.id, 'why')
  await place.node().upkeep.finishCancelled()
  expect(await place.redis.hget(askKey(place.keys.tag, id), 'state')).toBe('withdrawn')
  expect(await place.redis.zcard(place.keys.asks)).toBe(0)
  expect(await answer('yes')).toMatchObject({ kind: 'withdrawn' })
}

export async function aCancelledRunTakesNoAnswer(place: Place): Promise<void> {
  const { session, answer, mails } = await ask(place)
  await place.sessions.cancel(session.id, 'why')
  expect(await answer('yes')).toMatchObject({ kind: 'withdrawn' })
  expect(await mails()).toEqual([])
}

export async function anAnswerThatIsSentAgainIsOne(place: Place): Promise<void> {
  const { answer, mails } = await ask(place)
  const first = await answer('yes', 'key')
  expect(first).toMatchObject({ kind: 'ok' })
  expect(await answer('yes', 'key')).toEqual({ ...first, kind: 'again' })
  expect(await mails()).toHaveLength(1)
}

export async function aKeyOfAnotherAnswerSaysSo(place: Place): Promise<void> {
  const { answer } = await ask(place)
  await answer('yes', 'key')
  expect(await answer('no', 'key')).toEqual({ kind: 'other' })
}

export async function anAskIsAnsweredOnce(place: Place): Promise<void> {
  const { answer, mails } = await ask(place)
  await answer('yes')
  expect(await answer('no')).toMatchObject({ kind: 'answered', by: 'ada' })
  expect(await mails()).toHaveLength(1)
}

export async function anExpiredAskTakesNoAnswer(place: Place): Promise<void> {
  const { answer, mails, id } = await ask(place, 0)
  await place.node().upkeep.fire()
  expect(await mails()).toEqual([`o\t${id}\t${expired}`])
  expect(await answer('yes')).toMatchObject({ kind: 'expired' })
  expect(await mails()).toHaveLength(1)
}

export async function anAnsweredAskDoesNotExpire(place: Place): Promise<void> {
  const { answer, mails, id, turn } = await ask(place, 600_000)
  await answer('yes')
  // Leaves Redis as a fail-over does that lost the removal of the timer alone.
  await place.redis.zadd(place.keys.timers, 1, `${turn.worker}:ask:${id}`)
  await place.node().upkeep.fire()
  expect(await mails()).toHaveLength(1)
}

async function cancelled(place: Place, sessionId: string): Promise<void> {
  await place.sessions.cancel(sessionId, 'why')
  const node = place.node()
  await node.upkeep.finishCancelled()
  await node.upkeep.finishCancelled()
}

export async function asksGoWithTheirSession(place: Place): Promise<void> {
  const { session, id } = await ask(place)
  await cancelled(place, session.id)
  expect(await place.sessions.prune(0)).toBe(1)
  expect(await place.redis.exists(askKey(place.keys.tag, id), sessionKeys(place.keys.tag, session.id).asks)).toBe(0)
}

export async function aThousandAsksGoAtOnce(place: Place): Promise<void> {
  const { session } = await ask(place)
  await cancelled(place, session.id)
  const { asks } = sessionKeys(place.keys.tag, session.id)
  await place.redis.zadd(asks, ...Array.from({ length: 1_500 }, (_, index) => [1, `a${index}`]).flat())
  expect(await pruneOnce(place.caller, place.keys, place.policy, 0, pruneStart)).toMatchObject({ pruned: 0 })
  expect(await place.redis.zcard(asks)).toBe(501)
  expect(await place.sessions.prune(0)).toBe(1)
  expect(await place.redis.exists(asks, workerKeys(place.keys.tag, session.root).record)).toBe(0)
}

export async function asksThatCannotBeReadKeepTheirSession(place: Place): Promise<void> {
  const { session, turn } = await ask(place)
  await place.sessions.cancel(session.id, 'why')
  const node = place.node()
  await node.upkeep.finishCancelled()
  await node.upkeep.finishCancelled()
  await place.redis.set(sessionKeys(place.keys.tag, session.id).asks, 'another program wrote this')
  const pruned: unknown = await place.sessions.prune(0).catch((error: unknown) => String(error))
  expect(pruned).toBe(0)
  expect(await place.redis.exists(workerKeys(place.keys.tag, turn.worker).record)).toBe(1)
}

export async function aStepWithdrawsAnAsk(place: Place): Promise<void> {
  const { turn, id, answer } = await ask(place, 600_000, false)
  expect(await turn.commit({ withdraws: [id] })).toMatchObject({ kind: 'ok' })
  expect({
    inbox: await place.redis.zrange(place.keys.asks, 0, '-1'),
    timers: await place.redis.zrange(place.keys.timers, 0, '-1'),
    open: await place.redis.smembers(workerKeys(place.keys.tag, turn.worker).asks),
  }).toEqual({ inbox: [], timers: [], open: [] })
  expect(await place.redis.hget(askKey(place.keys.tag, id), 'state')).toBe('withdrawn')
  expect(await answer('yes')).toMatchObject({ kind: 'withdrawn' })
}

export async function anAnsweredAskIsNotWithdrawn(place: Place): Promise<void> {
  const { turn, id, answer, mails } = await ask(place, undefined, false)
  await answer('yes')
  const refusals = [{ reason: 'ask_ended', id }]
  const changed = await place.changed(async () =>
    expect(await turn.commit({ withdraws: [id] })).toEqual({ kind: 'refused', refusals }),
  )
  expect(changed).toEqual({})
  expect(await mails()).toHaveLength(1)
}
