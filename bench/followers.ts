/**
 * Duty: measures what 200 followers over HTTP of one busy session take of a core: of the API that serves them, and of the node that runs it. Both the
 * API and the node are processes of their own. `npm run bench:followers`; one line of JSON for each figure (`ROUNDS=1` for a try).
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { connect, type Session, type Troupe } from 'troupe'
import { startRedisServer } from './redis-server.ts'
import type { ServedPart, Talk } from './served-main.ts'

const followers = 200
const seconds = 5
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function start(order: ServedPart): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(new URL('served-main.ts', import.meta.url))
  child.send(order)
  const [url] = (await once(child, 'message')) as [string]
  return { child, url }
}

/** Seconds of a processor that it has used so far. */
async function cpuOf(child: ChildProcess): Promise<number> {
  child.send('cpu')
  const [{ user, system }] = (await once(child, 'message')) as [NodeJS.CpuUsage]
  return (user + system) / 1e6
}

/** Opens the streams; resolves when each has begun. Ending them ends the count. */
async function follow(url: string, count: number, onEvents: (events: number) => void): Promise<() => void> {
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
  const requests = await Promise.all(
    Array.from({ length: count }, async () => {
      const request = get(url, { agent })
      const [response] = await once(request, 'response')
      response.setEncoding('utf8').on('data', (text: string) => onEvents(text.split('\ndata: ').length - 1))
      response.on('error', () => {})
      return request
    }),
  )
  return () => {
    for (const request of requests) request.destroy()
  }
}

interface Parts {
  readonly api: ChildProcess
  readonly node: ChildProcess
  readonly url: string
}

async function talkFor(session: Session, run: number, everyMs: number): Promise<void> {
  const talk: Talk = { lines: (seconds * 1_000) / everyMs, everyMs }
  await session.root.send(talk)
  await session.result({ run })
}

async function measure(troupe: Troupe, { api, node, url }: Parts, everyMs: number, count: number) {
  const session = await troupe.sessions.create({ kind: 'talker', input: { lines: 1, everyMs }, keepOpen: true })
  await session.result({ run: 1 })
  let events = 0
  const stop = await follow(`${url}/v1/sessions/${session.id}/events`, count, (more) => {
    events += more
  })
  await wait(1_000)
  events = 0
  const [from, ofApi, ofNode] = [performance.now(), await cpuOf(api), await cpuOf(node)]
  await talkFor(session, 2, everyMs)
  const took = (performance.now() - from) / 1_000
  const cores = { api: ((await cpuOf(api)) - ofApi) / took, node: ((await cpuOf(node)) - ofNode) / took }
  stop()
  return { ...cores, perSecond: count === 0 ? 0 : events / count / took }
}

const server = await startRedisServer(process.env.PATH ?? '')
const children: ChildProcess[] = []
try {
  const place = { redisUrl: server.url, namespace: 'followers' }
  const { child: node } = await start({ ...place, part: 'node' })
  children.push(node)
  const { child: api, url } = await start({ ...place, part: 'api' })
  children.push(api)
  await using troupe = await connect(place)
  await measure(troupe, { api, node, url }, 20, followers)
  for (let round = 0; round < Number(process.env.ROUNDS ?? 3); round++)
    for (const everyMs of [100, 20]) {
      const none = await measure(troupe, { api, node, url }, everyMs, 0)
      const many = await measure(troupe, { api, node, url }, everyMs, followers)
      const rounded = Object.entries({
        eventsPerSecond: many.perSecond,
        api: many.api - none.api,
        node: many.node - none.node,
      }).map(([name, value]) => [name, Math.round(value * 1_000) / 1_000])
      const figure =
        '200 followers over HTTP of one session: events a second of each, and the part of a core that they take'
      console.log(JSON.stringify({ figure, ...Object.fromEntries(rounded) }))
    }
} finally {
  for (const child of children) child.kill('SIGKILL')
  await server.stop()
}
