/** When a follower of the HTTP API connects again: after which answers, how soon, and for how many events. The answers are written here. */
import { expect, test } from 'vitest'
import { followWith } from '../../src/http/follow.ts'
import { connectHttp, followEvents, HttpProblem } from '../../src/http/index.ts'

const url = 'http://api.invalid/troupe'

const event = (id: number, type = 'run.started') => `id: ${id}-0\nevent: ${type}\ndata: {"n":${id}}\n\n`

const refusal = (status: number) => Response.json({ code: 'x', detail: 'no' }, { status })

/** A stream of these events, which breaks behind them if it is not whole. */
function stream(events: readonly string[], { isWhole = false } = {}): Response {
  const left = [...events]
  const pull = (out: ReadableStreamDefaultController) => {
    const next = left.shift()
    if (next !== undefined) out.enqueue(new TextEncoder().encode(next))
    else if (isWhole) out.close()
    else out.error(new TypeError('the wire broke'))
  }
  return new Response(new ReadableStream({ pull }), { headers: { 'content-type': 'text/event-stream' } })
}

/** Follows these answers, one for each connection. What it pauses before a connection takes no time. */
async function followed(path: string, ...answers: readonly Response[]) {
  const asked: string[] = []
  const pauses: number[] = []
  const fetch = async (request: Request) => {
    asked.push(request.url)
    return answers[asked.length - 1] ?? refusal(400)
  }
  const types: string[] = []
  const problem = await (async () => {
    for await (const { type } of followWith({ url, path, fetch }, async (ms) => void pauses.push(ms))) types.push(type)
  })().catch((error: unknown) => error)
  return { types, asked, pauses, problem }
}

const end = () => stream([event(9, 'session.completed')], { isWhole: true })

test.each([429, 500, 503])('an answer with status %i is asked for again', async (status) => {
  const { types, problem } = await followed('/v1/events', refusal(status), end())
  expect([types, problem]).toEqual([['session.completed'], undefined])
})

test.each([400, 401, 403, 404])('an answer with status %i is thrown at once', async (status) => {
  const { asked, problem } = await followed('/v1/events', refusal(status))
  expect(asked).toHaveLength(1)
  expect(problem).toBeInstanceOf(HttpProblem)
  expect(problem).toMatchObject({ status, code: 'x' })
})

test('pauses grow up to two seconds, and begin anew once an event came', async () => {
  const silent = Array.from({ length: 5 }, () => refusal(503))
  const { pauses } = await followed('/v1/events', ...silent, stream([event(1)]), refusal(503), end())
  expect(pauses).toEqual([200, 500, 1_000, 2_000, 2_000, 200, 500])
})

test('a stream that breaks behind the last event of its limit is over; entries of histories do not count', async () => {
  const entry = event(1, 'history.entry')
  const { types, asked, problem } = await followed('/v1/events?limit=2', stream([entry, event(2)]), stream([event(3)]))
  expect([types, problem]).toEqual([['history.entry', 'run.started', 'run.started'], undefined])
  expect(asked.map((one) => new URL(one).search)).toEqual(['?limit=2', '?limit=1'])
})

test('the address of an API may have a path and end with slashes', async () => {
  const asked: string[] = []
  const fetch = async (request: Request) => {
    asked.push(request.url)
    return request.url.endsWith('/events') ? end() : Response.json({ nodes: [] })
  }
  await connectHttp({ url: `${url}//`, fetch }).GET('/v1/nodes')
  await Array.fromAsync(followEvents({ url: `${url}//`, path: '/v1/events', fetch }))
  expect(asked).toEqual([`${url}/v1/nodes`, `${url}/v1/events`])
})

test('a stream that breaks goes on behind the last position, also if an event without one came after it (HTTP-FOLLOW-1)', async () => {
  const positions: (string | null)[] = []
  const answers = [stream([event(1), 'event: worker.stateChanged\ndata: {}\n\n']), stream([': still here\n\n']), end()]
  const fetch = async (request: Request) => {
    positions.push(request.headers.get('last-event-id'))
    return answers[positions.length - 1] ?? refusal(400)
  }
  const types: string[] = []
  for await (const { type } of followWith({ url, path: '/v1/events', fetch }, async () => {})) types.push(type)
  expect(types).toEqual(['run.started', 'worker.stateChanged', 'session.completed'])
  expect(positions).toEqual([null, '1-0', '1-0'])
})
