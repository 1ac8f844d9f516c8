/** How the page follows a session: where it goes on after a break, when it ends, and what it makes of what comes. */
import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import type { RawEvent } from '../../src/core/event/event.ts'

vi.stubGlobal('sessionStorage', { getItem: () => null })
vi.stubGlobal('document', { baseURI: 'http://127.0.0.1/' })
const { follow } = await import('../../src/page/api/event-stream.ts')

afterAll(() => vi.unstubAllGlobals())

/** An answer of the server for each request: the pieces of a stream, an error, or a connection that breaks. */
let answers: (readonly string[] | { readonly status: number } | Error)[]
let asked: string[]

beforeEach(() => {
  asked = []
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(new URL(url).search)
    const answer = answers.shift()
    if (answer === undefined || answer instanceof Error) throw answer ?? new Error('nothing more is expected')
    if ('status' in answer) return Response.json({ code: 'x', detail: 'y' }, answer)
    const bytes = answer.map((piece) => new TextEncoder().encode(piece))
    return new Response(
      new ReadableStream({
        start(controller) {
          for (const piece of bytes) controller.enqueue(piece)
          controller.close()
        },
      }),
    )
  })
})

const event = (type: string, more: Partial<RawEvent> = {}) => `data: ${JSON.stringify({ type, ...more })}\n\n`
const end = event('session.completed', { ended: { status: 'completed' } as never })

/** Follows until the stream is over, without its pauses. Returns what came together. */
async function followed(signal = new AbortController().signal) {
  const pieces: string[][] = []
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const ends: string[] = []
    void follow('sessions/s/events', {
      query: { after: '0-0' },
      signal,
      onEvents: (events) => pieces.push(events.map(({ type }) => type)),
    }).then(
      () => ends.push('over'),
      ({ message }: Error) => ends.push(message),
    )
    for (let turn = 0; ends.length === 0 && turn < 200; turn++) {
      await vi.advanceTimersByTimeAsync(5_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    const [result] = ends
    return { pieces, result }
  } finally {
    vi.useRealTimers()
  }
}

test('after a break the page goes on behind the last position, of an event or of the stream itself (PAGE-STREAM-1)', async () => {
  answers = [
    ['id: 1-0\n\n'],
    [`id: 2-0\n${event('one')}`, ': quiet\n\n'],
    new Error('broken'),
    [`id: 3-0\n${event('two')}:\n\n`],
    [end],
  ]
  expect(await followed()).toEqual({ pieces: [['one'], ['two'], ['session.completed']], result: 'over' })
  expect(asked).toEqual(['0-0', '1-0', '2-0', '2-0', '3-0'].map((after) => `?after=${after}`))
})

test('events that arrive together are passed on together; one that arrives in pieces is one; what cannot be read is none', async () => {
  answers = [
    [
      `${event('one')}${event('two').replaceAll('\n', '\r\n')}da`,
      'ta: {"type":"thr',
      `ee"}\n\n: a comment\n\ndata: {\n\ndata: {"type":7}\n\nevent: x\n\n${end}`,
    ],
  ]
  expect((await followed()).pieces).toEqual([
    ['one', 'two'],
    ['three', 'session.completed'],
  ])
})

test('a failed session is looked at again, because it may be retried; one that is gone is not', async () => {
  const failed = event('session.failed', { ended: { status: 'failed' } as never })
  answers = [[failed], { status: 503 }, { status: 401 }, { status: 429 }, { status: 404 }]
  expect(await followed()).toEqual({ pieces: [['session.failed']], result: 'y' })
  expect(answers).toEqual([])
})

test('a reader who looks away ends the stream without an error', async () => {
  const stop = new AbortController()
  answers = [[event('one')], new Error('broken')]
  const following = followed(stop.signal)
  stop.abort()
  expect((await following).result).toBe('over')
})
