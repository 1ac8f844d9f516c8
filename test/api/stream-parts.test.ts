/** The parts of which a stream is made, each by itself. It needs no Redis. */
import type { ServerResponse } from 'node:http'
import { expect, test, vi } from 'vitest'
import { HistoryFeed } from '../../src/api/stream/history-feed.ts'
import { streamSession, wantsTypes, wantsUnder } from '../../src/api/stream/session-stream.ts'
import { SseWriter } from '../../src/api/stream/sse.ts'
import type { Session } from '../../src/client/session/session.ts'
import { NotFoundError } from '../../src/core/errors.ts'
import type { TroupeEvent } from '../../src/core/event/event.ts'

const { signal } = new AbortController()

/** A writer that notes what it is given; its caller lags if that is said. */
function notingWriter(lags = false) {
  const noted: string[] = []
  const writer = {
    lags,
    send: ({ json }: { readonly json: string }) => void noted.push(json),
    drained: async () => void noted.push('waits'),
  }
  return { noted, writer: writer as unknown as SseWriter }
}

/** A feed of workers whose histories this reads. */
function feedOf(history: (query: { readonly after: number }) => Promise<object[]>, writer: SseWriter) {
  const troupe = { workers: { get: () => ({ history }) } }
  return new HistoryFeed(troupe as never, writer, signal, { only: undefined, sentTo: new Map() })
}

test('a worker that was pruned has no entries, and that ends no stream; another error does (HISTORY-FEED-2)', async () => {
  for (const [error, end] of [
    [new NotFoundError('worker_not_found', 'It is gone.'), 'whole'],
    [new Error('Redis is away'), 'Redis is away'],
  ] as const) {
    const feed = feedOf(() => Promise.reject(error), notingWriter().writer)
    feed.note('w')
    const finished = feed.finish().then(
      () => 'whole',
      ({ message }: Error) => message,
    )
    expect(await finished).toBe(end)
  }
})

test('no entry of a history is written while the caller lags (HISTORY-FEED-1)', async () => {
  const { noted, writer } = notingWriter(true)
  const feed = feedOf(
    async ({ after }) => (after < 0 ? [0, 1].map((position) => ({ position, entry: {} })) : []),
    writer,
  )
  feed.note('w')
  await feed.finish()
  const entry = (position: number) => JSON.stringify({ type: 'history.entry', workerId: 'w', position, entry: {} })
  expect(noted).toEqual([entry(0), 'waits', entry(1), 'waits'])
})

test('what a follower misses is told to it, whatever it wants', () => {
  const is = (type: string, workerId = 'w') => ({ type, workerId }) as TroupeEvent
  const types = wantsTypes('run.completed, tool.*')
  const under = wantsUnder('other', [])
  for (const type of ['events.trimmed', 'events.dropped'])
    expect([types(is(type)), under(is(type))]).toEqual([true, true])
  const asked = ['run.completed', 'tool.started', 'run.started', 'toolbox.opened'].map((type) => types(is(type)))
  expect(asked).toEqual([true, true, false, false])
  expect([under(is('run.started')), under(is('run.started', 'other'))]).toEqual([false, true])
})

test('a stream of a session ends with its histories, and waits for a caller that lags', async () => {
  const events = [
    { id: '1-0', type: 'run.started', workerId: 'w' },
    { id: '1-1', type: 'text.delta', workerId: 'w', transient: true },
  ]
  async function* told() {
    yield* events
  }
  const { noted, writer } = notingWriter(true)
  const histories = {
    note: (id: string) => void noted.push(`note ${id}`),
    finish: async () => void noted.push('finish'),
  }
  const query = { after: '0-0', newest: '0-0', transient: true, follow: true, limit: 0, wants: () => true, histories }
  const readTo = await streamSession({ events: told } as unknown as Session, writer, query as never, signal)
  const [first, second] = events.map((event) => JSON.stringify(event))
  expect([noted, readTo]).toEqual([[first, 'note w', 'waits', second, 'waits', 'finish'], '1-1'])
})

test.each([
  [false, 'end'],
  [true, 'destroy'],
])('a stream that is over, while the server stops: %s, is left by %s', (stops, left) => {
  const out = {
    writeHead: vi.fn<() => void>(),
    write: vi.fn<() => void>(),
    end: vi.fn<() => void>(),
    destroy: vi.fn<() => void>(),
    destroyed: false,
  }
  const stopping = stops ? AbortSignal.abort() : signal
  new SseWriter(out as unknown as ServerResponse, {}, stopping)[Symbol.dispose]()
  expect(['end', 'destroy'].filter((how) => out[how as 'end'].mock.calls.length > 0)).toEqual([left])
})

test('a quiet stream sends a comment every fifteen seconds, and a busy one none (SSE-4)', () => {
  const beat = vi.spyOn(globalThis, 'setInterval')
  const now = vi.spyOn(Date, 'now').mockReturnValue(0)
  const written: string[] = []
  const out = {
    writeHead: vi.fn<() => void>(),
    write: (text: string) => written.push(text),
    end: vi.fn<() => void>(),
    destroyed: false,
  }
  {
    using writer = new SseWriter(out as unknown as ServerResponse, {}, signal)
    const [call, ms] = beat.mock.lastCall as unknown as [() => void, number]
    expect(ms).toBe(15_000)
    call()
    now.mockReturnValue(15_000)
    call()
    writer.sendPosition('1-0')
  }
  expect(written.join('')).toBe('retry: 2000\n\n:\n\nid: 1-0\n\n')
})
