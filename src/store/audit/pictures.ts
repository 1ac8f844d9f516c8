/**
 * Duty: take pictures of workers and of their session, for the audit. It never writes.
 * PICTURE-1 A picture shows one moment: one script reads records, lanes and the sets that they stand in.
 * PICTURE-2 Histories only grow. So entries that are read later, up to the length in the picture, belong to the moment of the picture. A session keeps
 *     permissions under their digest, so they may be read later, too.
 * PICTURE-4 There may be thousands of pools. Their run queues are read some at a time, in commands of their own; a worker that stands in one which is not
 *     that of its pool is looked at again by one script.
 */
import type { PartitionKeys } from '../keys.ts'
import { readPermissions } from '../record/kept-permissions.ts'
import type { Redis } from '../redis/redis.ts'
import { repliesOf } from '../script/replies.ts'
import type { ScriptCaller } from '../script/script.ts'
import { lookScript } from '../script/scripts.ts'
import { type Picture, pictureOf, recordsIn, type WorkerPicture } from './audit-picture.ts'

/** heads: the beginnings of mails are read. count: only how many there are. */
export type Mail = 'heads' | 'count'

/** The head of a mail, with ids, call and status, is never longer. */
const headBytes = 80
const budgetBytes = 2_097_152
const poolsAtOnce = 100

export class Pictures {
  readonly #redis: Redis
  readonly #caller: ScriptCaller
  readonly #keys: PartitionKeys
  readonly #deadlineMs: number

  constructor(redis: Redis, caller: ScriptCaller, keys: PartitionKeys, deadlineMs: number) {
    this.#redis = redis
    this.#caller = caller
    this.#keys = keys
    this.#deadlineMs = deadlineMs
  }

  async of(
    sessionId: string | null,
    workerIds: readonly string[],
    pools: readonly string[],
    mail: Mail,
  ): Promise<Picture> {
    const picture = await this.#lookOnce(sessionId, workerIds, { known: pools }, mail)
    const misplaced = await this.#misplaced(picture.workers, pools)
    const workers: WorkerPicture[] = []
    for (const worker of picture.workers) {
      const others = misplaced.get(worker.id)
      const placed = others === undefined ? worker : await this.#withPools(worker, pools, others)
      workers.push(placed.hasSignals ? placed : await this.#withSignals(placed, pools))
    }
    const missing: Picture['missing'][number][] = []
    for (const worker of picture.missing) {
      const [alone] = worker.isListed === null ? await this.#missing(sessionId, worker.id) : [worker]
      if (alone !== undefined) missing.push(alone)
    }
    return { ...picture, workers, missing }
  }

  /** Whether the session lists this worker, if it has no record. */
  async #missing(sessionId: string | null, workerId: string): Promise<Picture['missing']> {
    return (await this.#lookOnce(sessionId, [workerId], { known: [] }, 'count')).missing
  }

  /** With the timers and asks of the worker as they are now. */
  async #withSignals(worker: WorkerPicture, pools: readonly string[]): Promise<WorkerPicture> {
    const [later] = (await this.#lookOnce(null, [worker.id], { known: pools }, 'count')).workers
    if (later === undefined) return worker
    const { record, lanes, timers, openAsks } = later
    return { ...worker, timers, openAsks, hasSignals: true, signalsAt: { record, lanes } }
  }

  /** Of these workers those that seem to stand in the run queues of pools which are not theirs, with these pools. */
  async #misplaced(workers: readonly WorkerPicture[], pools: readonly string[]): Promise<Map<string, string[]>> {
    const misplaced = new Map<string, string[]>()
    const ids = workers.map(({ id }) => id)
    for (let from = 0; from < pools.length && ids.length > 0; from += poolsAtOnce) {
      const some = pools.slice(from, from + poolsAtOnce)
      if ((await this.#redis.exists(...some.map(this.#keys.run))) === 0) continue
      const reading = this.#redis.pipeline()
      for (const pool of some) reading.zmscore(this.#keys.run(pool), ...ids)
      for (const [index, scores] of (await repliesOf(reading)).entries())
        for (const [at, { id, record }] of workers.entries()) {
          // If another program wrote over the key, the answer is an error; the audit names the key.
          if (!Array.isArray(scores) || scores[at] == null || record.pool === some[index]) continue
          misplaced.set(id, [...(misplaced.get(id) ?? []), some[index] as string])
        }
    }
    return misplaced
  }

  /** With those of these pools in whose run queues the worker stands now. */
  async #withPools(worker: WorkerPicture, known: readonly string[], others: readonly string[]): Promise<WorkerPicture> {
    const [later] = (await this.#lookOnce(null, [worker.id], { known, others }, 'count')).workers
    const elsewhere = later?.queuedIn.filter((pool) => pool !== later.record.pool) ?? []
    return { ...worker, queuedIn: [...worker.queuedIn, ...elsewhere] }
  }

  async #lookOnce(
    sessionId: string | null,
    workerIds: readonly string[],
    { known, others = [] }: { readonly known: readonly string[]; readonly others?: readonly string[] },
    mail: Mail,
  ): Promise<Picture> {
    const { leases, timers, sessions, cancelling, ends } = this.#keys
    const reply = await this.#caller.call(
      lookScript,
      { leases, timers, sessions, cancelling, ends },
      {
        session: sessionId ?? undefined,
        workers: workerIds,
        pools: others,
        headBytes,
        budget: mail === 'heads' ? budgetBytes : 0,
      },
      { deadlineMs: this.#deadlineMs },
    )
    const records = await readPermissions(this.#redis, this.#keys, recordsIn(reply))
    return pictureOf(reply, records, sessionId, known)
  }
}
