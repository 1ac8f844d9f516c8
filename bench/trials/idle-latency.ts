/**
 * Duty: measures how long a client waits on an idle system (P7): submit → result of a handler that replies at once, beside
 * BullMQ's own add → result of an empty job. Samples alternate between the two, with a pause before each, so that both are idle.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { cleanSlate } from '../measure/clean-slate.ts'
import { median, quantile } from '../measure/statistics.ts'
import { type IdleJobs, openIdleJobs } from '../peers/idle-job.ts'
import { openBenchTroupe } from '../peers/troupe-runs.ts'
import type { TroupeUnderTest } from '../troupe.ts'
import type { Arena } from './arena.ts'

const samplesPerRepeat = 200
const warmUpSamples = 500
const pauseMs = 10

export interface Latency {
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface IdleLatency {
  readonly bullmqEntry: Latency
  readonly bullmqResult: Latency
  /** Null when the runtime could not be measured. */
  readonly troupeResult: Latency | null
  /** Median over the repeats of the ratio of their medians. */
  readonly ratio: number | null
}

interface Samples {
  readonly entryMs: number[]
  readonly resultMs: number[]
  readonly troupeMs: number[]
}

export async function measureIdleLatency(arena: Arena): Promise<IdleLatency> {
  await cleanSlate(arena.redis)
  const jobs = await openIdleJobs(arena.nextPlace())
  const troupe = await openBenchTroupe(arena.nextPlace()).catch((error: unknown) => {
    arena.failed('troupe on an idle system', error)
    return null
  })
  try {
    await takeSamples(jobs, troupe, warmUpSamples)
    const repeats: Samples[] = []
    for (let repeat = 1; repeat <= arena.repeats; repeat++) {
      arena.progress(`idle latency: repeat ${repeat} of ${arena.repeats}`)
      repeats.push(await takeSamples(jobs, troupe, samplesPerRepeat))
    }
    return summarise(repeats, troupe !== null)
  } finally {
    await Promise.all([jobs.close(), troupe?.close()])
  }
}

async function takeSamples(jobs: IdleJobs, troupe: TroupeUnderTest | null, count: number): Promise<Samples> {
  const samples: Samples = { entryMs: [], resultMs: [], troupeMs: [] }
  for (let taken = 0; taken < count; taken++) {
    await delay(pauseMs)
    const { entryMs, resultMs } = await jobs.perform()
    samples.entryMs.push(entryMs)
    samples.resultMs.push(resultMs)
    if (troupe === null) continue
    await delay(pauseMs)
    const submittedAt = performance.now()
    await troupe.run('echo', 'ping')
    samples.troupeMs.push(performance.now() - submittedAt)
  }
  return samples
}

function summarise(repeats: readonly Samples[], withTroupe: boolean): IdleLatency {
  const latency = (of: (samples: Samples) => readonly number[]): Latency => {
    const all = repeats.flatMap(of)
    return { p50Ms: quantile(all, 0.5), p99Ms: quantile(all, 0.99) }
  }
  return {
    bullmqEntry: latency(({ entryMs }) => entryMs),
    bullmqResult: latency(({ resultMs }) => resultMs),
    troupeResult: withTroupe ? latency(({ troupeMs }) => troupeMs) : null,
    ratio: withTroupe ? median(repeats.map((one) => median(one.troupeMs) / median(one.resultMs))) : null,
  }
}
