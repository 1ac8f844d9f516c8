/** How the approvals of calls stand, as a history says. */
import { expect, test } from 'vitest'
import { chat } from '../../../../src/core/history/chat/message-factories.ts'
import { decodeEntry, type Entry, entryJson } from '../../../../src/core/history/entry.ts'
import { approvalsOf } from '../../../../src/core/history/run/call-approvals.ts'

const entry = (run: number, type: Entry['type'], facts: object) =>
  decodeEntry(entryJson(type, run, 2, 5, facts as Record<string, unknown>))

const reply = (run: number) => {
  const content = [{ type: 'tool-call', toolCallId: 'pay', toolName: 'pay', input: {} }] as const
  return entry(run, 'assistant', { ...chat.assistant(content, { id: `r${run}` }), type: undefined, at: undefined })
}

const result = (run: number, approval?: 'denied') =>
  entry(run, 'toolResult', {
    id: `t${run}`,
    toolCallId: 'pay',
    toolName: 'pay',
    status: approval ? 'error' : 'ok',
    output: { type: 'text', value: 'x' },
    ...(approval && { approval }),
  })

test('a call that uses the id of an undone call does not inherit the decision about that call', () => {
  const denied = [
    reply(1),
    entry(1, 'asked', { toolCallId: 'pay', asks: [{ id: 'a1', sort: 'approval', question: 'May it?' }] }),
    result(1, 'denied'),
  ]
  expect(approvalsOf(denied).get('pay')).toMatchObject({ status: 'denied', askId: 'a1' })
  const again = [...denied, entry(1, 'undone', { from: 0 }), reply(2)]
  expect(approvalsOf([...again, result(2)]).has('pay')).toBe(false)
  const asked = entry(2, 'asked', { toolCallId: 'pay', asks: [{ id: 'a2', sort: 'approval', question: 'May it?' }] })
  expect(approvalsOf([...again, asked]).get('pay')).toEqual({ status: 'pending', askId: 'a2', asks: 1 })
})

test('the first answer to an ask decides about its call, and a later one changes nothing (CALL-APPROVALS-1)', () => {
  const asked = entry(1, 'asked', { toolCallId: 'pay', asks: [{ id: 'a1', sort: 'approval', question: 'May it?' }] })
  const answer = (status: string, decision: string) => {
    const value = status === 'expired' ? 'deny' : { decision, hash: 'h' }
    return entry(1, 'received', {
      message: { kind: 'answer', id: 'a1', from: null, status, value, by: 'ann', reason: null },
    })
  }
  const approve = answer('answered', 'approve')
  expect(approvalsOf([reply(1), asked, approve]).get('pay')).toMatchObject({ status: 'approved', hash: 'h' })
  for (const first of [answer('answered', 'deny'), answer('expired', '')])
    expect(approvalsOf([reply(1), asked, first, approve]).get('pay')).toMatchObject({ status: 'denied' })
  expect(approvalsOf([reply(1), asked, approve, answer('answered', 'deny')]).get('pay')?.status).toBe('approved')
})
