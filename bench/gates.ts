/**
 * Duty: measures what a limit of a kind costs: runs of a kind with a wide gate beside those of one without, in one run, and runs that follow each other
 * through a narrow gate. `npm run bench:gates`; one line of JSON for each figure.
 */
import { connect, defineWorker, startNode, type Troupe } from 'troupe'
import { startRedisServer } from './redis-server.ts'

const most = { wide: 10_000, narrow: 4 }
const echo = (concurrency?: { most: number }) =>
  defineWorker({ ...(concurrency && { concurrency }), receive: (message, self) => self.reply(message.value) })
const workers = { free: echo(), wide: echo({ most: most.wide }), narrow: echo({ most: most.narrow }) }

/** Runs of a kind in a second, over so many sessions at once. */
async function runsPerSecond(troupe: Troupe, kind: string, count: number): Promise<number> {
  const begun = performance.now()
  const sessions = await troupe.sessions.createMany(Array.from({ length: count }, () => ({ kind, input: 1 })))
  await Promise.all(sessions.flatMap((result) => (result.status === 'fulfilled' ? [result.value.result()] : [])))
  return (count * 1_000) / (performance.now() - begun)
}

const server = await startRedisServer(process.env.PATH ?? '')
try {
  const place = { redisUrl: server.url, namespace: 'gates' }
  await using _node = await startNode({ ...place, workers, concurrency: 20 })
  await using troupe = await connect(place)
  const count = Number(process.env.COUNT ?? 2_000)
  for (const kind of Object.keys(workers)) await runsPerSecond(troupe, kind, 200)
  for (let round = 0; round < 3; round++) {
    const free = await runsPerSecond(troupe, 'free', count)
    const wide = await runsPerSecond(troupe, 'wide', count)
    const narrow = await runsPerSecond(troupe, 'narrow', count)
    const ratios = { wide: wide / free, narrow: narrow / free }
    const rounded = Object.fromEntries(
      Object.entries(ratios).map(([name, value]) => [name, Math.round(value * 100) / 100]),
    )
    console.log(JSON.stringify({ figure: 'runs a second of a kind with a gate, beside one without', ...rounded }))
  }
} finally {
  await server.stop()
}
