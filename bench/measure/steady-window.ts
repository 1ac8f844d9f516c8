/**
 * Duty: a closed loop with a fixed number of units in flight, measured over a window in its middle.
 * The loop runs before the window opens and after it closes, so neither its start nor its end counts. The same number of
 * units is in flight at both ends of the window, so units that begin before it and end after it cancel out.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { countersBetween, readCountersOf } from './redis-counters.ts'
import { quantile } from './statistics.ts'

const emptyingMsMax = 30_000

export interface Load {
  readonly inFlight: number
  /** Before each unit; it does not count. Default: none. */
  readonly pauseMs?: number
  readonly warmUpMs: number
  readonly measuredMs: number
}

/** A unit is a job, a run or a tree. */
export interface Window {
  readonly units: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly nodeCpuSecondsPer1000: number
  readonly redisCpuSecondsPer1000: number
  readonly commandsPerUnit: number
  readonly scriptsPerUnit: number
  readonly aofBytesPerUnit: number
}

/** `servers`: all that the units use; what they did is summed up. */
export async function measureSteadyWindow(
  unit: () => Promise<unknown>,
  load: Load,
  servers: readonly Redis[],
): Promise<Window> {
  const loop = startLoop(unit, load)
  try {
    await Promise.race([delay(load.warmUpMs), loop.running])
    const before = await readMeters(servers, loop)
    loop.latenciesMs.length = 0
    await Promise.race([delay(load.measuredMs), loop.running])
    const after = await readMeters(servers, loop)
    return windowBetween(before, after, loop.latenciesMs.slice(0, after.done - before.done))
  } finally {
    loop.stop()
    await Promise.race([loop.running, neverEmptied()])
  }
}

async function neverEmptied(): Promise<never> {
  await delay(emptyingMsMax, undefined, { ref: false })
  throw new Error(`Units in flight were not finished within ${emptyingMsMax} ms.`)
}

interface Loop {
  readonly latenciesMs: number[]
  /** Rejects with the first unit that failed: a measurement with failures does not count. */
  readonly running: Promise<void>
  done(): number
  stop(): void
}

function startLoop(unit: () => Promise<unknown>, { inFlight, pauseMs }: Load): Loop {
  const latenciesMs: number[] = []
  let done = 0
  const stopping = new AbortController()
  const lane = async () => {
    while (!stopping.signal.aborted) {
      if (pauseMs !== undefined) await delay(pauseMs)
      const startedAt = performance.now()
      await unit()
      latenciesMs.push(performance.now() - startedAt)
      done++
    }
  }
  const lanes = Array.from({ length: inFlight }, lane)
  const running = Promise.all(lanes).then(() => {})
  const stop = () => stopping.abort()
  running.catch(stop)
  return { latenciesMs, running, done: () => done, stop }
}

type Meters = Awaited<ReturnType<typeof readMeters>>

/** The local meters are read when the answer of Redis arrives, so that both belong to the same instant. */
async function readMeters(servers: readonly Redis[], loop: Loop) {
  const counters = await readCountersOf(servers)
  return { at: performance.now(), done: loop.done(), cpu: process.cpuUsage(), counters }
}

function windowBetween(before: Meters, after: Meters, latenciesMs: readonly number[]): Window {
  const units = after.done - before.done
  if (units === 0) throw new Error('Not one unit was finished within the measured window.')
  const redis = countersBetween(before.counters, after.counters)
  const nodeCpuSeconds = (after.cpu.user - before.cpu.user + after.cpu.system - before.cpu.system) / 1e6
  return {
    units,
    perSecond: (units / (after.at - before.at)) * 1_000,
    p50Ms: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
    nodeCpuSecondsPer1000: (nodeCpuSeconds / units) * 1_000,
    redisCpuSecondsPer1000: (redis.cpuSeconds / units) * 1_000,
    commandsPerUnit: redis.commands / units,
    scriptsPerUnit: redis.scripts / units,
    aofBytesPerUnit: redis.aofBytes / units,
  }
}
