/**
 * Duty: measures who waits while a rolling deploy goes on: 2 000 sessions run on three nodes, which are replaced one after the other; one kind moves
 * to a node of its own, and one is new. The figure is the longest that a turn waited although a node ran that could have taken it, in sweeps.
 * `npm run bench:deploy`; one line of JSON for each figure. `COUNT=2000`: how many sessions run.
 */
import { connect, defineWorker, type Session, startNode } from 'troupe'
import { z } from 'zod'
import { policy } from '../src/core/policy.ts'
import { startRedisServer } from './redis-server.ts'

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const count = Number(process.env.COUNT ?? 2_000)
/** Turns of each session, and the time between two of them. */
const [turns, betweenMs] = [8, 3_000]
const server = await startRedisServer(process.env.PATH ?? '')
const place = { redisUrl: server.url, namespace: 'deploy' }

/** For each turn, by kind: how late it began after its time. */
const late = new Map<string, number[]>()
/** The time since which somebody hosts the new kind; nobody hosted it before. */
let newSince = Number.POSITIVE_INFINITY

/** Takes a turn every few seconds, and notes how late each of them begins. */
const pulse = (kind: string) =>
  defineWorker({
    state: z.object({ left: z.number() }),
    initial: { left: turns },
    receive(message, self) {
      const due = Number(message.value)
      const since = kind === 'publish' ? Math.max(due, newSince) : due
      const own = late.get(kind) ?? []
      late.set(kind, own)
      own.push(Date.now() - since)
      const left = self.state.left - 1
      self.setState({ left })
      if (left === 0) self.reply(null)
      else self.after(betweenMs, Date.now() + betweenMs)
    },
  })

const start = (...kinds: string[]) =>
  startNode({ ...place, concurrency: 20, workers: Object.fromEntries(kinds.map((kind) => [kind, pulse(kind)])) })

function tell(figure: string, values: Readonly<Record<string, number>>): void {
  console.log(JSON.stringify({ figure, ...values }))
}

/** Returns when all have ended; what each kind waited at most is in `late`. */
async function run(kinds: readonly string[], meanwhile: () => Promise<void>): Promise<void> {
  late.clear()
  await using troupe = await connect(place)
  const begun = meanwhile()
  const sessions: Session[] = []
  for (let index = 0; index < count; index += 50) {
    const orders = Array.from({ length: 50 }, (_, nth) => ({
      kind: kinds[nth % kinds.length] as string,
      input: Date.now(),
    }))
    for (const created of await troupe.sessions.createMany(orders))
      if (created.status === 'fulfilled') sessions.push(created.value)
      else throw created.reason
    await wait((betweenMs * 50) / count)
  }
  await begun
  await Promise.all(sessions.map((session) => session.result()))
}

function worst(): { ms: number; turns: number } {
  const all = [...late.values()].flat()
  return { ms: all.reduce((most, one) => Math.max(most, one), 0), turns: all.length }
}

try {
  const old = await Promise.all([1, 2, 3].map(() => start('read', 'write', 'review')))
  await run(['read', 'write', 'review'], async () => {})
  const quiet = worst()
  const later: Awaited<ReturnType<typeof start>>[] = []
  await run(['read', 'write', 'review', 'publish'], async () => {
    await wait(4_000)
    later.push(await start('write', 'publish'))
    newSince = Date.now()
    for (const node of old) {
      await wait(2_000)
      later.push(await start('read', 'review'))
      await node.stop()
    }
  })
  const deploy = worst()
  await Promise.all(later.map((node) => node.stop()))
  tell(
    'the longest that a turn waited for a node that could take it, in sweeps: amid a rolling deploy, and without one',
    {
      turns: deploy.turns,
      deployMs: deploy.ms,
      quietMs: quiet.ms,
      sweeps: Math.round((deploy.ms / policy.sweepEveryMs) * 100) / 100,
      quietSweeps: Math.round((quiet.ms / policy.sweepEveryMs) * 100) / 100,
      ...Object.fromEntries([...late].map(([kind, all]) => [`${kind}Ms`, Math.max(...all)])),
    },
  )
} finally {
  await server.stop()
}
