/**
 * Duty: `crashMatrix`: run a scenario once for each moment at which its node may die.
 * MATRIX-1 The run without a crash lists the points. If the scenario fails without a crash, no further run is made.
 * MATRIX-2 Nothing is left behind, not even after a signal: no process, no folder, and no key in the caller's Redis if it answers.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { readConfig } from '../../config.ts'
import { ConfigError } from '../../core/errors.ts'
import { findOrStartRedis } from '../../dev/redis.ts'
import { withDeadline } from '../../store/redis/redis.ts'
import { type CrashPoint, pointName, pointsPassed, spread } from './crash-point.ts'
import { type RunEnd, runScenario } from './crash-run.ts'
import type { NodeProcess } from './node/node-process.ts'
import { removeKeys, removeMsMax } from './remove-keys.ts'
import { CrashMatrixError, type CrashReport, type Violation } from './report.ts'
import { type Outcome, type Plan, planOf, type Scenario } from './scenario.ts'

/** Runs a scenario once for each point (index.ts). */
export async function crashMatrix(scenario: Scenario): Promise<CrashReport> {
  const plan = await planOf(scenario)
  const path = readConfig().path ?? ''
  await using redis = await findOrStartRedis({ url: plan.redisUrl, mode: 'test', path, mayInstall: false })
  const home = await realpath(await mkdtemp(join(tmpdir(), 'troupe-crash-')))
  const matrix = new Matrix(plan, redis.url, home)
  const cleanUp = async () => {
    await matrix.end()
    await rm(home, { recursive: true, force: true })
    if (redis.how === 'given') await removeKeys(redis.url, matrix.namespaces)
  }
  let interrupted: Promise<void> | undefined
  const onSignal = (signal: NodeJS.Signals) => {
    interrupted ??= cleanUp().finally(() => {
      // If the program has its own listener for the signal, that one decides. Otherwise the signal ends the process.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
      throw new Error(`crashMatrix was interrupted by ${signal}.`)
    })
    interrupted.catch(() => {})
  }
  for (const signal of signals) process.once(signal, onSignal)
  let report: CrashReport
  try {
    report = await matrix.run()
  } finally {
    for (const signal of signals) process.off(signal, onSignal)
    await (interrupted ?? cleanUp())
  }
  if (report.violations.length > 0 && plan.violations === 'throw') throw new CrashMatrixError(report)
  return report
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** How often a point is tried that a run did not pass. Work that runs side by side has not always the same order. */
const triesMax = 3

class Matrix {
  readonly namespaces: string[] = []
  readonly #plan: Plan
  readonly #redisUrl: string
  readonly #home: string
  readonly #nodes = new Set<NodeProcess>()
  readonly #runs = new Set<Promise<RunEnd>>()
  #isOver = false
  readonly #name = `crash-${randomBytes(6).toString('hex')}`
  readonly #found = new Map<CrashPoint | null, readonly string[]>()
  readonly #missed = new Set<CrashPoint>()
  #done = 0

  constructor(plan: Plan, redisUrl: string, home: string) {
    this.#plan = plan
    this.#redisUrl = redisUrl
    this.#home = home
  }

  async run(): Promise<CrashReport> {
    const calm = await this.#run(null)
    this.#note(null, calm.broken, 1)
    if (calm.outcome === null || calm.broken.length > 0) return this.#report([], 0)
    const passed = pointsPassed(calm.passes)
    const points = spread(this.#wanted(passed), this.#plan.pointsMax)
    await this.#each(points, (point) => this.#tryPoint(point, calm.outcome as Outcome, points.length + 1))
    return this.#report(points, passed.length - points.length)
  }

  /** Ends all runs at once and prevents new ones, which would write while the rest is cleaned up. */
  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all([...this.#nodes].map((node) => node.kill()))
    const ended = Promise.allSettled(this.#runs)
    // A run that waits for a Redis without an answer is not awaited.
    await withDeadline(ended, removeMsMax).catch(() => {})
  }

  #wanted(passed: readonly CrashPoint[]): readonly CrashPoint[] {
    const { only } = this.#plan
    if (only === null) return passed
    const names = new Map(passed.map((point) => [pointName(point), point]))
    return only.map((name) => {
      const point = names.get(name)
      if (point !== undefined) return point
      throw new ConfigError(
        `crashMatrix: there is no point "${name}" in only; there are ${[...names.keys()].join(', ')}.`,
      )
    })
  }

  /** Handles each item once, as many at the same time as the plan says. The first error ends it. */
  async #each(points: readonly CrashPoint[], body: (point: CrashPoint) => Promise<void>): Promise<void> {
    const queue = points.values()
    const lane = async () => {
      for (const point of queue) await body(point)
    }
    const lanes = Array.from({ length: this.#plan.concurrency }, lane)
    // No run may outlive the folder and the Redis, so all lanes have ended when this throws.
    const ends = await Promise.allSettled(lanes)
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }

  async #tryPoint(point: CrashPoint, calm: Outcome, total: number): Promise<void> {
    let end = await this.#run(point)
    for (let tries = 1; !end.crashed && end.broken.length === 0 && tries < triesMax; tries++)
      end = await this.#run(point)
    if (!end.crashed) this.#missed.add(point)
    this.#note(point, [...end.broken, ...this.#otherResult(end.outcome, calm)], total)
  }

  async #run(crashAt: CrashPoint | null): Promise<RunEnd> {
    if (this.#isOver) throw new Error('crashMatrix was interrupted.')
    const id = `${this.#name}-${this.namespaces.length}`
    this.namespaces.push(id)
    const run = runScenario({
      plan: this.#plan,
      redisUrl: this.#redisUrl,
      id,
      home: this.#home,
      crashAt,
      nodes: this.#nodes,
    })
    this.#runs.add(run)
    return run.finally(() => this.#runs.delete(run))
  }

  #otherResult(outcome: Outcome | null, calm: Outcome): string[] {
    if (!this.#plan.sameResult || outcome === null) return []
    const [is, was] = [said(outcome), said(calm)]
    if (isDeepStrictEqual(is, was)) return []
    return [`the result is ${brief(is)}, and without a crash it is ${brief(was)}`]
  }

  #note(point: CrashPoint | null, broken: readonly string[], total: number): void {
    this.#done++
    if (broken.length > 0) this.#found.set(point, broken)
    const violations = [...this.#found.values()].flat().length
    this.#plan.onProgress({ done: this.#done, total, point: point && pointName(point), violations })
  }

  #report(points: readonly CrashPoint[], leftOut: number): CrashReport {
    const violationsAt = (point: CrashPoint | null): Violation[] =>
      (this.#found.get(point) ?? []).map((what) => ({ point: point ? pointName(point) : 'no crash', what }))
    return {
      points: points.filter((point) => !this.#missed.has(point)).map(pointName),
      runs: this.namespaces.length,
      violations: [null, ...points].flatMap(violationsAt),
      missed: points.filter((point) => this.#missed.has(point)).map(pointName),
      leftOut,
    }
  }
}

/** A result without the values that differ from run to run. */
function said({ result, folder, id }: Outcome): unknown {
  const fact =
    result.status === 'completed'
      ? { status: result.status, value: result.value }
      : { status: result.status, ...(result.status === 'failed' && { code: result.failure.code }) }
  return JSON.parse(
    JSON.stringify(fact).replaceAll(JSON.stringify(folder).slice(1, -1), '<folder>').replaceAll(id, '<id>'),
  )
}

const briefChars = 500

function brief(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > briefChars ? `${text.slice(0, briefChars)} …` : text
}
