/** The check that some node hosts a kind: it stops when its command ends, and its errors fail no command. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { KindHost } from '../../../src/cli/host/kind-host.ts'
import { queuedAmong, queuedIn, UnhostedNotice } from '../../../src/cli/host/unhosted-notice.ts'
import type { Troupe } from '../../../src/client/client.ts'
import { Roster } from '../../../src/client/event/activity.ts'
import type { Session } from '../../../src/client/session/session.ts'
import type { KindSummary } from '../../../src/client/summaries.ts'
import { readConfig } from '../../../src/config.ts'
import type { EventType } from '../../../src/core/event/event.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const hosted = [{ kind: 'echo', hosted: true }] as unknown as readonly KindSummary[]

/** A client that only knows kinds. */
function asked(answer: () => Promise<readonly KindSummary[]>) {
  const kinds = vi.fn<() => Promise<readonly KindSummary[]>>(answer)
  return { kinds, troupe: { kinds } as unknown as Troupe, lines: [] as string[] }
}

test('the check whether nodes host a kind repeats until the command has ended', async () => {
  const { kinds, troupe, lines } = asked(() => Promise.resolve(hosted))
  const host = new KindHost('echo', troupe, readConfig({}, {}), { tell: (line) => lines.push(line) })
  expect(await host.start()).toBe(false)
  await vi.advanceTimersByTimeAsync(7_000)
  expect(kinds).toHaveBeenCalledTimes(3)
  await host[Symbol.asyncDispose]()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(kinds).toHaveBeenCalledTimes(3)
  expect(lines).toEqual([])
})

test('a command can end in the middle of a check', async () => {
  const answer = Promise.withResolvers<readonly KindSummary[]>()
  const { kinds, troupe, lines } = asked(() =>
    kinds.mock.calls.length === 1 ? Promise.resolve(hosted) : answer.promise,
  )
  const host = new KindHost('echo', troupe, readConfig({}, {}), { tell: (line) => lines.push(line) })
  await host.start()
  await vi.advanceTimersByTimeAsync(3_000)
  const ended = host[Symbol.asyncDispose]()
  answer.reject(new Error('the connection was closed'))
  await ended
  await vi.advanceTimersByTimeAsync(60_000)
  expect(kinds).toHaveBeenCalledTimes(2)
  expect(lines).toEqual([])
})

test('a notice about an unhosted kind survives an unavailable Redis, comes once until a node hosts the kind, and ends', async () => {
  const answers = [Promise.reject(new Error('away')), Promise.resolve([]), Promise.resolve([]), Promise.resolve(hosted)]
  answers[0]?.catch(() => {})
  const { kinds, troupe, lines } = asked(() => answers.shift() ?? Promise.resolve([]))
  const notice = new UnhostedNotice(
    troupe,
    () => new Map([['echo', 2]]),
    (line) => lines.push(line),
  )
  await vi.advanceTimersByTimeAsync(9_000)
  expect({ asked: kinds.mock.calls.length, lines }).toEqual({
    asked: 3,
    lines: [expect.stringContaining('no live node hosts echo: 2 ')],
  })
  await vi.advanceTimersByTimeAsync(6_000)
  expect(lines).toHaveLength(2)
  notice[Symbol.dispose]()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(kinds).toHaveBeenCalledTimes(5)
})

test('queued workers are counted by kind, except the kind that other code reports', async () => {
  const workers = ['queued', 'running', 'queued', 'idle'].map((status, index) => ({
    kind: index === 2 ? 'other' : 'echo',
    status,
  }))
  const session = { report: async () => ({ workers }) } as unknown as Session
  expect(await queuedIn(session)).toEqual(
    new Map([
      ['echo', 1],
      ['other', 1],
    ]),
  )
  const roster = new Roster()
  const note = (workerId: string, type: EventType, details: object) =>
    roster.note({ id: '1-0', type, sessionId: 's', workerId, at: 1, details: { ...details } })
  note('root', 'session.created', { kind: 'parent', name: 'parent' })
  for (const id of ['a', 'b']) note('root', 'worker.spawned', { id, kind: 'child', name: id })
  expect(queuedAmong(roster, 'parent')).toEqual(new Map([['child', 2]]))
  expect(queuedAmong(undefined, 'parent')).toEqual(new Map())
})
