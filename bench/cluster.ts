/**
 * Duty: measures what a Redis Cluster costs: agent runs for each second that a core of Redis works, on three primaries with partitions spread evenly over
 * them, over those on one Redis with as many partitions. The servers share the cores of this machine, so runs a second say nothing about what a
 * cluster can do; the time that its servers worked for a run does. `npm run bench:cluster`; one line of JSON for each round, and the medians last.
 */
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { slotCount, slotOf } from '../src/store/redis/slot.ts'
import { RedisCluster } from '../test/support/redis/redis-cluster.ts'
import { RedisServer } from '../test/support/redis/redis-server.ts'
import { agentAnswer, agentQuestion } from './agent-script.ts'
import { runsInFlight } from './contestant.ts'
import { cleanSlate } from './measure/clean-slate.ts'
import { median } from './measure/statistics.ts'
import { measureSteadyWindow, type Window } from './measure/steady-window.ts'
import { openTroupe } from './troupe.ts'

const primaries = 3
const leastRatio = 0.85

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    partitions: { type: 'string', default: '6' },
  },
})
const [rounds, seconds, partitions] = [flags.rounds, flags.seconds, flags.partitions].map(Number) as [
  number,
  number,
  number,
]

interface Contestant {
  readonly name: 'cluster' | 'clusterAtTheLoadOfOne' | 'single' | 'onePartition'
  readonly redisUrl: string
  readonly servers: readonly Redis[]
  readonly partitions: number
  readonly inFlight: number
}

/** Its Redis has the settings that the Redis of the main bench has. Servers of a cluster ask each other as often as docs/cluster.md advises. */
const settings = ['auto-aof-rewrite-percentage 0', 'cluster-node-timeout 5000']
await using cluster = await RedisCluster.start({ primaries, replicas: 0, durability: 'everysec', settings })
await using single = await RedisServer.start({ durability: 'everysec', settings: settings.slice(0, 1) })

const ofCluster = cluster.servers.map(({ url }) => new Redis(url))
const ofSingle = [new Redis(single.url)]
const inCluster = { redisUrl: cluster.url, servers: ofCluster, partitions }
const contestants: readonly Contestant[] = [
  // Each of its servers has as much to do as the one Redis.
  { ...inCluster, name: 'cluster', inFlight: primaries * runsInFlight },
  { ...inCluster, name: 'clusterAtTheLoadOfOne', inFlight: runsInFlight },
  { name: 'single', redisUrl: single.url, servers: ofSingle, partitions, inFlight: runsInFlight },
  { name: 'onePartition', redisUrl: single.url, servers: ofSingle, partitions: 1, inFlight: runsInFlight },
]
let spaces = 0

/** Where each primary has as many of the partitions as the others. */
function evenNamespace(): string {
  for (;;) {
    const namespace = `bench${++spaces}`
    const counts = Array.from({ length: primaries }, () => 0)
    for (let partition = 0; partition < partitions; partition++) {
      const place = Math.floor((slotOf(`{${namespace}.${partition}}`) * primaries) / slotCount)
      counts[place] = (counts[place] ?? 0) + 1
    }
    if (Math.max(...counts) - Math.min(...counts) <= (partitions % primaries === 0 ? 0 : 1)) return namespace
  }
}

async function measure({ redisUrl, servers, partitions: wanted, inFlight }: Contestant, ms: number): Promise<Window> {
  for (const server of servers) await cleanSlate(server)
  const namespace = evenNamespace()
  const troupe = await openTroupe({
    redisUrl,
    namespace,
    partitions: wanted,
    kinds: {},
    // A slot for each run, as in the other figures.
    concurrency: inFlight,
    wakeups: 'bullmq',
  })
  try {
    const run = async () => {
      const answer = await troupe.runAgent(agentQuestion)
      if (answer !== agentAnswer) throw new Error(`an agent answered ${String(answer)}`)
    }
    return await measureSteadyWindow(run, { inFlight, warmUpMs: 1_500, measuredMs: ms }, servers)
  } finally {
    await troupe.close()
  }
}

const tell = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
const ratios: Record<'ratio' | 'atTheLoadOfOne' | 'overOnePartition', number[]> = {
  ratio: [],
  atTheLoadOfOne: [],
  overOnePartition: [],
}
for (let round = 0; round <= rounds; round++) {
  const windows = new Map<string, Window>()
  for (const contestant of round % 2 === 0 ? contestants : contestants.toReversed())
    windows.set(contestant.name, await measure(contestant, 1_000 * seconds))
  // The first round only warms the compiler.
  if (round === 0) continue
  const of = (name: Contestant['name']) => windows.get(name) as Window
  const cpuMs = (name: Contestant['name']) => of(name).redisCpuSecondsPer1000
  ratios.ratio.push(cpuMs('single') / cpuMs('cluster'))
  ratios.atTheLoadOfOne.push(cpuMs('single') / cpuMs('clusterAtTheLoadOfOne'))
  ratios.overOnePartition.push(cpuMs('onePartition') / cpuMs('cluster'))
  const each = (value: (name: Contestant['name']) => number) =>
    Object.fromEntries(contestants.map(({ name }) => [name, value(name)]))
  tell({
    round,
    redisMsPerRun: each((name) => round2(cpuMs(name))),
    commandsPerRun: each((name) => round2(of(name).commandsPerUnit)),
    runsPerSecond: each((name) => Math.round(of(name).perSecond)),
  })
}
const ratio = round2(median(ratios.ratio))
tell({
  figure: 'agent runs for each second of a core of Redis: three primaries over one Redis, with as many partitions',
  partitions,
  ratio,
  target: leastRatio,
  ok: ratio >= leastRatio,
  atTheLoadOfOne: round2(median(ratios.atTheLoadOfOne)),
  overOnePartition: round2(median(ratios.overOnePartition)),
})
for (const server of [...ofCluster, ...ofSingle]) server.disconnect()
process.exitCode = ratio >= leastRatio ? 0 : 1

function round2(value: number): number {
  return Math.round(value * 100) / 100
}
