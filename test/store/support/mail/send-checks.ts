/** Like checks.ts, of messages between workers: how far a worker sends, and what a run may use that such a message began. */
import { expect } from 'vitest'
import { encodeInput, encodeLimitedInput } from '../../../../src/core/worker/message/message.ts'
import type { SendReach } from '../../../../src/core/worker/permissions.ts'
import type { HandTurn } from '../hand-node.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

/** A root with these permissions that runs, beside the root of another session. */
export async function sender(place: Place, permissions = '') {
  const other = await place.create({ label: 'other', mode: 'conversation' })
  const node = place.node()
  await (await node.claim()).complete()
  const { root } = await place.create({ label: 'one', permissions, mode: 'conversation' })
  return { root, other, node, turn: await node.claim() }
}

/** The answer to a message to this worker: `ok`, or the reason of the refusal. */
export async function sent(turn: HandTurn, workerId: string, reach?: SendReach): Promise<string> {
  const answer = await turn.commit({ sends: [{ workerId, mail: encodeInput(turn.worker, '1'), reach }] })
  return answer.kind === 'refused' ? (answer.refusals[0]?.reason ?? '') : answer.kind
}

/** Each of six mailboxes is full, but for an input that a run took early. */
export const aStepLooksForRoomInFewLargeMailboxes: Check = async (place) => {
  const most = 10_000
  const ids: string[] = []
  for (let count = 0; count < 6; count++) {
    const { root } = await place.create({ rests: true, mode: 'conversation', limits: { mailbox: most } })
    const inputs = Array.from({ length: most }, (_, index) => (index === 7 ? '' : 'i'))
    await place.redis.rpush(place.workerKeys(root).inbox, ...inputs)
    ids.push(root)
  }
  const { root } = await place.create()
  const turn = await place.node().claim()
  const sends = ids.map((workerId) => ({ workerId, mail: encodeInput(root, '1') }))
  const answer = await turn.commit({ sends })
  expect(answer.kind === 'refused' && answer.refusals.map(({ reason }) => reason)).toEqual(['mailbox_full'])
  expect(await turn.commit({ sends: sends.slice(0, 5) })).toMatchObject({ kind: 'ok' })
}

export const anAgentSendsWithinItsSession: Check = async (place) => {
  const { turn, other } = await sender(place)
  expect(await sent(turn, other.root, 'session')).toBe('send_exceeded')
  expect(await sent(turn, other.root)).toBe('ok')
}

export const aWorkerSendsAsFarAsItMay: Check = async (place) => {
  const { turn, other } = await sender(place, 'send session')
  expect(await sent(turn, other.root)).toBe('send_exceeded')
}

export const aSilentWorkerSendsNothingToANewChild: Check = async (place) => {
  const { turn, root } = await sender(place, 'send none')
  const child = place.child(root, 1, 'child', { permissions: 'send none' })
  const sends = [{ workerId: child.id, mail: encodeInput(root, '1') }]
  expect(await turn.commit({ spawns: [child], sends, pendingCalls: [1] })).toEqual({
    kind: 'refused',
    refusals: [{ reason: 'send_exceeded', id: child.id }],
  })
}

export const aChildSendsNoFurtherThanItsParent: Check = async (place) => {
  const { turn, root } = await sender(place, 'send family')
  const child = place.child(root, 1, 'child', { permissions: 'send session' })
  expect(await turn.commit({ spawns: [child], pendingCalls: [1] })).toMatchObject({ kind: 'refused' })
}

/** The other worker has these inputs: from a worker with permissions, where there are any, else from outside. */
async function receiver(place: Place, ...senders: readonly string[]) {
  const { turn, other, node, root } = await sender(place, 'tools a b')
  for (const permissions of senders) {
    const mail = encodeLimitedInput(root, permissions, '1')
    expect(await turn.commit({ sends: [{ workerId: other.root, mail }] })).toMatchObject({ kind: 'ok' })
  }
  await turn.complete()
  return { other, node, next: await node.claim() }
}

export const aRunHasNoMoreThanItsSender: Check = async (place) => {
  const { next } = await receiver(place, 'tools a\nfolder /d', '')
  expect(next.assignment.permissions).toMatchObject({ tools: ['a'], folder: '/d' })
  expect(next.assignment.mail.inbox).toHaveLength(1)
}

export const aRestrictedInputHasATurnOfItsOwn: Check = async (place) => {
  const { next } = await receiver(place, '', '', 'tools a')
  expect(next.assignment.permissions).toEqual({})
  expect(next.assignment.mail.inbox).toHaveLength(2)
}

export const aRestrictedRunGivesNoMore: Check = async (place) => {
  const { next, other } = await receiver(place, 'tools a')
  const spawn = (permissions: string) => ({
    spawns: [place.child(other.root, 1, 'child', { run: 2, permissions })],
    pendingCalls: [1],
  })
  expect(await next.commit(spawn('tools a b'))).toMatchObject({ kind: 'refused' })
  expect(await next.commit(spawn('tools a'))).toMatchObject({ kind: 'ok' })
}

export const theNextRunIsFreeAgain: Check = async (place) => {
  const { next, node, other } = await receiver(place, 'tools a', '')
  await next.complete()
  const free = await node.claim()
  expect(free.assignment.permissions).toEqual({})
  const child = place.child(other.root, 1, 'child', { run: 3, permissions: 'tools a b' })
  expect(await free.commit({ spawns: [child], pendingCalls: [1] })).toMatchObject({ kind: 'ok' })
}
