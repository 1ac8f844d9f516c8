/**
 * Duty: measures how long a client waits on an idle system (P7): submit → result of a handler that replies at once, beside
 * BullMQ's own add → result of an empty job. Both have a new process in each repeat, and one waits while the other is measured: how a
 * process compiles its code is then a part of the scatter, and not of the figure.
 */
import type { Contestant } from '../contestant.ts'
import { cleanSlate } from '../measure/clean-slate.ts'
import { aroundMsMax, ContestantProcess } from '../measure/contestant-process.ts'
import { median } from '../measure/statistics.ts'
import type { Load, Window } from '../measure/steady-window.ts'
import { idleJob } from '../peers/idle-job.ts'
import { idleRun } from '../peers/troupe-runs.ts'
import type { Arena } from './arena.ts'

/** Units without a pause: some thousands, until the code of both is compiled. */
const rehearsal: Load = { inFlight: 1, warmUpMs: 100, measuredMs: 3_000 }

/** A unit begins when nothing has been going on for this long. */
const pauseMs = 10
const warmUpMs = 500

export interface Latency {
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface IdleLatency {
  readonly bullmq: Latency
  readonly troupe: Latency
  /** Median over the repeats of the ratio of their medians. */
  readonly ratio: number
}

export async function measureIdleLatency(arena: Arena): Promise<IdleLatency> {
  const jobs: Window[] = []
  const runs: Window[] = []
  for (let repeat = 1; repeat <= arena.repeats; repeat++) {
    arena.progress(`idle latency: repeat ${repeat} of ${arena.repeats}`)
    const inOrder = [() => measureIdle(idleJob, arena, jobs), () => measureIdle(idleRun, arena, runs)]
    for (const measure of repeat % 2 === 0 ? inOrder.toReversed() : inOrder) await measure()
  }
  return {
    bullmq: latencyOf(jobs),
    troupe: latencyOf(runs),
    ratio: median(runs.map(({ p50Ms }, repeat) => p50Ms / (jobs[repeat]?.p50Ms ?? Number.NaN))),
  }
}

async function measureIdle({ id }: Contestant, arena: Arena, windows: Window[]): Promise<void> {
  const own = new ContestantProcess(id)
  const idle: Load = { inFlight: 1, pauseMs, warmUpMs, measuredMs: arena.seconds * 1_000 }
  try {
    for (const load of [rehearsal, idle]) {
      await cleanSlate(arena.redis)
      const window = await own.measure(
        { place: arena.nextPlace(), load },
        load.warmUpMs + load.measuredMs + aroundMsMax,
      )
      if (load === idle) windows.push(window)
    }
  } finally {
    await own.stop()
  }
}

function latencyOf(windows: readonly Window[]): Latency {
  return { p50Ms: median(windows.map(({ p50Ms }) => p50Ms)), p99Ms: median(windows.map(({ p99Ms }) => p99Ms)) }
}
