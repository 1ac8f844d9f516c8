/** What a session says of approvals, told by scripts; a mutant of each guard fails here. */
import { expect } from 'vitest'
import { defaultApproval, type SessionApproval } from '../../../../src/core/worker/ask/session-approval.ts'
import type { Check } from '../turn/checks.ts'

export const approvalEvent = '[["session.approvalChanged",{"policy":"auto"}]]'
const unknown = '01890a5d-ac96-774b-bcce-b302099a8000'

const saying = (more: Partial<SessionApproval>) => ({ kind: 'ok', approval: { ...defaultApproval, ...more } })

export const aSessionSaysWhoIsTrusted: Check = async (place) => {
  const { id } = await place.create({ approval: 'manual deny 500' })
  const set = (change: Parameters<typeof place.sessions.setApproval>[1]) =>
    place.sessions.setApproval(id, change, approvalEvent)
  const more = { whenNobodyAnswers: 'deny', approvalMs: 500 } as const
  expect(await set({ tool: 'pay' })).toEqual(saying({ ...more, trusted: ['pay'] }))
  expect(await set({ tool: 'mail' })).toEqual(saying({ ...more, trusted: ['pay', 'mail'] }))
  expect(await set({ tool: 'pay' })).toEqual(saying({ ...more, trusted: ['pay', 'mail'] }))
  expect(await set({ policy: 'readOnly' })).toEqual(saying({ ...more, policy: 'readOnly' }))
  expect(await set({ tool: 'pa' })).toEqual(saying({ ...more, policy: 'readOnly', trusted: ['pa'] }))
}

export const trustThatIsSentAgainUndoesNoPolicy: Check = async (place) => {
  const { id } = await place.create()
  await place.sessions.setApproval(id, { tool: 'pay' }, approvalEvent)
  const sent = place.wire.last
  await place.sessions.setApproval(id, { policy: 'manual' }, approvalEvent)
  const changed = await place.changed(async () => expect(await place.wire.again(sent)).toEqual(['ok', 'manual wait 0']))
  expect(changed).toEqual({})
}

export const approvalsOfNoSessionAreNotSet: Check = async (place) => {
  const set = (id: string) => place.sessions.setApproval(id, { policy: 'auto' }, approvalEvent)
  expect(await place.changed(() => set(unknown))).toEqual({})
  expect(await set(unknown)).toEqual({ kind: 'not_found' })
}

export const aClaimAnswersWhatTheSessionSays: Check = async (place) => {
  const { root } = await place.create({ approval: 'readOnly wait 0' })
  const node = place.node()
  const turn = await node.claim()
  const policy = 'readOnly'
  expect(turn.assignment.approval).toEqual({ ...defaultApproval, policy })
  await turn.park('results:1', { inputsConsumed: 1, spawns: [place.child(root, 1, 'c')], pendingCalls: [1] })
  const child = await node.claim()
  expect(child.worker).not.toBe(root)
  expect(child.assignment.approval).toEqual({ ...defaultApproval, policy })
}

export const aCommitAnswersWhatTheSessionSays: Check = async (place) => {
  const { id } = await place.create()
  const turn = await place.node().claim()
  expect(await turn.record({ entries: ['{}'] })).toMatchObject({ approval: defaultApproval })
  await place.sessions.setApproval(id, { policy: 'readOnly' }, approvalEvent)
  expect(await turn.record({ entries: ['{}'] })).toMatchObject({ approval: { policy: 'readOnly' } })
}

export const aCommitThatIsSentAgainAnswersWhatTheSessionSays: Check = async (place) => {
  await place.create({ approval: 'readOnly wait 0' })
  const turn = await place.node().claim()
  const request = turn.request({ entries: ['{}'] })
  const answers = [await turn.node.turns.commit(request), await turn.node.turns.commit(request)]
  expect(answers[1]).toEqual(answers[0])
  expect(answers[1]).toMatchObject({ kind: 'ok', approval: { policy: 'readOnly' } })
}
