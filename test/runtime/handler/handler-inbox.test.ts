/** Which message a handler receives next, and what it waits for when there is none. */
import { describe, expect, test } from 'vitest'
import { childId, newId } from '../../../src/core/ids.ts'
import type { Mail } from '../../../src/core/worker/message/message.ts'
import { forAny, forResult, forResults, forSignal } from '../../../src/core/worker/wait.ts'
import { HandlerInbox, type OpenWork } from '../../../src/runtime/handler/handler-inbox.ts'

const workerId = newId(0)
const head = { id: newId(0), from: null, value: null } as const
const input = (position: number): Mail => ({ lane: 'inbox', position, message: { ...head, kind: 'input' } })
const timer = (position: number): Mail => ({ lane: 'signals', position, message: { ...head, kind: 'timer' } })
const result = (call: number, position: number): Mail => ({
  lane: 'results',
  position,
  message: { ...head, kind: 'result', from: 'x', call, name: 'x', workerKind: 'x', status: 'completed', failure: null },
})

const between: OpenWork = { open: false, run: 1, pendingCalls: [] }
const waiting = (...pendingCalls: number[]): OpenWork => ({ open: true, run: 1, pendingCalls })

function inboxOf({
  await: awaits,
  resultsSeen = 0,
  ...mail
}: Partial<Record<'signals' | 'results' | 'inbox', Mail[]>> & Options) {
  return new HandlerInbox({ workerId, resultsSeen, mail: { signals: [], results: [], inbox: [], ...mail } }, awaits)
}
interface Options {
  readonly await?: 'each' | 'all'
  readonly resultsSeen?: number
}

describe('next', () => {
  test('a run receives timers first, then results in the order of the spawns, and no input (HANDLER-INBOX-1)', () => {
    const [tick, tock, one, two] = [timer(0), timer(1), result(1, 1), result(2, 0)]
    const inbox = inboxOf({ signals: [tick, tock], results: [two, one], inbox: [input(0)] })
    expect(inbox.next(waiting(1, 2))).toBe(tick)
    expect(inbox.next(waiting(1, 2))).toBe(tick)
    inbox.take(tick)
    expect(inbox.next(waiting(1, 2))).toBe(tock)
    inbox.take(tock)
    expect(inbox.next(waiting(1, 2))).toBe(one)
    inbox.take(one)
    expect(inbox.next(waiting(2))).toBe(two)
    inbox.take(two)
    expect(inbox.next(waiting())).toBeNull()
  })

  test('a run receives no result before the result of an earlier spawn (HANDLER-INBOX-1)', () => {
    expect(inboxOf({ results: [result(2, 0)] }).next(waiting(1, 2))).toBeNull()
  })

  test('a worker between runs receives the oldest input, and nothing else (HANDLER-INBOX-2)', () => {
    const [first, second] = [input(3), input(4)]
    const inbox = inboxOf({ signals: [timer(0)], results: [result(1, 0)], inbox: [first, second] })
    expect(inbox.next(between)).toBe(first)
    inbox.take(first)
    expect(inbox.next(between)).toBe(second)
    inbox.take(second)
    expect(inbox.next(between)).toBeNull()
  })

  test('a run receives no timer or result of the run before', () => {
    const inbox = inboxOf({ signals: [timer(0)], results: [result(1, 0)], inbox: [input(1)] })
    inbox.dropRun()
    expect(inbox.next(waiting(1))).toBeNull()
    expect(inbox.next(between)).toMatchObject({ lane: 'inbox', position: 1 })
  })
})

describe('wait', () => {
  const results = [result(2, 0)]

  test('a wait names the message that would be next (HANDLER-INBOX-3)', () => {
    expect(inboxOf({}).wait(between)).toEqual(forAny)
    expect(inboxOf({}).wait(waiting())).toEqual(forSignal)
    expect(inboxOf({ resultsSeen: 5 }).wait(waiting(3, 4))).toEqual(forResult(childId(workerId, 1, 3)))
    expect(inboxOf({ results }).wait({ ...waiting(1, 2), run: 7 })).toEqual(forResult(childId(workerId, 7, 1)))
  })

  test('a handler that waits for all results names their number, or the missing result if it has some (HANDLER-INBOX-3)', () => {
    const all = { await: 'all', resultsSeen: 5 } as const
    expect(inboxOf(all).wait(waiting(3, 4))).toEqual(forResults(7))
    expect(inboxOf({ ...all, results }).wait(waiting(1, 2))).toEqual(forResult(childId(workerId, 1, 1)))
    expect(inboxOf(all).wait(waiting())).toEqual(forSignal)
    expect(inboxOf(all).wait(between)).toEqual(forAny)
  })
})
