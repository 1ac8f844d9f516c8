/** Streams over HTTP: where they begin and end, what they hold, and what a slow reader costs. */
import { connect as dial } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HistoryFeed } from '../../src/api/stream/history-feed.ts'
import { connectInternal } from '../../src/client/client.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { isEventBefore } from '../../src/core/event/event.ts'
import { partitionOf } from '../../src/core/ids.ts'
import { followEvents, type StreamedEvent } from '../../src/http/index.ts'
import { patienceMs } from '../support/time/patience.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { talker } from './support/talker.ts'
import { TestApi } from './support/test-api.ts'

const child = defineWorker({ receive: (message, self) => self.reply(message.value) })
const parent = defineWorker({
  receive(message, self) {
    if (message.kind !== 'input') return
    self.spawn('child', 1)
    self.spawn('child', 2)
  },
})
const leaver = defineWorker({
  receive(_, self) {
    self.spawn('child', 1, { detached: true })
    self.reply('left')
  },
})

let api: TestApi
beforeAll(async () => {
  api = await TestApi.start({ child, parent, leaver, talker }, { partitions: 2 })
})
afterAll(() => api[Symbol.asyncDispose]())

async function ended(kind: string, input: unknown = null): Promise<string> {
  return (await api.post('/v1/sessions', { kind, input }, { prefer: 'wait=60' })).body.sessionId as string
}

interface Streamed {
  readonly id: string | undefined
  readonly type: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever the event holds
  readonly data: any
}

function eventsIn(text: string): Streamed[] {
  return text.split('\n\n').flatMap((block) => {
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
    const data = field('data')
    return data === undefined ? [] : [{ id: field('id'), type: field('event') ?? '', data: JSON.parse(data) }]
  })
}
const stream = async (path: string, headers?: Record<string, string>) => eventsIn((await api.get(path, headers)).body)
const types = (events: readonly Streamed[]) => events.map(({ type }) => type)

test('a stream begins at a tail, ends with the past or after a number, and keeps to types', async () => {
  const path = `/v1/sessions/${await ended('parent')}/events`
  const all = await stream(`${path}?after=0-0&follow=false`)
  expect(types(all)).toContain('worker.spawned')
  expect(await stream(`${path}?tail=3`)).toEqual(all.slice(-3))
  expect(await stream(`${path}?tail=1000&transient=false`)).toEqual(all)
  expect(await stream(`${path}?after=0-0&limit=2`)).toEqual(all.slice(0, 2))
  expect(new Set(types(await stream(`${path}?after=0-0&types=worker.*,run.started`)))).toEqual(
    new Set(['worker.spawned', 'run.started']),
  )
  expect((await api.get(`${path}?after=0-0&tail=1`)).status).toBe(400)
  for (const id of ['9'.repeat(30), '0-0%0Ax', '-1']) expect((await api.get(`${path}?after=${id}`)).status).toBe(400)
  for (const id of ['x', '-1', '1-0,1-0']) expect((await api.get(path, { 'last-event-id': id })).status).toBe(400)
})

async function lastOf(path: string): Promise<{ readonly event: string | undefined; readonly position: string }> {
  const { body } = await api.get(path)
  return { event: eventsIn(body).at(-1)?.id, position: [...body.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? '' }
}

test('a stream that ends by itself ends with the position to which it has read', async () => {
  const session = await ended('parent')
  const isBeside = async () => partitionOf(await ended('child')) === partitionOf(session)
  while (!(await isBeside()));
  const path = `/v1/sessions/${session}/events`
  const whole = await lastOf(`${path}?after=0-0`)
  expect(whole.position).toBe(whole.event)
  const ofWorkers = await lastOf(`${path}?after=0-0&types=worker.*`)
  expect(ofWorkers.position).toBe(whole.event)
  const again = await lastOf(`${path}?after=${whole.position}`)
  expect(again.event).toBeUndefined()
  expect(isEventBefore(whole.position, again.position)).toBe(true)
  const cut = await lastOf(`${path}?after=0-0&limit=2`)
  expect(cut.position).toBe(cut.event)
})

test('whoever resumes behind the end of a session gets what its detached workers did after it', async () => {
  const path = `/v1/sessions/${await ended('leaver')}/events`
  const { position: end } = await lastOf(`${path}?after=0-0`)
  const later = async () => types(await stream(`${path}?after=${end}&transient=false`))
  await waitUntil('the detached child has ended', async () => (await later()).includes('run.completed'))
  const { position } = await lastOf(`${path}?after=0-0`)
  expect(types(await stream(path, { 'last-event-id': position }))).toContain('run.completed')
})

test('a stream keeps to a worker and what it spawned', async () => {
  const session = await ended('parent')
  const path = `/v1/sessions/${session}`
  const { workers } = (await api.get(path)).body as { workers: { id: string; kind: string }[] }
  const [first] = workers.filter(({ kind }) => kind === 'child')
  const under = await stream(`${path}/events?after=0-0&under=${first?.id}`)
  expect(new Set(under.map(({ data }) => data.workerId))).toEqual(new Set([first?.id]))
  const root = workers.find(({ kind }) => kind === 'parent')
  expect(await stream(`${path}/events?after=0-0&under=${root?.id}`)).toEqual(await stream(`${path}/events?after=0-0`))
  expect((await api.get(`${path}/events?under=${session.replace('-7', '-8').replace(/^./, 'f')}`)).status).toBe(404)
})

test('a stream of one worker shows also the children that the worker spawns while somebody follows', async () => {
  const { body } = await api.post('/v1/sessions', { kind: 'parent', input: null, keepOpen: true })
  const path = `/v1/sessions/${body.sessionId}`
  await waitUntil('its first run is over', async () => (await api.get(`${path}/result`)).status === 200)
  const stop = new AbortController()
  const got: StreamedEvent[] = []
  const options = { url: api.api.url, path: `${path}/events?under=${body.workerId}&tail=1`, signal: stop.signal }
  const following = (async () => {
    for await (const event of followEvents(options)) got.push(event)
  })()
  await waitUntil('the stream has begun', () => got.length > 0)
  await api.post(`${path}/messages`, { input: 'again' })
  const ofChildren = () =>
    got.filter(
      ({ type, data }) => type === 'run.completed' && (data as { workerId: string }).workerId !== body.workerId,
    )
  await waitUntil('both new children have replied', () => ofChildren().length >= 2)
  expect(ofChildren()).toHaveLength(2)
  stop.abort()
  await following
})

test('a stream carries the entries of histories, in their order and each once', async () => {
  const path = `/v1/sessions/${await ended('parent')}/events?after=0-0`
  const entries = (await stream(`${path}&history=all`)).filter(({ type }) => type === 'history.entry')
  const byWorker = Map.groupBy(entries, ({ data }) => data.workerId as string)
  expect(byWorker.size).toBe(3)
  for (const of of byWorker.values()) expect(of.map(({ data }) => data.position)).toEqual(of.map((_, index) => index))
  const [worker = ''] = byWorker.keys()
  const later = (await stream(`${path}&history=${worker}&historyAfter=0`)).filter(
    ({ type }) => type === 'history.entry',
  )
  expect(later).toEqual(byWorker.get(worker)?.slice(1))
  expect(types(await stream(`${path}&history=${worker.toUpperCase()}`))).toContain('history.entry')
})

test('a stream that is resumed carries all entries once more, because no event says which of them had been sent', async () => {
  const path = `/v1/sessions/${await ended('parent')}/events`
  const entries = async (query: string, headers?: Record<string, string>) =>
    (await stream(`${path}?history=all${query}`, headers)).filter(({ type }) => type === 'history.entry').length
  const all = await stream(`${path}?after=0-0&history=all`)
  const [third = ''] = all.flatMap(({ id }) => id ?? []).slice(2)
  const count = await entries('&after=0-0')
  expect(count).toBeGreaterThan(3)
  expect(await entries('&after=0-0', { 'last-event-id': third })).toBe(count)
  expect(await entries(`&after=${third}`)).toBe(count)
  expect(await entries('&tail=2')).toBe(0)
})

test('a stream whose last entries cannot be read does not end as if they had come', async () => {
  const id = await ended('child')
  const client = await connectInternal({ redisUrl: api.troupe.redisUrl, namespace: api.troupe.namespace })
  const [root] = (await client.sessions.get(id).report()).workers
  const sentTo = new Map([[root?.id ?? '', -1]])
  await client.close()
  const feed = new HistoryFeed(client, {} as never, AbortSignal.timeout(patienceMs), { only: undefined, sentTo })
  await expect(feed.finish()).rejects.toMatchObject({ code: 'client_closed' })
})

test('a stream of all sessions takes the position of a namespace of hundreds of partitions', async () => {
  const position = Array.from({ length: 800 }, () => '1700000000000-0.0').join(',')
  const { status, body } = await api.get('/v1/events', { 'last-event-id': position })
  expect({ status, body }).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('names 800 partition') },
  })
})

/** Cuts each connection after three events. */
function cuttingFetch() {
  let cuts = 0
  const send = async (request: Request) => {
    const stop = new AbortController()
    const response = await fetch(request, { signal: AbortSignal.any([request.signal, stop.signal]) })
    let blocks = 0
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        controller.enqueue(piece)
        blocks += new TextDecoder().decode(piece).split('\ndata: ').length - 1
        if (blocks < 3) return
        cuts++
        controller.error(new Error('cut'))
        stop.abort()
      },
    })
    return new Response(response.body?.pipeThrough(cut) ?? null, response)
  }
  return { send, cuts: () => cuts }
}

test('a follower that is cut off again and again gets each stored event once', async () => {
  const { body } = await api.post('/v1/sessions', { kind: 'talker', input: 1, keepOpen: true })
  const path = `/v1/sessions/${body.sessionId}`
  const got: StreamedEvent[] = []
  const { send, cuts } = cuttingFetch()
  const { url } = api.api
  const following = (async () => {
    for await (const event of followEvents({ url, path: `${path}/events?after=0-0&transient=false`, fetch: send }))
      got.push(event)
  })()
  for (let number = 0; number < 20; number++) await api.post(`${path}/messages`, { input: number })
  await waitUntil('all messages are answered', () => got.filter(({ type }) => type === 'run.completed').length === 21)
  await api.post(`${path}/close`)
  await following
  const all = await stream(`${path}/events?after=0-0`)
  expect(got.map(({ position }) => position)).toEqual(all.map(({ id }) => id))
  expect(cuts()).toBeGreaterThan(1)
})

test('a follower of all sessions that is cut off again and again gets each stored event once, in whichever partition, and in the order of each session', async () => {
  const idsOf = (events: readonly { readonly data: unknown }[]) =>
    (events as readonly { data: { id: string; sessionId: string } }[]).map(({ data }) => `${data.sessionId} ${data.id}`)
  const got: StreamedEvent[] = []
  const { send, cuts } = cuttingFetch()
  const stop = new AbortController()
  const following = (async () => {
    const options = { url: api.api.url, path: '/v1/events?after=0-0', signal: stop.signal, fetch: send }
    for await (const event of followEvents(options)) got.push(event)
  })()
  const sessions: string[] = []
  for (let number = 0; number < 6; number++) sessions.push(await ended('parent'))
  const isLast = ({ type, data }: StreamedEvent) =>
    type === 'session.completed' && sessions.includes((data as { sessionId: string }).sessionId)
  await waitUntil('the end of each is told', () => got.filter(isLast).length >= sessions.length)
  stop.abort()
  await following
  const told = idsOf(got)
  expect(new Set(told).size).toBe(told.length)
  for (const id of sessions) {
    const own = await stream(`/v1/sessions/${id}/events?after=0-0`)
    expect(told.filter((one) => one.startsWith(id))).toEqual(idsOf(own))
  }
  expect(cuts()).toBeGreaterThan(1)
})

test('the stream of all sessions keeps to types, and takes only its own positions', async () => {
  const session = await ended('child')
  const events = await stream('/v1/events?after=0-0&types=session.completed&limit=1')
  expect(types(events)).toEqual(['session.completed'])
  const path = `/v1/events?types=session.created&limit=1&after=${events[0]?.id}`
  const later = ended('child')
  expect((await stream(path))[0]?.data.sessionId).not.toBe(session)
  await later
  expect(await api.get(`/v1/events?after=${events[0]?.id},0-0`)).toMatchObject({
    status: 400,
    body: { code: 'input_invalid' },
  })
})

test('a reader that reads nothing for a while gets every stored event when it reads', async () => {
  const { body } = await api.post('/v1/sessions', { kind: 'talker', input: 1, keepOpen: true })
  const path = `/v1/sessions/${body.sessionId}`
  const socket = dial({ port: api.api.port, host: '127.0.0.1' })
  socket.pause()
  socket.write(`GET ${path}/events?after=0-0 HTTP/1.1\r\nhost: localhost\r\n\r\n`)
  // Thirty megabytes of log lines, of which the reader takes none.
  for (let number = 0; number < 4; number++) await api.post(`${path}/messages`, { input: 2_000 })
  await waitUntil('the messages are answered', async () => (await api.get(path)).body.workers[0].runs >= 5)
  // The reader reads all at once now, up to the end.
  await api.post(`${path}/close`)
  const text = await new Promise<string>((resolve) => {
    let read = ''
    socket.setEncoding('utf8').on('data', (piece: string) => {
      read += piece
      if (read.includes('event: session.completed')) {
        socket.destroy()
        resolve(read)
      }
    })
    socket.resume()
  })
  expect([...text.matchAll(/^event: run\.completed$/gm)].length).toBe(5)
})
