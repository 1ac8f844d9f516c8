/**
 * Duty: measures what endpoints of webhooks cost: sessions that end without any, beside one that wants none of them, and one that is told of each.
 * `npm run bench:endpoints`; one line of JSON for each round. Without an endpoint an end costs one command; the other rows are for scale.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect, defineWorker, startNode, type Troupe } from 'troupe'
import { startRedisServer } from './redis-server.ts'

const workers = { echo: defineWorker({ receive: (message, self) => self.reply(message.value) }) }
const webhooks = { allowPrivateAddresses: true }

/** Sessions that end in a second, over so many at once. */
async function endsPerSecond(troupe: Troupe, count: number): Promise<number> {
  const begun = performance.now()
  const request = { kind: 'echo', input: 1 }
  const sessions = await troupe.sessions.createMany(Array.from({ length: count }, () => request))
  await Promise.all(sessions.flatMap((result) => (result.status === 'fulfilled' ? [result.value.result()] : [])))
  return (count * 1_000) / (performance.now() - begun)
}

/** The same figure while this endpoint exists. The next measurement begins when all is delivered. */
async function endsWith(troupe: Troupe, count: number, url: string, kinds?: readonly string[]): Promise<number> {
  const { id } = await troupe.webhooks.add({ url, kinds })
  const rate = await endsPerSecond(troupe, count)
  const left = async () =>
    (await troupe.health()).timers + (await troupe.webhooks.deliveries({ state: 'waiting' })).length
  while ((await left()) > 0) await new Promise((resolve) => setTimeout(resolve, 100))
  await troupe.webhooks.remove(id)
  return rate
}

const receiver = createServer((request, response) => {
  request.resume().on('end', () => response.end())
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
const server = await startRedisServer(process.env.PATH ?? '')
try {
  const place = { redisUrl: server.url, namespace: 'endpoints', webhooks }
  await using _node = await startNode({ ...place, workers, concurrency: 20 })
  await using troupe = await connect(place)
  const count = Number(process.env.COUNT ?? 2_000)
  await endsPerSecond(troupe, count)
  for (let round = 0; round < 3; round++) {
    const none = await endsPerSecond(troupe, count)
    const ratios = {
      unwanted: (await endsWith(troupe, count, url, ['other'])) / none,
      told: (await endsWith(troupe, count, url)) / none,
    }
    const rounded = Object.fromEntries(
      Object.entries(ratios).map(([name, value]) => [name, Math.round(value * 100) / 100]),
    )
    console.log(JSON.stringify({ figure: 'sessions a second with an endpoint, beside none', ...rounded }))
  }
} finally {
  await server.stop()
  receiver.closeAllConnections()
  receiver.close()
}
