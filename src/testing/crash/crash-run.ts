/**
 * Duty: run a scenario once: start a node that may be killed, start another that takes over, and check the result when no work is left.
 * CRASH-RUN-1 Each run has its own namespace, folder and processes, and leaves no process behind.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { connectInternal, type Troupe } from '../../client/client.ts'
import type { Report } from '../../client/report.ts'
import type { Session } from '../../client/session/session.ts'
import { ConflictError } from '../../core/errors.ts'
import type { RunResult } from '../../core/history/entry.ts'
import type { Policy } from '../../core/policy.ts'
import { type CrashPoint, pointName } from './crash-point.ts'
import { brokenInvariants } from './invariants.ts'
import { type JournalLine, readJournal } from './journal.ts'
import type { NodeOrder } from './node/node-order.ts'
import { NodeProcess } from './node/node-process.ts'
import type { CodeRun, Outcome, Plan, RunPlace, WorkerHistory } from './scenario.ts'

export interface RunOrder {
  readonly plan: Plan
  readonly redisUrl: string
  readonly id: string
  /** The folder that holds the folders of all runs. */
  readonly home: string
  readonly crashAt: CrashPoint | null
  /** The processes that are alive. */
  readonly nodes: Set<NodeProcess>
}

export interface RunEnd {
  /** Null if the run did not end. */
  readonly outcome: Outcome | null
  readonly passes: readonly JournalLine[]
  /** True if the node was killed at the point. */
  readonly crashed: boolean
  readonly broken: readonly string[]
}

const pollMs = 25
/** How many turns a node runs at once, so that children run side by side. */
const slots = 10

export async function runScenario(order: RunOrder): Promise<RunEnd> {
  const { plan, redisUrl, id, home, nodes } = order
  const place: RunPlace = { id, folder: join(home, id) }
  // There must be no await in between: code that ends all runs must find the nodes of this run.
  mkdirSync(place.folder)
  const journal = join(home, `${id}.ndjson`)
  const nodeOrder: NodeOrder = {
    redisUrl,
    namespace: id,
    workers: plan.workers,
    kind: plan.kind,
    models: plan.models,
    replies: plan.replies,
    concurrency: slots,
    policy: timesOf(plan.leaseMs),
    journal,
    crashAt: order.crashAt,
  }
  const compiled = join(home, 'compiled')
  // The second node is loaded now and begins when the first one is dead.
  const first = new NodeProcess(nodeOrder, plan.nodeArguments, compiled)
  const second = order.crashAt && new NodeProcess({ ...nodeOrder, crashAt: null }, plan.nodeArguments, compiled)
  const both = second ? [first, second] : [first]
  for (const node of both) nodes.add(node)
  try {
    await using client = await connectInternal({ redisUrl, namespace: id, policy: nodeOrder.policy })
    return await new CrashRun(order, place, journal, first, second, client).toItsEnd()
  } finally {
    await Promise.all(both.map((node) => node.kill()))
    for (const node of both) nodes.delete(node)
  }
}

/** A lease is renewed three times before it ends. Waits for time, rather than for work, are shorter than usual. */
function timesOf(leaseMs: number): Partial<Policy> {
  return {
    leaseMs,
    renewEveryMs: Math.floor(leaseMs * 0.3),
    leaseMarginMs: Math.floor(leaseMs * 0.2),
    wakeupMs: 500,
    sweepEveryMs: 200,
  }
}

class CrashRun {
  readonly #order: RunOrder
  readonly #place: RunPlace
  readonly #journal: string
  readonly #first: NodeProcess
  readonly #second: NodeProcess | null
  readonly #client: Troupe

  constructor(
    order: RunOrder,
    place: RunPlace,
    journal: string,
    first: NodeProcess,
    second: NodeProcess | null,
    client: Troupe,
  ) {
    this.#order = order
    this.#place = place
    this.#journal = journal
    this.#first = first
    this.#second = second
    this.#client = client
  }

  async toItsEnd(): Promise<RunEnd> {
    const { plan } = this.#order
    await this.#first.begin()
    const late = AbortSignal.timeout(plan.runMsMax)
    const session = await this.#client.sessions.create({ kind: plan.kind, input: plan.inputOf(this.#place) })
    const resulting = session.result({ signal: late })
    resulting.catch(() => {})
    const answering = this.#answerAsks(session, resulting, late)
    try {
      // The last points come after the result. The node passes them while it drains.
      await Promise.race([this.#first.gone, resulting.then(() => this.#atRest(session, late)), answering])
      const ended = await this.#first.stop()
      const crashed = this.#order.crashAt !== null && ended === 'SIGKILL'
      if (!crashed && ended !== 0) return this.#end(null, false, [endedWith(ended, this.#first)])
      if (crashed) {
        await this.#second?.begin()
        const gone = await Promise.race([resulting.then(() => null), this.#second?.gone ?? null, answering])
        if (gone !== null && this.#second) return this.#end(null, true, [endedWith(gone, this.#second)])
      }
      const result = await resulting
      return await this.#judge(result, await this.#atRest(session, late), crashed)
    } catch (error) {
      if (!late.aborted) throw error
      return this.#end(null, true, [await this.#tooLate(session)])
    }
  }

  /** Answers what its workers ask until the result is there. It never resolves: only an answer that is refused or thrown ends it. */
  async #answerAsks(session: Session, resulting: Promise<unknown>, late: AbortSignal): Promise<never> {
    const { answers } = this.#order.plan
    const over = new AbortController()
    const end = () => over.abort()
    resulting.then(end, end)
    if (answers === null) end()
    while (!over.signal.aborted) {
      for (const ask of await session.asks())
        await this.#client.asks.answer(ask.id, await answers?.(ask), { by: 'the crash matrix' }).catch(passIfEnded)
      await pause(pollMs, undefined, { signal: late }).catch(end)
    }
    return new Promise(() => {})
  }

  async #judge(result: RunResult, report: Report, crashed: boolean): Promise<RunEnd> {
    const { crashAt, plan } = this.#order
    const histories = await Promise.all(report.workers.map((worker) => this.#historyOf(worker)))
    const runs = this.#codeRuns()
    const point = crashAt && pointName(crashAt)
    const outcome: Outcome = { ...this.#place, result, histories, runs, point }
    const broken = await brokenInvariants(this.#client, report)
    try {
      await plan.check?.(outcome)
    } catch (error) {
      broken.push(`check: ${error instanceof Error ? error.message : String(error)}`)
    }
    if (point === null && plan.check === null && result.status !== 'completed') broken.push(unexpected(result))
    return this.#end(outcome, crashed, broken)
  }

  #end(outcome: Outcome | null, crashed: boolean, broken: readonly string[]): RunEnd {
    return { outcome, passes: readJournal(this.#journal), crashed, broken }
  }

  /** True when no worker of the session has any work left. Detached children may still work after the result. */
  async #atRest(session: Session, late: AbortSignal): Promise<Report> {
    for (;;) {
      const report = await session.report()
      if (report.workers.every(({ status }) => status === 'idle' || status === 'terminal')) return report
      await pause(pollMs, undefined, { signal: late })
    }
  }

  async #historyOf({ id, kind, name, parentId }: Report['workers'][number]): Promise<WorkerHistory> {
    const entries: WorkerHistory['entries'][number][] = []
    for (;;) {
      const page = await this.#client.workers.get(id).history({ after: entries.length - 1 })
      if (page.length === 0) return { id, kind, name, parentId, entries }
      entries.push(...page.map(({ entry }) => entry))
    }
  }

  #codeRuns(): CodeRun[] {
    return readJournal(this.#journal).flatMap(({ side, run, pid }) =>
      side === 'before' && run ? [{ ...run, life: pid === this.#first.pid ? 1 : 2 } as const] : [],
    )
  }

  async #tooLate(session: Session): Promise<string> {
    const { workers } = await session.report()
    const open = workers.filter(({ status }) => status !== 'idle' && status !== 'terminal')
    const states = open.map(
      ({ kind, id, state, waitsFor }) => `${kind} ${id} is ${state}${waitsFor ? `: ${waitsFor}` : ''}`,
    )
    const log = [this.#first, this.#second].map((node) => node?.log ?? '').filter(Boolean)
    return [`the session did not end within ${this.#order.plan.runMsMax} ms`, ...states, ...log].join('\n')
  }
}

/** It may have expired, or its run may have ended, since it was listed. */
function passIfEnded(thrown: unknown): void {
  if (!(thrown instanceof ConflictError)) throw thrown
}

/** A scenario without a check proves nothing if it already fails without a crash. */
function unexpected(result: RunResult): string {
  const what =
    result.status === 'failed' ? `failed with ${result.failure.code}: ${result.failure.message}` : result.status
  return `the run ${what}\nA scenario that should end so needs a check that says it.`
}

function endedWith(how: number | NodeJS.Signals, node: NodeProcess): string {
  return `a node ended by itself with ${how}. It printed:\n${node.log}`
}
