/** What a handler receives next, of what was granted to its turn, and what it waits for when that is nothing. */
import { describe, expect, test } from 'vitest'
import { childId, newId } from '../../../src/core/ids.ts'
import type { Mail } from '../../../src/core/worker/message.ts'
import { forAny, forResult, forResults, forSignal } from '../../../src/core/worker/wait.ts'
import { HandlerInbox, type OpenWork } from '../../../src/runtime/handler/handler-inbox.ts'

const workerId = newId(0)
const head = { id: newId(0), from: null, value: null } as const
const input = (sequence: number): Mail => ({ lane: 'user', sequence, message: { ...head, kind: 'input' } })
const timer = (sequence: number): Mail => ({ lane: 'control', sequence, message: { ...head, kind: 'timer' } })
const result = (call: number, sequence: number): Mail => ({
  lane: 'family',
  sequence,
  message: { ...head, kind: 'result', from: 'x', call, name: 'x', workerKind: 'x', status: 'completed', failure: null },
})

const between: OpenWork = { open: false, run: 1, awaits: [] }
const waiting = (...awaits: number[]): OpenWork => ({ open: true, run: 1, awaits })

function inboxOf({
  gather,
  familySeen = 0,
  ...mail
}: Partial<Record<'control' | 'family' | 'user', Mail[]>> & Options) {
  return new HandlerInbox({ workerId, familySeen, mail: { control: [], family: [], user: [], ...mail } }, gather)
}
interface Options {
  readonly gather?: 'each' | 'all'
  readonly familySeen?: number
}

describe('next', () => {
  test('in a run: timers, then results in the order of calls, and no input (HANDLER-INBOX-1)', () => {
    const [tick, tock, one, two] = [timer(0), timer(1), result(1, 1), result(2, 0)]
    const inbox = inboxOf({ control: [tick, tock], family: [two, one], user: [input(0)] })
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

  test('in a run: no result before that of an earlier call (HANDLER-INBOX-1)', () => {
    expect(inboxOf({ family: [result(2, 0)] }).next(waiting(1, 2))).toBeNull()
  })

  test('between runs: the oldest input, and nothing else (HANDLER-INBOX-2)', () => {
    const [first, second] = [input(3), input(4)]
    const inbox = inboxOf({ control: [timer(0)], family: [result(1, 0)], user: [first, second] })
    expect(inbox.next(between)).toBe(first)
    inbox.take(first)
    expect(inbox.next(between)).toBe(second)
    inbox.take(second)
    expect(inbox.next(between)).toBeNull()
  })

  test('in the next run: nothing that the one before left behind', () => {
    const inbox = inboxOf({ control: [timer(0)], family: [result(1, 0)], user: [input(1)] })
    inbox.dropRun()
    expect(inbox.next(waiting(1))).toBeNull()
    expect(inbox.next(between)).toMatchObject({ lane: 'user', sequence: 1 })
  })
})

describe('wait', () => {
  const family = [result(2, 0)]

  test('names the message that would be next (HANDLER-INBOX-3)', () => {
    expect(inboxOf({}).wait(between)).toEqual(forAny)
    expect(inboxOf({}).wait(waiting())).toEqual(forSignal)
    expect(inboxOf({ familySeen: 5 }).wait(waiting(3, 4))).toEqual(forResult(childId(workerId, 1, 3)))
    expect(inboxOf({ family }).wait({ ...waiting(1, 2), run: 7 })).toEqual(forResult(childId(workerId, 7, 1)))
  })

  test('where all results are gathered, names how many there will be; with some in hand, the one that is missing (HANDLER-INBOX-3)', () => {
    const all = { gather: 'all', familySeen: 5 } as const
    expect(inboxOf(all).wait(waiting(3, 4))).toEqual(forResults(7))
    expect(inboxOf({ ...all, family }).wait(waiting(1, 2))).toEqual(forResult(childId(workerId, 1, 1)))
    expect(inboxOf(all).wait(waiting())).toEqual(forSignal)
    expect(inboxOf(all).wait(between)).toEqual(forAny)
  })
})
