/** Like checks.ts, of messages to workers of other partitions. */
import { expect } from 'vitest'
import { newId, rootIdOf } from '../../../../src/core/ids.ts'
import { encodeInput } from '../../../../src/core/worker/message/message.ts'
import { outboxKeys } from '../../../../src/store/keys.ts'
import { deliveredScript, deliverScript } from '../../../../src/store/script/scripts.ts'
import { newSeed } from '../../../../src/store/wakeups.ts'
import type { HandTurn } from '../hand-node.ts'
import { sender } from '../mail/send-checks.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

const elsewhere = 5

export function sendOut(turn: HandTurn, count = 1) {
  const workerId = '01890a5d-ac96-874b-bcce-b302099a8005'
  return turn.commit({
    sends: Array.from({ length: count }, () => ({ workerId, mail: encodeInput(turn.worker, '1') })),
  })
}

export const outboxOf = (place: Place) => outboxKeys(place.keys.tag).out(String(elsewhere))

/** Mails that come from that partition, under these numbers. */
export function deliver(place: Place, mails: readonly (readonly [number: number, worker: string])[]) {
  const args = {
    from: String(elsewhere),
    seed: newSeed(),
    wakeupMs: 1_000,
    mails: mails.map(([number, worker]) => ({ number, worker, when: '' })),
    texts: mails.map(([number]) => encodeInput(null, String(number))),
  }
  return place.caller.call(deliverScript, { received: outboxKeys(place.keys.tag).received }, args, {
    deadlineMs: 2_000,
  })
}

export async function takeOut(place: Place, last: number, refused: readonly { number: number; about: string }[] = []) {
  const args = {
    numbers: await numbers(place),
    last,
    refused,
    notes: refused.map(() => '[["message.undelivered",{}]]'),
  }
  const keys = { out: outboxOf(place), events: place.keys.events }
  return place.caller.call(deliveredScript, keys, args, { deadlineMs: 2_000 })
}

async function inbox(place: Place, worker: string): Promise<number[]> {
  const mails = await place.redis.lrange(place.workerKeys(worker).inbox, 0, -1)
  return mails.map((mail) => Number(mail.split('\t').at(-1)))
}

export async function numbers(place: Place): Promise<number[]> {
  return (await place.redis.lrange(outboxOf(place), 0, -1)).map((line) => Number(line.split('\t')[0]))
}

export const whatAnotherPartitionIsToGetGoesToIt: Check = async (place) => {
  const { turn } = await sender(place)
  expect(await sendOut(turn, 3)).toMatchObject({ kind: 'ok' })
  const sent = await numbers(place)
  expect(sent).toHaveLength(3)
  expect(sent).toEqual([...new Set(sent)].toSorted((a, b) => a - b))
}

export const anOutboxHasALimit: Check = async (place) => {
  const { turn } = await sender(place)
  await place.redis.rpush(outboxOf(place), ...Array.from({ length: 9_999 }, (_, number) => `${number}\t`))
  expect(await sendOut(turn, 2)).toMatchObject({ kind: 'refused', refusals: [{ reason: 'mailbox_full' }] })
  expect(await sendOut(turn)).toMatchObject({ kind: 'ok' })
}

/** Where it came from has lost a little of its past, and counts again: its clock does not. */
export const aMailIsReceivedOnce: Check = async (place) => {
  const { root } = await place.create({ rests: true, mode: 'conversation' })
  await deliver(place, [
    [7, root],
    [8, root],
  ])
  const [last] = await deliver(place, [
    [7, root],
    [8, root],
    [12, root],
  ])
  expect(last).toBe('12')
  expect(await inbox(place, root)).toEqual([7, 8, 12])
}

export const aDamagedRecipientHoldsUpNoOther: Check = async (place) => {
  const [damaged, fine] = [await place.create({ label: 'a' }), await place.create({ label: 'b' })]
  await place.redis.set(place.workerKeys(damaged.root).inbox, 'x')
  const answer = await deliver(place, [
    [1, damaged.root],
    [2, rootIdOf(newId(0))],
    [3, fine.root],
  ]).catch((error: unknown) => ({ error }))
  expect(answer).toMatchObject({ 0: '3', 2: ['1', 'damaged', '2', 'not_found'] })
}

const nobody = rootIdOf(newId(0))

/** The node that brought a mail may not be the one that takes it out: it died, its answer was lost, or two bring the same mails. */
export const aRefusedMailIsAnsweredUntilItIsToldOf: Check = async (place) => {
  const { root } = await place.create({ rests: true, mode: 'conversation' })
  const bring = () =>
    deliver(place, [
      [1, nobody],
      [2, root],
      [3, nobody],
    ])
  const answer = ['3', '', ['1', 'not_found', '3', 'not_found']]
  expect([(await bring()).toSpliced(1, 1, ''), await bring()]).toEqual([answer, answer])
}

export const whatWasToldOfIsForgotten: Check = async (place) => {
  for (const number of [1, 2, 3]) await deliver(place, [[number, nobody]])
  expect(await place.redis.hgetall(outboxKeys(place.keys.tag).received)).toEqual({ 5: '3', '5 refused': '3 not_found' })
}

export const aMailStaysUntilItWasReceived: Check = async (place) => {
  const { turn } = await sender(place)
  await sendOut(turn, 3)
  const [first = 0, second = 0, third = 0] = await numbers(place)
  expect(await takeOut(place, second)).toEqual(['2'])
  expect(await numbers(place)).toEqual([third])
  expect(await takeOut(place, first)).toEqual(['0'])
}

export const whatWasNotTakenIsToldOfOnce: Check = async (place) => {
  const { turn, root } = await sender(place)
  await sendOut(turn)
  const [number = 0] = await numbers(place)
  const before = await place.redis.xlen(place.keys.events)
  for (let time = 0; time < 2; time++) await takeOut(place, number, [{ number, about: root }])
  expect(await place.redis.xlen(place.keys.events)).toBe(before + 1)
}
