/** Following a session whose events fail or lag, and whose cancel fails or takes too long: none of that keeps the person waiting. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { followToEnd, watchRuns } from '../../../src/cli/commands/talk/follow.ts'
import { Interrupt } from '../../../src/cli/terminal/interrupt.ts'
import { tell } from '../../../src/cli/terminal/output.ts'
import type { SessionView } from '../../../src/cli/terminal/session-view.ts'
import type { Session } from '../../../src/client/session/session.ts'
import { ConflictError, NotFoundError, TransientError } from '../../../src/core/errors.ts'
import type { RawEvent } from '../../../src/core/event/event.ts'
import type { RunResult } from '../../../src/core/history/entry.ts'

let interrupt: Interrupt
let written: string
beforeEach(() => {
  vi.useFakeTimers()
  written = ''
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written += String(text)
    return true
  })
  interrupt = new Interrupt(() => {})
})
afterEach(() => {
  interrupt[Symbol.dispose]()
  vi.useRealTimers()
})

const never = new Promise<never>(() => {})
const completed: RunResult = { status: 'completed', value: 7 } as RunResult
const press = () => void process.emit('SIGINT', 'SIGINT')
const loseTerminal = () => void process.emit('SIGHUP', 'SIGHUP')

/** Events that fail, or never come. */
const eventsThat = (end: Promise<never>): AsyncIterable<RawEvent> => ({
  [Symbol.asyncIterator]: () => ({ next: () => end }),
})

function viewOf(showCommit: SessionView['showCommit'] = () => {}): SessionView {
  const ignore = () => {}
  return { tell, watch: ignore, showCommit, showLive: ignore, resume: ignore, end: ignore, [Symbol.dispose]: ignore }
}

interface Parts {
  readonly result?: Promise<RunResult>
  readonly events?: Promise<never>
  readonly cancel?: Promise<boolean>
}

/** Follows a session, and records the outcome and the cancels of its run. */
function follow({ result = never, events = never, cancel = Promise.resolve(true) }: Parts) {
  const cancelled = vi.fn<() => Promise<boolean>>(() => cancel)
  const cancelledSession = vi.fn<() => Promise<boolean>>(() => Promise.resolve(true))
  const session = {
    summary: () => Promise.resolve({ createdAt: 1, mode: 'job' }),
    events: () => eventsThat(events),
    root: { cancelRun: cancelled },
    cancel: cancelledSession,
    result: ({ signal }: { signal: AbortSignal }) =>
      Promise.race([
        result,
        new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
      ]),
  } as unknown as Session
  const seen: { ends: (RunResult | undefined)[] } = { ends: [] }
  void followToEnd(session, interrupt, viewOf()).then((end) => seen.ends.push(end))
  return { seen, cancelled, cancelledSession }
}

test('a failing event stream is reported, and the result still comes (FOLLOW-1)', async () => {
  const events = Promise.reject<never>(new Error('no stream'))
  events.catch(() => {})
  const result = Promise.withResolvers<RunResult>()
  const { seen } = follow({ events, result: result.promise })
  await vi.advanceTimersByTimeAsync(1)
  expect(written).toContain('events are no longer followed: no stream')
  result.resolve(completed)
  await vi.advanceTimersByTimeAsync(1)
  expect(seen.ends).toEqual([completed])
})

test('lagging events delay the result only briefly (FOLLOW-1)', async () => {
  const { seen } = follow({ result: Promise.resolve(completed) })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(seen.ends).toEqual([completed])
})

test.each([
  ['before the follower starts', true],
  ['while the follower waits', false],
])('an interrupt %s cancels the run, and waits for its end for a limited time (FOLLOW-2)', async (_, isEarly) => {
  if (isEarly) press()
  const { seen, cancelled, cancelledSession } = follow({})
  await vi.advanceTimersByTimeAsync(60_000)
  if (!isEarly) press()
  await vi.advanceTimersByTimeAsync(0)
  expect(cancelled).toHaveBeenCalledOnce()
  expect(cancelledSession).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(20_000)
  expect(seen.ends).toEqual([undefined])
})

test('a cancel that fails is reported, and ends the wait', async () => {
  const cancel = Promise.reject<boolean>(new Error('Redis is away'))
  cancel.catch(() => {})
  const { seen } = follow({ cancel })
  press()
  await vi.advanceTimersByTimeAsync(3_000)
  expect(written).toContain('the run could not be cancelled: Redis is away')
  expect(seen.ends).toEqual([undefined])
})

test('an interrupt of a job that has no run in progress cancels the session', async () => {
  const { cancelledSession } = follow({ cancel: Promise.resolve(false) })
  press()
  await vi.advanceTimersByTimeAsync(0)
  expect(cancelledSession).toHaveBeenCalledOnce()
})

test('an interrupt of a session that has just ended waits for its result', async () => {
  const result = Promise.withResolvers<RunResult>()
  const cancel = Promise.reject<boolean>(new ConflictError('session_finished', 'it has ended'))
  cancel.catch(() => {})
  const { seen } = follow({ cancel, result: result.promise })
  press()
  await vi.advanceTimersByTimeAsync(1)
  result.resolve(completed)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(written).toBe('')
  expect(seen.ends).toEqual([completed])
})

test('a lost terminal ends the wait and cancels nothing (FOLLOW-3)', async () => {
  const { isTTY } = process.stdin
  process.stdin.isTTY = true
  const { seen, cancelled } = follow({})
  loseTerminal()
  await vi.advanceTimersByTimeAsync(2_000)
  process.stdin.isTTY = isTTY
  expect(cancelled).not.toHaveBeenCalled()
  expect(seen.ends).toEqual([undefined])
  expect(interrupt).toMatchObject({ isHangUp: true, exitCode: 129 })
})

test('events of one commit are reported together, and those of two commits apart', async () => {
  const ids = ['1-0.1', '1-0.2', '2-0.1', '3-0.1', '3-0.2']
  const events = ids.map((id) => ({ id, type: 'run.started', workerId: 'w', at: 1, details: {} }))
  const session = {
    summary: () => Promise.resolve({ createdAt: 1 }),
    async *events() {
      yield* events
    },
    result: () => Promise.resolve(completed),
  } as unknown as Session
  const commits: string[][] = []
  const ended = followToEnd(
    session,
    interrupt,
    viewOf((commit) => commits.push(commit.map(({ id }) => id))),
  )
  await vi.advanceTimersByTimeAsync(2_000)
  expect(await ended).toEqual(completed)
  expect(commits).toEqual([['1-0.1', '1-0.2'], ['2-0.1'], ['3-0.1', '3-0.2']])
})

test('a lost Redis is noticed while a conversation rests, and the end of the conversation is not taken for one', async () => {
  const away = new TransientError('Redis is away', { code: 'store_unavailable' })
  const over = new NotFoundError('session_not_found', 'no such run')
  const restingUntil = (end: Error) => ({
    result: ({ run = 1 }: { run?: number | undefined }) =>
      run < 3 ? Promise.resolve({ ...completed, run }) : Promise.reject(end),
  })
  await expect(watchRuns(restingUntil(away), interrupt.signal)).rejects.toThrow(away)
  await watchRuns(restingUntil(over), interrupt.signal)
})
